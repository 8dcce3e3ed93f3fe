#!/bin/bash
# measure.sh, on the executor: its folder, its table, and that it tells of what fails.
#   measure_test.sh BUILD-DIRECTORY      ends with 77 where the speech or the weights of tiny.en are not here
set -euo pipefail
export SOTTO_BUILD=$1
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "$1" >&2
  cat "$folder"/log >&2
  exit 1
}
clips=/usr/share/pocketsphinx/test/data/librivox
if ! "$SOTTO_BUILD/sotto_sim" models fetch --offline -q tiny.en >/dev/null 2>&1 || [ ! -d $clips ]; then
  echo "SKIPPED: the weights of tiny.en or Debian's pocketsphinx-testdata are not here"
  exit 77
fi

"$here/measure.sh" --simulate "$folder/good" tiny.en >"$folder/log" 2>&1 || fail "measure.sh fails"
for step in program twins kernels kernels-tiny.en bench-tiny.en text-tiny.en-gpu text-tiny.en-cpu; do
  [ -s "$folder/good/$step.txt" ] || fail "$step has left nothing"
  grep -Eq "^$step +[0-9]+ s  done$" "$folder/good/summary.txt" || fail "$step is not told to be done"
done
grep -q "the same text as the processor's" "$folder/good/summary.txt" || fail "the transcripts are not compared"
grep -Eq "^attention +1 +[0-9.]+ " "$folder/good/summary.txt" || fail "the table has no attention"
grep -Eq "^  encoder_attention_f16_[0-9]+ +1 " "$folder/good/summary.txt" || fail "the table has no kernels"
grep -Eq "^step, 1 x 1 rows +[0-9.]+ +- +-$" "$folder/good/summary.txt" || fail "bench tells nothing, or an unknown limit"
"$SOTTO_BUILD/sotto_sim" bench --device cuda-sim -m tiny.en --offline --beam-size 1 --rounds 1 --json >"$folder/log" 2>&1 ||
  fail "bench --json fails"
python3 -c 'import json, sys; sys.exit(min(stage["ms"] for stage in json.load(sys.stdin)["stages"]) <= 0)' <"$folder/log" ||
  fail "bench --json gives no JSON"

if "$here/measure.sh" --simulate "$folder/bad" no-such-model >"$folder/log" 2>&1; then fail "a failure is not told"; fi
grep -Eq "^text-no-such-model-gpu +[0-9]+ s  FAILED: ended with 1" "$folder/bad/summary.txt" || fail "no step is told to fail"
grep -q "no-such-model" "$folder/bad/kernels-no-such-model.txt" || fail "the reason is not told"
if CUDA_VISIBLE_DEVICES= "$here/measure.sh" "$folder/absent" tiny.en >"$folder/log" 2>&1; then fail "no GPU is told"; fi
grep -Eq "^text-tiny.en-gpu +[0-9]+ s  FAILED: not done by the GPU" "$folder/log" || fail "the processor's text is the GPU's"
if SOTTO_BUILD=$folder "$here/measure.sh" --simulate "$folder/none" >"$folder/log" 2>&1; then
  fail "nothing is built, and it ran"
fi
grep -q "build it first" "$folder/log" || fail "what to do is not told"
echo "measure.sh works"
