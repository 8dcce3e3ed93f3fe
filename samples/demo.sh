#!/bin/bash
# Transcribes the samples, on a machine that need have nothing: set-up, build, weights (about 150 MB), then five clips
# of LibriVox readers, printed with their times; the subtitles lie beside this script afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/setup
build/release/sotto models fetch base vad

clips=$(dpkg -L pocketsphinx-testdata | grep -E '/librivox/.*\.wav$' | sort)
echo "== transcribing"
# shellcheck disable=SC2086
build/release/sotto $clips --model base --language en --output-dir samples --output-format srt,txt

echo "== comparing with what to expect (samples/expected)"
status=0
for expected in samples/expected/*.txt; do
  if diff -u --label expected --label "now: $(basename "$expected")" "$expected" "samples/$(basename "$expected")"; then
    echo "as expected: $(basename "$expected" .txt)"
  else
    status=1
  fi
done
exit $status
