"""What the compiler makes of the CUDA kernels for each chip, against a table that is read before it is changed: registers,
local memory, blocks of a kernel that one multiprocessor holds, tensor-core instructions.

usage: check_cubins.py BUILD-DIRECTORY [--all] [--write]
       Without --all the kernels of one width are compiled for two chips, which is a minute's work; with it everything, or
       what the preset `cuda` has not compiled yet. --write writes the table anew (with --all).
       Ends with 77, and says that it is skipped, where there is no nvcc.

The table's columns: kernel, threads and shared memory of its blocks (the most that a launch list of the engine asks for),
for each chip registers/blocks on a multiprocessor, then of sm_80's machine code tensor-core instructions/all instructions:
of the loop that has most of the first, or of the whole kernel where that is unrolled; empty: not counted yet. Local memory,
spilled registers and all, is an error, and so is a kernel that the engine never starts.
"""
import collections
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
QUICK_CHIPS = (80, 100)
SKIPPED = 77
NVDISASM = "nvidia-cuda-nvdisasm==13.2.51"
# Tensor-core instructions of one turn of a product's or attention's loop, from its tile: 16 x 8 results of 16 values each
# (bytes: 32), of what one warp has of the tile.
IN_LOOP = [(r"_128x128$|_128x256$", 4 * 8 * 2), (r"_128x64$", 4 * 4 * 2), (r"_64x64$", 2 * 4 * 4),
           (r"_s8_(f16_|bf16_)?\d+$", 4 * 4 * 4),
           (r"^encoder_attention_\w+_128$", 2 * 2 * 8 * 4), (r"^encoder_attention_\w+_64$", 2 * 8 * 4)]

Made = collections.namedtuple("Made", "registers stack spilled")


def sources(everything):
    found = sorted(pathlib.Path("kernels/cuda").glob("*.cu"))
    return [path for path in found if everything or not re.search(r"_(512|768|1024|1280)$", path.stem)]


def compile_one(nvcc, source, chip, folder):
    """ptxas' report on the kernels of a source, which is compiled if it has changed."""
    cubin = folder / f"sm_{chip}" / f"{source.stem}.cubin"
    done = subprocess.run(["tests/cuda/compile.sh", nvcc, str(chip), str(source.absolute()), str(cubin.absolute())],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"nvcc can't compile {source} for sm_{chip}:\n{done.stderr[-4000:]}")
    return pathlib.Path(f"{cubin}.log").read_text()


def functions(report):
    """(kernel, Made) of each kernel in ptxas' report."""
    for part in report.split("Compiling entry function '")[1:]:
        name = part.split("'", 1)[0]
        stack, stores, loads = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        yield name, Made(int(re.search(r"Used (\d+) registers", part).group(1)), stack, stores + loads)


def occupancy(chip, registers, threads, shared):
    most_threads, most_blocks, shared_kb = CHIPS[chip]
    warps = threads // 32
    by_registers = 65536 // (-(-registers * 32 // 256) * 256) // warps
    return min(most_threads // threads, most_blocks, by_registers, shared_kb * 1024 // (shared + 1024))


def nvdisasm(build):
    """The disassembler: that of a toolkit, or PyPI's, which comes into the build folder; None without a network."""
    found = shutil.which("nvdisasm") or ("/usr/local/cuda/bin/nvdisasm" if os.path.exists("/usr/local/cuda/bin/nvdisasm")
                                        else None)
    folder = build / "tools"
    if not found and not list(folder.glob("**/bin/nvdisasm")):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target",
                        str(folder), NVDISASM], capture_output=True, check=False)
    return found or next((str(path) for path in folder.glob("**/bin/nvdisasm")), None)


def read_code(lines):
    """Instructions in order, and loops as (first, last) of them."""
    labels, code, loops = {}, [], []
    for line in lines:
        label, instruction = re.match(r"\s*(\.L_\w+):", line), re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?);", line)
        if label:
            labels[label.group(1)] = len(code)
        elif instruction:
            jump = re.search(r"\bBRA\b.*`\((\.L_\w+)\)", instruction.group(1))
            if jump and jump.group(1) in labels:
                loops.append((labels[jump.group(1)], len(code)))
            code.append(re.sub(r"^@!?U?P\w+\s+", "", instruction.group(1)))
    return code, loops


