"""Compares sotto with what the reference implementation gave, clip by clip.

usage: golden_check.py SOTTO AUDIO GOLDEN.jsonl… [--models FOLDER] [--gap PROGRAM] [--only TEXT] [--threads N]
                       [--engine NAME] [--precision NAME]

GOLDEN.jsonl is named MODEL.greedy*.jsonl, MODEL.beam5*.jsonl, or MODEL.words*.jsonl (greedy, with word timestamps); a
line of it holds one clip: `audio` (a path below the folder AUDIO), `language`, `text`, `segments` with `seek`, `tokens`,
`avg_logprob`, `no_speech_prob`, and `words` if it has them. Where AUDIO has a manifest.tsv (columns path, language) that
names no language for a clip, sotto has to detect it.

Printed are the share of clips with equal tokens, the largest differences of the two probabilities over them, and each
clip that differs with its first different token. With --gap (the program golden_gap of a build; it needs --models, a
folder with a folder for each model) also how near the two tokens were: more than 0.01 is a bug, less a near-tie. Of the
words in clips with equal tokens, the share of starts and ends within 0.02 s.
The exit status is 1 if there are bugs, differences of more than 0.01 in a probability, other words or other times. This
takes minutes, so it is no part of the quick suite.
"""
import argparse
import csv
import itertools
import json
import pathlib
import re
import subprocess
import sys

NEAR = 0.01
END = "end"
STEP = 0.0201  # seconds: attention is looked at every 0.02 s


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("sotto")
    parser.add_argument("audio", type=pathlib.Path)
    parser.add_argument("golden", nargs="+", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--gap")
    parser.add_argument("--only", default="", help="clips whose path has this in it")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--precision", default="f32")
    return parser.parse_args()


def languages_to_detect(audio):
    manifest = audio / "manifest.tsv"
    if not manifest.exists():
        return set()
    with manifest.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["path"] for row in rows if not row["language"]}


def model_path(args, name):
    return str(args.models / name) if args.models else name


def run_sotto(args, model, decoding, clips, language):
    """What sotto gives for clips of one language (None: to be detected), by their names."""
    command = [args.sotto, "transcribe", *(str(args.audio / clip) for clip in clips),
               "--model", model_path(args, model), "--beam-size", "5" if decoding == "beam5" else "1",
               "--word-timestamps", str(decoding == "words"), "--mode", "sequential", "--no-vad",
               "--temperature", "0", "--temperature-increment-on-fallback", "None", "--threads", args.threads,
               "--engine", args.engine, "--precision", args.precision,
               "--output-format", "jsonl", "--output-dir", "-", "--quiet"]
    if language:
        command += ["--language", language]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=False, encoding="utf-8").stdout.splitlines()
    given = [json.loads(line) for line in lines]
    return {str(pathlib.Path(result["audio"]).relative_to(args.audio)): result for result in given}


def windows(result):
    """Tokens of each window, in order: [(seek, tokens)]."""
    segments = sorted(result["segments"], key=lambda segment: segment["seek"])
    return [(seek, [token for segment in group for token in segment["tokens"]])
            for seek, group in itertools.groupby(segments, key=lambda segment: segment["seek"])]


def first_difference(ours, theirs):
    """(seek, history, tokens before, our token, their token), or None."""
    history = []
    for (our_seek, our_tokens), (their_seek, their_tokens) in itertools.zip_longest(
            windows(ours), windows(theirs), fillvalue=(None, [])):
        if our_seek != their_seek:
            return our_seek, history, [], f"window {our_seek}", f"window {their_seek}"
        for i, (a, b) in enumerate(itertools.zip_longest(our_tokens, their_tokens, fillvalue=END)):
            if a != b:
                return our_seek, history, our_tokens[:i], a, b
        history += our_tokens
    return None


def gap(args, model, clip, language, difference):
    """How near the two tokens were; None where that can't be asked."""
    seek, history, before, ours, theirs = difference
    if not args.gap or not args.models or any(isinstance(token, str) and token != END for token in (ours, theirs)):
        return None
    eot = "50256" if model.endswith(".en") else "50257"
    tokens = [",".join(map(str, some)) or "-" for some in (history[-223:], before)]
    either = [eot if token == END else str(token) for token in (ours, theirs)]
    command = [args.gap, model_path(args, model), str(args.audio / clip), str(seek), language, *tokens, *either]
    run = subprocess.run(command, capture_output=True, check=False, text=True)
    return float(run.stdout) if run.returncode == 0 else None


