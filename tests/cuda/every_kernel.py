"""Every kernel that the program has must have been started by a test.

usage: every_kernel.py FILE…      what runs of tests_cuda have left where SIMT_STARTED said: kernel, times started
"""
import collections
import pathlib
import sys

times = collections.Counter()
for path in sys.argv[1:]:
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, n = line.split()
        times[name] += int(n)
never = sorted(name for name, n in times.items() if n == 0)
for name in never:
    print(f"no test starts {name}")
print(f"{len(times) - len(never)} of {len(times)} kernels were started")
sys.exit(1 if never or not times else 0)