def tensor_instructions(program, cubin):
    """{kernel: (tensor-core instructions, instructions)} of the main loop or all."""
    text = subprocess.run([program, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    counts = {}
    for section in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.MULTILINE)[1:]:
        code, loops = read_code(section.splitlines())
        tensor = [bool(re.match(r"[HI]MMA\.", line)) for line in code]
        best = max(loops, key=lambda loop: (sum(tensor[loop[0]:loop[1] + 1]), loop[0] - loop[1]), default=None)
        if best is None or sum(tensor[best[0]:best[1] + 1]) == 0:
            best = (0, len(code) - 1)
        counts[re.match(r"[\w$]+", section).group(0)] = (sum(tensor[best[0]:best[1] + 1]), best[1] + 1 - best[0])
    return counts


def read_table():
    rows = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines()[1:]:
            name, *cells = line.split("\t")
            rows[name] = cells
    return rows


def measure(nvcc, build, everything):
    """({kernel: {chip: Made}}, {kernel: tensor-core instructions}, what is wrong whatever the table says)."""
    jobs = [(source, chip) for source in sources(everything) for chip in (CHIPS if everything else QUICK_CHIPS)]
    program = nvdisasm(build)
    registers, tensor, wrong = {}, {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = pool.map(lambda job: compile_one(nvcc, *job, build / "cubins"), jobs)
        for (source, chip), report in zip(jobs, reports):
            for name, made in functions(report):
                registers.setdefault(name, {})[chip] = made
                if made.stack or made.spilled:
                    wrong.append(f"{name}: {max(made.stack, made.spilled)} bytes of local memory on sm_{chip}")
            if chip == 80 and program:
                tensor.update(tensor_instructions(program, build / "cubins" / "sm_80" / f"{source.stem}.cubin"))
    for name, (count, _) in tensor.items():
        for pattern, expected in IN_LOOP:
            if re.search(pattern, name) and not name.startswith("layer_norm") and count != expected:
                wrong.append(f"{name}: {count} tensor-core instructions in its loop, not {expected}")
    return registers, tensor, wrong


def table_rows(build, registers, tensor):
    launches = {}  # kernel: (threads, shared memory)
    listed = subprocess.run([build / "cuda_launches"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        name, threads, shared = line.split()
        launches[name] = (int(threads), int(shared))
    rows = {}
    for name, used in sorted(registers.items()):
        threads, shared = launches.get(name, (0, 0))
        cells = [str(threads), str(shared)]
        for chip in CHIPS:
            made = used.get(chip)
            if made is None:
                cells.append("")
                continue
            blocks = occupancy(chip, made.registers, threads, shared) if threads else 0
            cells.append(f"{made.registers}/{blocks}")
        rows[name] = cells + ["{}/{}".format(*tensor[name]) if name in tensor else ""]
    return rows, sorted(launches.keys() - registers.keys())


def differences(rows, table, same_compiler):
    for name, cells in rows.items():
        if name not in table:
            yield f"{name} is not in {TABLE}"
            continue
        for has, expected in zip(cells, table[name]):
            if not has or not expected or has == expected:
                continue
            # Another compiler may take other registers, but not so many that fewer blocks fit.
            parts, expected_parts = has.split("/"), expected.split("/")
            worse = len(parts) > 1 and int(parts[1]) < int(expected_parts[1])
            if same_compiler or worse:
                yield f"{name}: {has}, and {expected} in the table"


def main():
    build = pathlib.Path(sys.argv[1])
    everything, write = "--all" in sys.argv, "--write" in sys.argv
    nvcc = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else None)
    if not nvcc:
        print("SKIPPED: there is no nvcc on this machine (NVIDIA's CUDA 13.0, or PyPI's nvidia-cuda-nvcc==13.0.88)")
        return SKIPPED
    registers, tensor, wrong = measure(nvcc, build, everything)
    rows, missing = table_rows(build, registers, tensor)
    wrong += [f"{name} is never started" for name, cells in rows.items() if cells[0] == "0"]
    if everything:
        wrong += [f"{name} is started, and no source has it" for name in missing]
    if write:
        head = ["kernel", "threads", "shared"] + [f"sm_{chip}" for chip in CHIPS] + ["tensor"]
        TABLE.write_text("\n".join("\t".join(row) for row in [head] + [[name] + cells for name, cells in rows.items()]) + "\n")
    release = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    table = read_table()
    wrong += differences(rows, table, "release 13.0" in release)
    if everything:
        wrong += [f"{name} is in {TABLE}, and no source has it" for name in table.keys() - rows.keys()]
    if not tensor:
        print(f"tensor-core instructions are not counted: there is no nvdisasm, and no network to get {NVDISASM}")
    print("\n".join(wrong) or f"{len(rows)} kernels are compiled as {TABLE} has them")
    return 1 if wrong else 0


sys.exit(main())
