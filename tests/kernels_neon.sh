#!/bin/bash
# The CPU kernels' tests on 64-bit ARM: cross-compiled, and run by qemu with and without the dot product of bytes.
#   tests/kernels_neon.sh [BUILD FOLDER]     exit status 77: skipped, since a program is missing
set -euo pipefail
cd "$(dirname "$0")/.."
for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$program" > /dev/null; then
    echo "skipped: there is no $program; 'apt-get install g++-aarch64-linux-gnu qemu-user' brings it"
    exit 77
  fi
done
build=${1:-build/neon}
mkdir -p "$build"
# Sections apart, so that what packs weights into files, and the libraries that it needs, are left out.
flags=(-std=c++20 -O2 -fno-math-errno -ffp-contract=fast -ffunction-sections -fdata-sections -I. -Itests
       -idirafter /usr/include)
sources=(kernels/cpu/{isa,operand,packed_model,kernels_neon,dotprod_neon,kernels_portable}.cc kernels/team.cc
         models/weights.cc tests/main.cc tests/kernels/cpu_kernels_test.cc)
objects=()
for source in "${sources[@]}"; do
  objects+=("$build/${source//\//_}.o")
  aarch64-linux-gnu-g++ "${flags[@]}" -c "$source" -o "${objects[-1]}" &
  if [ "$(jobs -r | wc -l)" -ge "$(nproc)" ]; then wait -n; fi
done
while [ -n "$(jobs -r)" ]; do wait -n; done
aarch64-linux-gnu-g++ -static -Wl,--gc-sections "${objects[@]}" -lpthread -o "$build/tests_kernels_neon"
qemu-aarch64 -cpu max "$build/tests_kernels_neon" -tce="full:*"
qemu-aarch64 -cpu cortex-a53 "$build/tests_kernels_neon" -tc="scans*,a row's product*"
