#!/bin/bash
# Everything that a machine with an NVIDIA GPU can tell of this program, in one folder: the twins and kernels against their
# references on the hardware, times beside the limits, and transcripts beside the processor's. Ten minutes at most, no
# network: build with the preset `cuda` and fetch the models before.
#   tests/gpu/measure.sh [OUTPUT-FOLDER] [MODEL…]      (gpu-results, base tiny.en)
set -uo pipefail
cd "$(dirname "$0")/../.."
out=${1:-gpu-results}
shift || true
models=("${@:-base}")
[ $# -gt 0 ] || models=(base tiny.en)
build=build/cuda
if [ ! -x $build/sotto ] || [ ! -x $build/tests_cuda ]; then
  echo "please build first: cmake --preset cuda && cmake --build --preset cuda --target sotto tests_cuda" >&2
  exit 1
fi
mkdir -p "$out"
failed=0
step() {  # name, seconds, command…
  local name=$1 limit=$2
  shift 2
  printf '%-28s ' "$name"
  if timeout "$limit" "$@" >"$out/$name.txt" 2>&1; then echo done; else echo "FAILED ($?), see $out/$name.txt"; failed=1; fi
}
step machine 20 nvidia-smi -q
step program 20 $build/sotto --version
step twins 60 env SOTTO_TEST_DEVICE=cuda $build/tests_cuda "-tc=twins:*"
step kernels 240 env SOTTO_TEST_DEVICE=cuda $build/tests_cuda "-tce=twins:*,executor:*"
for model in "${models[@]}"; do
  step "bench-$model" 90 $build/sotto bench --device cuda -m "$model" --batch 1,8 --beam-size 5
  for chip in a100 4090 h200; do
    step "plan-$model-$chip" 20 $build/sotto bench --plan $chip -m "$model" --batch 8 --beam-size 5
  done
  step "text-$model-cuda" 60 $build/sotto --device cuda -m "$model" --offline --no-vad -f txt -o - \
    /usr/share/pocketsphinx/test/data/librivox/*.wav
  step "text-$model-cpu" 120 $build/sotto --device cpu -m "$model" --offline --no-vad -f txt -o - \
    /usr/share/pocketsphinx/test/data/librivox/*.wav
done
echo "all of it is in $out"
exit $failed
