#!/bin/bash
# Everything that a machine with an NVIDIA GPU can tell of this program, in one folder: the twins and kernels against their
# references on the hardware, times beside the limits, and transcripts beside the processor's. Ten minutes at most, no
# network: build with the preset `cuda` and fetch the models before.
#   tests/gpu/measure.sh [--simulate] [OUTPUT-FOLDER] [MODEL…]      (gpu-results, base tiny.en)
# --simulate: on the executor, with build/release (or $SOTTO_BUILD), and less of everything: whether this script works.
set -uo pipefail
cd "$(dirname "$0")/../.."
simulate=0
if [ "${1:-}" = --simulate ]; then simulate=1; shift; fi
out=${1:-gpu-results}
shift || true
models=("$@")
if [ $simulate = 1 ]; then
  build=${SOTTO_BUILD:-build/release} program=sotto_sim device=cuda-sim flags=--simulate batches=1 beams=1 rounds=1 slower=10
  [ ${#models[@]} -gt 0 ] || models=(tiny.en)
  kernels=(-tc="mel operand:*,layer norm:*") clips=(0870)
else
  export SOTTO_TEST_DEVICE=cuda
  build=${SOTTO_BUILD:-build/cuda} program=sotto device=cuda flags='' batches=1,8 beams=5 rounds=5 slower=1
  [ ${#models[@]} -gt 0 ] || models=(base tiny.en)
  kernels=(-tce="full:*,twins:*,executor:*,roofline:*,cuda network:*") clips=(0870 0880 0890 0920 0930)
fi
for needed in $program tests_cuda cuda_times; do
  if [ ! -x "$build/$needed" ]; then
    echo "$build/$needed is not there; build it first: cmake --preset cuda && cmake --build --preset cuda" >&2
    exit 2
  fi
done
mkdir -p "$out" || exit 2
sounds=()
for clip in "${clips[@]}"; do
  sounds+=("/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-$clip.wav")
done

failed=0
started=$SECONDS
: >"$out/summary.txt"
step() {  # name, seconds, command…
  local name=$1 limit=$(($2 * slower)) begun=$SECONDS status
  shift 2
  timeout "$limit" "$@" >"$out/$name.txt" 2>&1
  status=$?
  if [ $status = 0 ] && grep -q "; the processor does the work$" "$out/$name.txt"; then status=processor; fi
  case $status in
    0) status=done ;;
    processor) status="FAILED: not done by the GPU, see $name.txt" failed=1 ;;
    124) status="FAILED: more than $limit s" failed=1 ;;
    *) status="FAILED: ended with $status, see $name.txt" failed=1 ;;
  esac
  printf '%-24s %4d s  %s\n' "$name" $((SECONDS - begun)) "$status" | tee -a "$out/summary.txt"
}
transcribe() {  # name, device, precision, model
  step "$1" 60 "$build/$program" --device "$2" --precision "$3" -m "$4" --offline --no-vad -f txt -o - --quiet "${sounds[@]}"
}

if [ $simulate = 0 ]; then step machine 20 nvidia-smi -q; fi
step program 10 "$build/$program" --version
step twins 60 "$build/tests_cuda" "-tc=twins:*"
step kernels 150 "$build/tests_cuda" "${kernels[@]}"
for model in "${models[@]}"; do
  # shellcheck disable=SC2086  # no flags are no argument
  step "kernels-$model" 40 "$build/cuda_times" "$model" --batch $batches --beam-size $beams $flags
  step "bench-$model" 40 "$build/$program" bench --device $device -m "$model" --batch $batches --beam-size $beams \
    --rounds $rounds
  transcribe "text-$model-gpu" $device f16 "$model"
  transcribe "text-$model-cpu" cpu f32 "$model"  # bytes, the default of most processors, may write other words
  if [ -s "$out/text-$model-gpu.txt" ] && cmp -s "$out/text-$model-gpu.txt" "$out/text-$model-cpu.txt"; then
    same="the same text as the processor's"
  else
    same="other text than the processor's: compare text-$model-gpu.txt and text-$model-cpu.txt"
  fi
  printf '%-24s         %s\n' "text-$model" "$same" | tee -a "$out/summary.txt"
done
{
  echo
  echo "$((SECONDS - started)) s in all"
  for table in "$out"/kernels-*.txt "$out"/bench-*.txt; do
    [ -s "$table" ] || continue
    echo
    cat "$table"
  done
} >>"$out/summary.txt"
echo "all of it is in $out, in short in $out/summary.txt"
exit $failed
