"""Speech through every CUDA kernel, on the executor, gives the tokens of the plain network.

usage: same_tokens.py BUILD-DIRECTORY [--full]
       Without --full: tiny.en, two clips, one greedy and one with five beams. With it: base, and four windows at once.
"""
import json
import pathlib
import subprocess
import sys
import time

CLIPS = pathlib.Path("/usr/share/pocketsphinx/test/data/librivox")
CLIP = "sense_and_sensibility_01_austen_64kb-{}.wav"
QUICK = [("tiny.en", ["--beam-size", "1"], ["0870"]), ("tiny.en", ["--beam-size", "5"], ["0880"])]
FULL = [("tiny.en", ["--beam-size", "5", "--mode", "batched", "--batch-size", "4"], ["0870", "0890", "0920", "0930"]),
        ("base", ["--beam-size", "5"], ["0870"])]


def tokens(program, model, arguments, clips, engine):
    files = [str(CLIPS / CLIP.format(clip)) for clip in clips]
    command = [program, "-m", model, "--offline", "--no-vad", "--temperature", "0", "--temperature-increment-on-fallback",
               "None", "-f", "jsonl", "-o", "-", "--quiet", *arguments, *engine, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "warning" in done.stderr:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return [[segment["tokens"] for segment in json.loads(line)["segments"]] for line in done.stdout.splitlines()]


def main():
    program = str(pathlib.Path(sys.argv[1]) / "sotto_sim")
    if not CLIPS.exists():
        print("SKIPPED: the clips of Debian's pocketsphinx-testdata are not here")
        return
    failed = False
    for model, arguments, clips in FULL if "--full" in sys.argv else QUICK:
        started = time.monotonic()
        found = tokens(program, model, arguments, clips, ["--device", "cuda-sim"])
        seconds = time.monotonic() - started
        expected = tokens(program, model, arguments, clips, ["--engine", "reference", "--device", "cpu"])
        n = sum(len(segment) for clip in expected for segment in clip)
        same = found == expected and n > 0
        failed = failed or not same
        print(f"{model} {' '.join(arguments)}: {n} tokens of {len(clips)} clips in {seconds:.0f} s, "
              f"{'the same' if same else f'DIFFERENT: {found} instead of {expected}'}", flush=True)
    sys.exit(1 if failed else 0)


main()
