"""Are all barriers needed, and would the tests see it if one were gone? Each barrier and each wait for copies that the
kernels of some tests come to is made to do nothing, one at a time and for one kernel (of all types and widths) at a time,
and the tests must fail: under one of the schedules, or else with a race that ThreadSanitizer reports.

usage: mutate.py BUILD-DIRECTORY [TEST-CASE-PATTERN [SOURCE-FILE…]]
       the pattern is doctest's; source files (base names) restrict which places are tried
       mutate.py BUILD-DIRECTORY --sample
       the first places of each kernel, with the one test that is its own
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time


# Source file: its test case.
SAMPLE = {
    "operands.cuh": "products: every one, all schedules, rows that end inside a tile",
    "encoder_attention.cuh": "encoder attention: all schedules",
    "small_product.cuh": "small products: residual, operand and moments of the next norm",
    "self_attention.cu": "self attention: a row's past at the places of its table",
    "cross_attention.cu": "cross attention: rows of slots over their windows",
    "logits.cuh": "the end of a step: beams, samples and rules as on the host, under every schedule",
    "choose.cu": "the end of a step: beams, samples and rules as on the host, under every schedule",
}
SAMPLED = 2  # places of each


def run(program, pattern, **environment):
    """The exit status; negative or 124 count as failures too."""
    command = [str(program), f"--test-case={pattern}", "--test-case-exclude=full:*,executor:*", "--abort-after=1"]
    try:
        return subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=600, check=False).returncode
    except subprocess.TimeoutExpired:
        return 124


def test_cases(program, pattern):
    listed = subprocess.run([str(program), "--list-test-cases", "--no-colors=true", f"--test-case={pattern}",
                             "--test-case-exclude=full:*,executor:*"], capture_output=True, text=True, check=True).stdout
    names = [line.strip() for line in listed.splitlines()]
    return [name for name in names if name and not name.startswith(("[doctest]", "==="))]


def quoted(name):  # a comma separates patterns
    return name.replace(",", "?")


def family(kernel):
    """qkv_s8 of qkv_s8_f16_384: what all types and widths of a kernel have in common."""
    return re.sub(r"_(f16|bf16|i8|\d).*", "", kernel)


def find_places(program, names, files):
    """{(file, line, kernel without type and width): [(seconds, test case, names of kernels), …] of those that come to it}"""
    tests_of = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            sites = pathlib.Path(folder) / "sites"
            started = time.monotonic()
            if run(program, quoted(name), SIMT_SITES=str(sites)) != 0:
                sys.exit(f"test case '{name}' fails as it is")
            seconds = time.monotonic() - started
            kernels = {}
            for line in sites.read_text().splitlines() if sites.exists() else []:
                site, kernel = line.split()
                file, number = site.rsplit(":", 1)
                if not files or file in files:
                    kernels.setdefault((file, int(number), family(kernel)), []).append(kernel)
            for place, all_of_it in kernels.items():
                tests_of.setdefault(place, []).append((seconds, name, all_of_it))
    return tests_of


def sample(program):
    places = {}
    for name in sorted(set(SAMPLE.values())):
        found = find_places(program, [name], {file for file, test in SAMPLE.items() if test == name})
        for file in {place[0] for place in found}:
            lines = sorted({line for of, line, _ in found if of == file})[:SAMPLED]
            for line in lines:
                place = min(place for place in found if place[:2] == (file, line))
                places[place] = found[place]
    missing = SAMPLE.keys() - {file for file, _, _ in places}
    if missing:
        sys.exit(f"no barrier of {', '.join(sorted(missing))} was come to")
    return places


def main():
    build = pathlib.Path(sys.argv[1])
    program, watched = build / "tests_cuda", build / "tests_cuda_tsan"
    if "--sample" in sys.argv:
        tests_of = sample(program)
    else:
        pattern = sys.argv[2] if len(sys.argv) > 2 else "*"
        tests_of = find_places(program, test_cases(program, pattern), set(sys.argv[3:]))
    survivors = []
    for (file, line, kernel), tests in sorted(tests_of.items()):
        site = f"{file}:{line}"
        tests = [(quoted(name), f"{site}@{','.join(kernels)}") for _, name, kernels in sorted(tests)]
        caught = next((f"'{name}'" for name, skip in tests if run(program, name, SIMT_SKIP=skip) != 0), None)
        if not caught and watched.exists():
            caught = next((f"'{name}', a race" for name, skip in tests
                           if run(watched, name, SIMT_SKIP=skip, TSAN_OPTIONS="halt_on_error=1") != 0), None)
        seen = f"seen by {caught}" if caught else f"NOT SEEN by {', '.join(name for name, _ in tests)}"
        print(f"{site} in {kernel}: {seen}", flush=True)
        if not caught:
            survivors.append((site, kernel))
    print(f"{len(tests_of) - len(survivors)} of {len(tests_of)} barriers and waits are missed when they are gone")
    sys.exit(1 if survivors or not tests_of else 0)


main()