def largest(ours, theirs, key):
    return max((abs(a[key] - b[key]) for a, b in zip(ours["segments"], theirs["segments"])), default=0)


class WordCheck:
    """How words compare, over all clips with equal tokens."""

    def __init__(self):
        self.times = self.near = 0
        self.probability = 0  # largest difference

    def add(self, name, ours, theirs):
        ours, theirs = ([word for segment in result["segments"] for word in segment.get("words", [])]
                        for result in (ours, theirs))
        self.times += 2 * len(theirs)
        if [word["word"] for word in ours] != [word["word"] for word in theirs]:
            print(f"  {name}: other words")
            return
        for a, b in zip(ours, theirs):
            near = sum(abs(a[key] - b[key]) <= STEP for key in ("start", "end"))
            if near < 2:
                print(f"  {name}: {a}, not {b}")
            self.near += near
            self.probability = max(self.probability, abs(a["probability"] - b["probability"]))

    def good(self):
        """Prints the result, if there is one."""
        if self.times:
            print(f"  words: {self.near} of {self.times} times within 0.02 s ({100 * self.near / self.times:.2f} %); "
                  f"largest difference of a probability {self.probability:.5f}")
        return self.near == self.times and self.probability <= NEAR


def check(args, path, to_detect):
    """Prints how one file of golden clips compares; False if there is a bug."""
    model, decoding = re.fullmatch(r"(.+?)\.(greedy|beam5|words)(?:\..+)?\.jsonl", path.name).groups()
    golden = {clip["audio"]: clip for clip in map(json.loads, path.read_text(encoding="utf-8").splitlines())
              if "segments" in clip and args.only in clip["audio"]}
    by_language = {}
    for name, clip in golden.items():
        by_language.setdefault(None if name in to_detect else clip["language"], []).append(name)
    given = {}
    for language, clips in by_language.items():
        given |= run_sotto(args, model, decoding, clips, language)

    equal, worst, good = [], {"avg_logprob": 0, "no_speech_prob": 0}, True
    words = WordCheck()
    for name, theirs in golden.items():
        ours = given.get(name)
        difference = first_difference(ours, theirs) if ours else None
        if ours and not difference and ours["language"] == theirs["language"]:
            equal.append(name)
            for key, before in worst.items():
                worst[key] = max(before, largest(ours, theirs, key))
            if decoding == "words":
                words.add(name, ours, theirs)
            if ours["text"].strip() != theirs["text"].strip():
                print(f"  {name}: same tokens, other text: {ours['text']!r}, not {theirs['text']!r}")
                good = False
            continue
        good &= explain(args, model, name, ours, theirs, difference)
    share = 100 * len(equal) / max(1, len(golden))
    print(f"{path.name}: {len(equal)} of {len(golden)} clips equal ({share:.1f} %); largest differences: "
          + ", ".join(f"{key} {value:.5f}" for key, value in worst.items()))
    return words.good() and good and max(worst.values()) <= NEAR


def explain(args, model, name, ours, theirs, difference):
    """Prints why a clip differs; False if it is a bug."""
    if not ours:
        print(f"  {name}: nothing came back")
        return False
    if ours["language"] != theirs["language"]:
        print(f"  {name}: language {ours['language']}, not {theirs['language']}")
        return False
    seek, _, before, our_token, their_token = difference
    distance = gap(args, model, name, theirs["language"], difference)
    near = "" if distance is None else f", gap {distance:.5f}: {'a near-tie' if distance <= NEAR else 'A BUG'}"
    print(f"  {name}: window {seek}, token {len(before)}: {our_token}, not {their_token}{near}")
    return distance is not None and distance <= NEAR


def main():
    args = arguments()
    to_detect = languages_to_detect(args.audio)
    results = [check(args, path, to_detect) for path in args.golden]
    return 0 if all(results) else 1


sys.exit(main())
