"""Speech through every CUDA kernel, on the executor, gives the tokens of the plain network.

usage: same_tokens.py BUILD-DIRECTORY [--full]
       Without --full: tiny.en, eleven seconds, greedy and with five beams. With it: four windows at once, int8, and base.
"""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import wave

CLIPS = pathlib.Path("/usr/share/pocketsphinx/test/data/librivox")
CLIP = "sense_and_sensibility_01_austen_64kb-{}.wav"
ELEVEN_SECONDS = "0890+0920"
# Model, arguments, clips ("+": one behind the other), and the share of tokens that must be the plain network's.
QUICK = [("tiny.en", ["--beam-size", "1"], [ELEVEN_SECONDS], 1), ("tiny.en", ["--beam-size", "5"], [ELEVEN_SECONDS], 1)]
FULL = [("tiny.en", ["--beam-size", "5", "--mode", "batched", "--batch-size", "4"], ["0870", "0890", "0920", "0930"], 1),
        ("tiny.en", ["--beam-size", "1", "--precision", "int8"], [ELEVEN_SECONDS], 0.9),
        ("tiny.en", ["--beam-size", "5", "--precision", "int8"], ["0870", ELEVEN_SECONDS], 0.9),
        ("base", ["--beam-size", "5"], ["0870"], 1)]


def join(clips, folder):
    """The file of a clip, or of several behind one another."""
    paths = [str(CLIPS / CLIP.format(clip)) for clip in clips.split("+")]
    if len(paths) == 1:
        return paths[0]
    joined = str(pathlib.Path(folder) / f"{clips}.wav")
    with wave.open(joined, "wb") as to:
        for path in paths:
            with wave.open(path) as part:
                if path == paths[0]:
                    to.setparams(part.getparams())
                to.writeframes(part.readframes(part.getnframes()))
    return joined


def tokens(program, model, arguments, files, engine):
    command = [program, "-m", model, "--offline", "--no-vad", "--temperature", "0", "--temperature-increment-on-fallback",
               "None", "-f", "jsonl", "-o", "-", "--quiet", *arguments, *engine, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "warning" in done.stderr:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return [[token for segment in json.loads(line)["segments"] for token in segment["tokens"]]
            for line in done.stdout.splitlines()]


def main():
    program = str(pathlib.Path(sys.argv[1]) / "sotto_sim")
    if not CLIPS.exists():
        print("SKIPPED: the clips of Debian's pocketsphinx-testdata are not here")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for model, arguments, clips, share in FULL if "--full" in sys.argv else QUICK:
            files = [join(clip, folder) for clip in clips]
            started = time.monotonic()
            found = tokens(program, model, arguments, files, ["--device", "cuda-sim"])
            seconds = time.monotonic() - started
            plain = arguments[:arguments.index("--precision")] if "--precision" in arguments else arguments
            expected = tokens(program, model, plain, files, ["--engine", "reference", "--device", "cpu"])
            n = sum(map(len, expected))
            same = sum(block.size for a, b in zip(found, expected)
                       for block in difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks())
            good = n > 0 and (found == expected if share == 1 else same >= share * n)
            failed = failed or not good
            print(f"{model} {' '.join(arguments)}: {same} of {n} tokens of {len(clips)} clips are the plain network's, in "
                  f"{seconds:.0f} s" + ("" if good else f": WRONG, {found} instead of {expected}"), flush=True)
    return 1 if failed else 0


sys.exit(main())
