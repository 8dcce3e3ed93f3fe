#!/bin/bash
# One source of GPU kernels for one chip, if any of the files that it is made from has changed: CUBIN; CUBIN.d, these files,
# for the build, and CUBIN.from, the same; CUBIN.log, what ptxas says of each kernel.
#   compile.sh NVCC CHIP SOURCE CUBIN     (from the preset `cuda` and check_cubins.py)
set -euo pipefail
nvcc=$1 chip=$2 source=$3 cubin=$4
root=$(cd "$(dirname "$0")/../.." && pwd)
is_new() {
  [ -e "$cubin" ] && [ -e "$cubin.from" ] && [ -e "$cubin.log" ] || return 1
  local file
  for file in "$0" $(sed 's/^[^:]*://; s/\\$//' "$cubin.from"); do
    if [ ! -e "$file" ] || [ "$file" -nt "$cubin" ]; then return 1; fi
  done
}
mkdir -p "$(dirname "$cubin")"
if is_new; then
  cp "$cubin.from" "$cubin.d"
  touch "$cubin"
  exit 0
fi
if ! "$nvcc" -std=c++20 -O3 -arch="sm_$chip" -cubin -I"$root" -I"$root/tests" -MD -MF "$cubin.d" -MT "$cubin" -Xptxas -v \
    "$source" -o "$cubin.new" >"$cubin.log" 2>&1; then
  cat "$cubin.log" >&2
  exit 1
fi
cp "$cubin.d" "$cubin.from"
mv "$cubin.new" "$cubin"
