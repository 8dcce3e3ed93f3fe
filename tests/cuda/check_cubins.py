"""What the compiler makes of the CUDA kernels for each chip, against a table that is read before it is changed: registers,
spills (none), blocks of a kernel that one multiprocessor holds, tensor-core instructions.

usage: check_cubins.py BUILD-DIRECTORY [--all] [--write]
       Without --all two chips and the kernels of one width are compiled, which is a minute's work; with it all. --write
       writes the table anew (with --all). Does nothing, and says so, where there is no nvcc.

The table's columns: kernel, threads and shared memory of its blocks (the most that a launch list of the engine asks for),
then for each chip registers/blocks on a multiprocessor, then tensor-core instructions for sm_80.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

TABLE = pathlib.Path("tests/cuda/cubins.tsv")
# Of one multiprocessor: threads, blocks, shared memory in KB. CUDA C++ programming guide, "Compute capabilities". All have
# 65,536 registers, given out by 256 to a warp; a block takes 1 KB of shared memory beside its own.
CHIPS = {80: (2048, 32, 164), 86: (1536, 16, 100), 89: (1536, 24, 100), 90: (2048, 32, 228), 100: (2048, 32, 228),
         120: (1536, 24, 100)}
QUICK_CHIPS = (80, 120)


def sources(everything):
    found = sorted(pathlib.Path("kernels/cuda").glob("*.cu"))
    return [path for path in found if everything or not re.search(r"_(512|768|1024|1280)$", path.stem)]


def compile_one(nvcc, source, chip, folder):
    """Compiles if any source is newer than the cubin; returns ptxas' report."""
    cubin = folder / f"sm_{chip}" / f"{source.stem}.cubin"
    report = cubin.with_suffix(".log")
    newest = max(path.stat().st_mtime for pattern in ("kernels/cuda/*.cu*", "kernels/cuda/*.h", "kernels/*.h", "models/dims.h")
                 for path in pathlib.Path(".").glob(pattern))
    if not report.exists() or report.stat().st_mtime < newest:
        cubin.parent.mkdir(parents=True, exist_ok=True)
        result = subprocess.run([nvcc, "-std=c++20", "-O3", f"-arch=sm_{chip}", "-cubin", "-I.", "-Itests", str(source), "-o",
                                 str(cubin), "-Xptxas", "-v"], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"nvcc can't compile {source} for sm_{chip}:\n{result.stderr[-4000:]}")
        report.write_text(result.stderr)
    return report.read_text()


def functions(report):
    """(kernel, registers, bytes spilled) of each kernel in ptxas' report."""
    for part in report.split("Compiling entry function '")[1:]:
        name = part.split("'", 1)[0]
        stores, loads = map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        yield name, int(re.search(r"Used (\d+) registers", part).group(1)), stores + loads


def occupancy(chip, registers, threads, shared):
    most_threads, most_blocks, shared_kb = CHIPS[chip]
    warps = threads // 32
    by_registers = 65536 // (-(-registers * 32 // 256) * 256) // warps
    return min(most_threads // threads, most_blocks, by_registers, shared_kb * 1024 // (shared + 1024))


def tensor_instructions(cubin):
    """By kernel, from the machine code; None where there is no nvdisasm."""
    program = shutil.which("nvdisasm") or next(pathlib.Path("build/tools").glob("**/bin/nvdisasm"), None)
    if not program:
        return None
    text = subprocess.run([str(program), str(cubin)], capture_output=True, text=True, check=True).stdout
    counts = {}
    for section in re.split(r"^\s*\.section\s+", text, flags=re.MULTILINE)[1:]:
        if section.startswith(".text."):
            name = re.match(r"\.text\.([\w$]+)", section).group(1)
            counts[name] = len(re.findall(r"\b[HI]MMA\.", section))
    return counts


def read_table():
    rows = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines()[1:]:
            name, *cells = line.split("\t")
            rows[name] = cells
    return rows


def measure(nvcc, build, everything):
    """Rows of the table: {kernel: {chip: registers, ...}}, and what is wrong whatever the table says."""
    chips = CHIPS if everything else QUICK_CHIPS
    jobs = [(source, chip) for source in sources(everything) for chip in chips]
    registers, mma, wrong = {}, {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = pool.map(lambda job: compile_one(nvcc, *job, build / "cubins"), jobs)
        for (source, chip), report in zip(jobs, reports):
            for name, used, spilled in functions(report):
                registers.setdefault(name, {})[chip] = used
                if spilled:
                    wrong.append(f"{name} for sm_{chip}: {spilled} bytes spilled")
            if chip == 80:
                counts = tensor_instructions(build / "cubins" / "sm_80" / f"{source.stem}.cubin")
                mma.update(counts or {})
    return registers, mma, wrong


def main():
    build = pathlib.Path(sys.argv[1])
    everything, write = "--all" in sys.argv, "--write" in sys.argv
    nvcc = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else None)
    if not nvcc:
        print("SKIPPED: there is no nvcc on this machine (Debian's nvidia-cuda-toolkit is too old; NVIDIA's is on its site)")
        return
    launches = {}  # kernel: (threads, shared memory)
    listed = subprocess.run([build / "cuda_launches"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        name, threads, shared = line.split()
        launches[name] = (int(threads), int(shared))
    registers, mma, wrong = measure(nvcc, build, everything)
    rows = {}
    for name, used in sorted(registers.items()):
        threads, shared = launches.get(name, (0, 0))
        cells = [str(threads), str(shared)]
        for chip in CHIPS:
            blocks = occupancy(chip, used[chip], threads, shared) if threads and chip in used else 0
            cells.append(f"{used[chip]}/{blocks}" if chip in used else "")
        rows[name] = cells + [str(mma.get(name, ""))]
    if write:
        head = ["kernel", "threads", "shared"] + [f"sm_{chip}" for chip in CHIPS] + ["mma"]
        TABLE.write_text("\n".join("\t".join(row) for row in [head] + [[name] + cells for name, cells in rows.items()]) + "\n")
    table = read_table()
    if not table:
        print(f"there is no {TABLE} yet: only spills are looked for")
    same_compiler = "release 13.0" in subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    for name, cells in rows.items():
        if not table:
            continue
        if name not in table:
            wrong.append(f"{name} is not in {TABLE}")
            continue
        for has, expected in zip(cells, table[name]):
            worse = has and expected and "/" in has and int(has.split("/")[1]) < int(expected.split("/")[1])
            if has and has != expected and (same_compiler or worse):
                wrong.append(f"{name}: {has}, and {expected} in the table")
    if not mma:
        print("tensor-core instructions are not counted: there is no nvdisasm (pip install nvidia-cuda-nvdisasm)")
    print("\n".join(wrong) or f"{len(rows)} kernels are compiled without spills" +
          (f", as {TABLE} has them" if table else ""))
    sys.exit(1 if wrong else 0)


main()
