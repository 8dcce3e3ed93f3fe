"""The house rules that can be counted: which folder may include which, file lengths, nothing left undone.

usage: check_tree.py [ROOT]      prints each breach as file:line and ends with status 1 if there is one
"""
import pathlib
import re
import sys

MAY_INCLUDE = {  # folder: the folders whose headers it may include
    "models": {"models"},
    "audio": {"audio", "models"},
    "kernels": {"kernels", "models"},
    "src": {"src", "audio", "kernels", "models"},
    "src/cli": {"src/cli", "src", "audio", "kernels", "models"},
}
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".py", ".sh"}
MAX_LINES, MAX_COLUMNS = 600, 128


def folder_of(path):
    parts = path.split("/")
    return "src/cli" if parts[:2] == ["src", "cli"] else parts[0]


def breaches(root):
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        folder = folder_of(name)
        if folder not in {*MAY_INCLUDE, "tests", "samples"} or path.suffix not in SUFFIXES:
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        if len(lines) - 1 > MAX_LINES:
            yield f"{name}:1: {len(lines) - 1} lines; split it by what it is about (at most {MAX_LINES})"
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            if len(line) > MAX_COLUMNS:
                yield f"{where}: {len(line)} columns (at most {MAX_COLUMNS})"
            if re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", line):
                yield f"{where}: something is left undone"
            if re.search(r"\basm\b *(volatile)? *\(|__CUDACC__", line) and re.match(
                    r"kernels/cuda/(?!ptx(_memory)?\.cuh)", name):
                yield f"{where}: only kernels/cuda/ptx.cuh may have this"
            included = re.match(r'\s*#include "([^"]+)"', line)
            if included and folder in MAY_INCLUDE:
                target = folder_of(included.group(1))
                if target not in MAY_INCLUDE[folder]:
                    yield f"{where}: {folder}/ may not include {included.group(1)}"


found = list(breaches(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
print("\n".join(found) or "the tree keeps its rules")
sys.exit(1 if found else 0)
