"""The tables of kernels/LADDER.md that predict the GPU's times are what `sotto bench --plan` says.

usage: ladder.py SOTTO      prints the rows that LADDER.md should have and hasn't, and ends with 1 if there are any
"""
import json
import pathlib
import subprocess
import sys

LADDER = pathlib.Path("kernels/LADDER.md")
MODELS = ("tiny", "base", "small", "medium", "large-v3", "turbo")
CHIPS = ("a100", "4090", "h200")


def plan(program, chip, model, windows=1, precision="f16"):
    return json.loads(subprocess.run(
        [program, "bench", "--plan", chip, "-m", model, "--batch", str(windows), "--beam-size", "5", "--precision", precision,
         "--json"], capture_output=True, text=True, check=True).stdout)


def total(of, what):
    return sum(stage[what] for stage in of["stages"])


def told(seconds):
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.{1 if seconds < 1e-2 else 0}f} ms"


def encoding_row(program, model, windows):
    cells = []
    for chip in CHIPS:
        of = plan(program, chip, model, windows)
        time = of["encode"]["seconds_with_gaps"]
        share = total(of["encode"], "operations") / of["f16_operations_per_second"] / time
        cells.append(f"{told(time)}, {share:.0%}".replace("%", " %"))
    return f"| {model}, {windows} | {total(of['encode'], 'operations') / 1e9:.0f} G | {' | '.join(cells)} |"


def step_row(program, model):
    cells = [model]
    for precision in ("f16", "int8"):
        plans = [plan(program, chip, model, precision=precision) for chip in CHIPS]
        if precision == "f16":
            cells.append(str(plans[0]["step"]["kernels"]))
        cells.append(f"{total(plans[0]['step'], 'memory_bytes') / 1e6:.0f}")
        for of in plans:
            time = of["step"]["seconds_with_gaps"]
            share = total(of["step"], "memory_bytes") / of["memory_bytes_per_second"] / time
            cells.append(f"{told(time)}, {share:.0%}".replace("%", " %"))
    return f"| {' | '.join(cells)} |"


def main():
    program = sys.argv[1]
    rows = [encoding_row(program, model, windows) for model in MODELS for windows in (1, 8)]
    rows += [step_row(program, model) for model in MODELS]
    there = set(LADDER.read_text(encoding="utf-8").splitlines())
    missing = [row for row in rows if row not in there]
    print("\n".join(missing) or f"all {len(rows)} rows of {LADDER} are what bench --plan says")
    return 1 if missing else 0


sys.exit(main())
