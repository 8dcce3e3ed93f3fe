"""Whether every format that the program writes is read back by programs that aren't ours, with the times and the texts that
went in.

usage: formats.py SOTTO FOLDER      FOLDER: for what is installed from PyPI, and for the files

Transcripts full of what formats trip over are written by `sotto subtitles --style whisper`, which gives a cue for each
segment, so that what a reader should find is what the transcript says. Ends with 77 where PyPI can't be reached.
"""
import csv
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

PACKAGES = ["webvtt-py==0.6.0", "pysrt==1.1.2", "pycaption==2.3.14", "praat-parselmouth==0.4.7", "textgrid==1.6.1",
            "ttconv==1.2.3", "pysubs2==1.8.1", "pylrc==0.1.2"]
SCTK = pathlib.Path("/usr/lib/sctk/bin")
FORMATS = "txt,srt,vtt,ass,ttml,sbv,lrc,tsv,csv,TextGrid,ctm,stm,rttm,otr,aud"
HUNDRED_HOURS = 360000

TEXTS = [  # each with what it becomes on lines
    'He said "no", twice; \'and\' left.', "a --> b ---> c <-- d", "x < y > z & &amp; <b>not bold</b> </i> <3",
    "tab\there, NUL\0, escape \x1b[31m, bell\a.", "family 👨‍👩‍👧‍👦, flag 🇩🇪, heart ❤️",
    "שלום עולם, hello! 123", "مرحبا بالعالم؟ نعم.",
    "WEBVTT", "NOTE to self", "STYLE", "42",
    ";; no comment", "=1+1, -2, +3, @x", "{curly} and {\\an8} and \\N and C:\\new",
    "ends with \\", "naïve café — “quotes” … ½", "no-break\u00a0space\u200b, \ufffe\ufdd0 none",
    "你好，世界。こんにちは", "two\nlines\r\n\r\nof text",
    "[Music] (laughs) ♪ la la ♪", "percent 100% and $5,000.00", "one, two,three",
]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("failed:", what)


def same(found, expected, what):
    if found == expected:
        return
    different = [(f, e) for f, e in zip(found, expected) if f != e][:4]
    check(False, f"{what}: {len(found)} of {len(expected)}; found, expected: {different!r}")


def clean(text):
    """A text as every format may show it: control characters are spaces, and what is none is U+FFFD."""
    text = re.sub(r"[\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)
    lines = re.split(r"[\n\v\f\r\x85\u2028\u2029]", text)
    return [line for line in (re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", line).strip() for line in lines) if line]


def loose(text):
    """For readers that change white space."""
    return re.sub(r"\s+", " ", text.replace("\u2060", "")).strip()


class Transcript:
    def __init__(self, name, segments, **more):
        self.name, self.segments = name, segments
        self.json = {"audio": f"{name}.wav", "language": "en", "duration": max([0] + [s["end"] for s in segments]) + 1,
                     "segments": segments, **more}
        self.cues = [(round(s["start"] * 1000), round(s["end"] * 1000), clean(s["text"])) for s in segments
                     if clean(s["text"])]

    def speaker(self, segment):
        return segment.get("speaker", "")

    def write(self, program, folder, *options):
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(self.json))
        subprocess.run([program, "subtitles", path, "-f", FORMATS, "-o", folder, "--quiet", *options], check=True)
        return lambda extension: folder / f"{self.name}.{extension}"


def segment(start, end, text, words=True, **more):
    made = {"start": start, "end": end, "text": " " + text, **more}
    if words:
        parts = re.findall(r"\s*\S+\s*$|\s*\S+", " " + text)
        step = (end - start) / len(parts)
        made["words"] = [{"word": part, "start": round(start + i * step, 3), "end": round(start + (i + 1) * step, 3),
                          "probability": 0.5} for i, part in enumerate(parts)]
    return made


def transcripts():
    nasty = [segment(1 + 2.0008 * i, 2.5 + 2.0008 * i, text) for i, text in enumerate(TEXTS)]
    late = [segment(s["start"] + HUNDRED_HOURS - 20, s["end"] + HUNDRED_HOURS - 20, text) for s, text in zip(nasty, TEXTS)]
    times = [0, 0.9994, 1.9996, 59.9996, 3599.9999, 35999.996]
    rounded = [segment(t, t + 0.5, f"Number {i}.") for i, t in enumerate(times)]
    speakers = [segment(i * 2, i * 2 + 1.75, text, speaker=who) for i, (who, text) in enumerate(
        [("Ann <1>", "Hello?"), ('Bob "B" & Co, Ltd', "Yes."), ("Ann <1>", "Good, then."), ("Cy", "Who?")])]
    letters = [segment(i * 2.5, i * 2.5 + 2, text)
               for i, text in enumerate(["well hello there", "how's it going", "fine"])]
    return [Transcript("letters", letters), Transcript("nasty", nasty), Transcript("late", late),
            Transcript("rounded", rounded),
            Transcript("wordless", [segment(i, i + 0.875, t, words=False) for i, t in enumerate(TEXTS)]),
            Transcript("speakers", speakers), Transcript("empty", []),
            Transcript("blank", [segment(1, 2, " \t ", words=False)])]


def spoken(transcript):
    """The cues with who speaks before the text."""
    labels = [s.get("speaker", "") for s in transcript.segments if clean(s["text"])]
    return [(start, end, [f"{who}: {lines[0]}", *lines[1:]] if who else lines)
            for who, (start, end, lines) in zip(labels, transcript.cues)]


def no_arrow(cues):
    return [(s, e, [re.sub("-{2,}>", "->", line) for line in lines]) for s, e, lines in cues]


def joined(cues):
    return [(s, e, loose(" ".join(lines))) for s, e, lines in cues]


def hundredths(cues):
    return [((s + 5) // 10 * 10, (e + 5) // 10 * 10, text) for s, e, text in cues]


def ms(hours, minutes, seconds, thousandths):
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(thousandths)


def srt_cues(text):
    clock = r"(\d+):(\d\d):(\d\d),(\d{3})"
    found = re.findall(rf"^\d+\n{clock} --> {clock}\n(.*?)(?:\n\n|\Z)", text, re.S | re.M)
    return [(ms(*f[:4]), ms(*f[4:8]), f[8]) for f in found]


def by_pysrt(path):
    import pysrt
    items = pysrt.open(str(path), encoding="utf-8")
    check([item.index for item in items] == list(range(1, len(items) + 1)), f"{path.name}: numbers")
    return [(item.start.ordinal, item.end.ordinal, item.text.split("\n")) for item in items]


def by_webvtt(path, read):
    raw = path.suffix == ".sbv"  # which has no tags to take out
    clocks = [(re.split("[:.]", c.start), re.split("[:.]", c.end), (c.raw_text if raw else c.text).split("\n"))
              for c in read(str(path))]
    return [(ms(*start), ms(*end), text) for start, end, text in clocks]


def by_pycaption(path, reader):
    import warnings
    import pycaption
    warnings.simplefilter("ignore")  # about how it reads XML
    content = path.read_text(encoding="utf-8")
    captions = getattr(pycaption, reader)().read(content)
    language = captions.get_languages()[0]
    return [(round(c.start / 1000), round(c.end / 1000), loose(c.get_text())) for c in captions.get_captions(language)]


def by_ffmpeg(path):
    """[(start, end, text)] by way of libavformat and libavcodec, as SRT."""
    ran = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "srt", "-"], capture_output=True, text=True)
    check(ran.returncode == 0 and not ran.stderr, f"ffmpeg reads {path.name}: {ran.stderr.strip()}")
    return [(s, e, loose(re.sub("<[^>]*>", "", t))) for s, e, t in srt_cues(ran.stdout)]


def without_signs(cues, plain):
    """Where ffmpeg writes texts as SRT, some signs change: there the times must do."""
    return [(s, e, "" if re.search(r"[<{\\]", true) else t) for (s, e, t), (_, _, true) in zip(cues, plain)]


def by_ffprobe(path):
    """[(start, text)] of the packets of a file."""
    ran = subprocess.run(["ffprobe", "-v", "error", "-show_packets", "-show_data", "-of", "json", path], capture_output=True,
                         text=True, check=True)
    return [round(float(p["pts_time"]) * 1000) for p in json.loads(ran.stdout)["packets"]]


def by_ttconv(path):
    import ttconv.imsc.reader
    import ttconv.srt.writer
    import xml.etree.ElementTree as tree
    model = ttconv.imsc.reader.to_model(tree.parse(path))
    return re.sub("</?font[^>]*>", "", ttconv.srt.writer.from_model(model)) if "<p " in path.read_text() else ""


def check_cues(transcript, file):
    import webvtt
    name, cues, plain = transcript.name, spoken(transcript), joined(spoken(transcript))
    same(by_pysrt(file("srt")), no_arrow(cues), f"{name}.srt by pysrt")
    same([(s, e, [html.unescape(t) for t in x]) for s, e, x in by_webvtt(file("vtt"), webvtt.read)], cues,
         f"{name}.vtt by webvtt-py")
    same(by_webvtt(file("sbv"), webvtt.from_sbv) if cues else [], no_arrow(cues), f"{name}.sbv by webvtt-py")
    if cues:  # ffmpeg takes no file without a byte
        same([(s, e) for s, e, _ in by_ffmpeg(file("srt"))], [(s, e) for s, e, _ in cues], f"{name}.srt by ffmpeg")
        same(without_signs(by_ffmpeg(file("vtt")), plain), without_signs(plain, plain), f"{name}.vtt by ffmpeg")
        same(by_pycaption(file("vtt"), "WebVTTReader"), plain, f"{name}.vtt by pycaption")
        same(by_pycaption(file("ttml"), "DFXPReader"), plain, f"{name}.ttml by pycaption")
    same([(s, e, loose(t)) for s, e, t in ttml_cues(file("ttml"))], plain, f"{name}.ttml by ttconv")
    check_ass(transcript, file)
    check_lrc(transcript, file)


def ttml_cues(path):
    return srt_cues(by_ttconv(path))


def check_ass(transcript, file):
    import pysubs2
    cues = hundredths(joined(spoken(transcript)))
    same([(s, e) for s, e, _ in by_ffmpeg(file("ass"))] if cues else [], [(s, e) for s, e, _ in cues],
         f"{transcript.name}.ass by ffmpeg")
    if transcript.name == "late":
        return  # pysubs2 takes two digits of hours, libass and ffmpeg any number
    read = pysubs2.load(str(file("ass")), encoding="utf-8")
    check("Default" in read.styles, f"{transcript.name}.ass: styles")
    found = [(e.start, e.end, loose(e.text.replace(r"\N", " ").replace(r"\{", "{").replace(r"\}", "}"))) for e in read.events]
    same(found, cues, f"{transcript.name}.ass by pysubs2")


def check_lrc(transcript, file):
    import pylrc
    cues = hundredths(joined(spoken(transcript)))
    lines = [line for line in pylrc.parse(file("lrc").read_text(encoding="utf-8")) if line.text.strip()]
    if all(end < 100 * 60000 for _, end, _ in cues):  # it takes two digits of minutes
        same([(round(line.time * 1000), loose(line.text)) for line in lines], [(s, t) for s, _, t in cues],
             f"{transcript.name}.lrc by pylrc")
    if cues:
        starts = [s for s in by_ffprobe(file("lrc"))]
        check(set(s for s, _, _ in cues) <= set(starts), f"{transcript.name}.lrc by ffmpeg")


class Page(html.parser.HTMLParser):
    """oTranscribe's: a time and a text in each paragraph."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.in_time = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "p":
            self.rows.append([None, ""])
        self.in_time = tag == "span"
        if self.in_time:
            self.rows[-1][0] = round(float(dict(attributes)["data-timestamp"]) * 1000)

    def handle_endtag(self, tag):
        self.in_time = self.in_time and tag != "span"

    def handle_data(self, data):
        if not self.in_time:
            self.rows[-1][1] += data


def check_tables(transcript, file):
    name, cues, plain = transcript.name, joined(transcript.cues), joined(spoken(transcript))
    rows = list(csv.DictReader(file("csv").open(encoding="utf-8", newline="")))
    same([(int(r["start"]), int(r["end"]), loose(r["text"])) for r in rows], cues, f"{name}.csv")
    if any(s.get("speaker") for s in transcript.segments):
        same([r["speaker"] for r in rows], [s["speaker"] for s in transcript.segments], f"{name}.csv: speakers")
    rows = list(csv.DictReader(file("tsv").open(encoding="utf-8", newline=""), delimiter="\t", quoting=csv.QUOTE_NONE))
    same([(int(r["start"]), int(r["end"]), loose(r["text"])) for r in rows], cues, f"{name}.tsv")
    rows = list(csv.reader(file("aud").open(encoding="utf-8", newline=""), delimiter="\t", quoting=csv.QUOTE_NONE))
    same([(round(float(r[0]) * 1000), round(float(r[1]) * 1000), loose(r[2])) for r in rows], plain, f"{name}.aud")
    lines = file("txt").read_text(encoding="utf-8").split("\n")[:-1]
    same([loose(line) for line in lines], [t for _, _, t in plain], f"{name}.txt")
    page = json.loads(file("otr").read_text(encoding="utf-8"))
    check(page["media"] == transcript.json["audio"], f"{name}.otr: media")
    same([(s, loose(t)) for s, t in Page(page["text"]).rows], [(s, t) for s, _, t in plain], f"{name}.otr")


def check_textgrid(transcript, file):
    import parselmouth
    import textgrid
    read = parselmouth.Data.read(str(file("TextGrid")))
    tiers = textgrid.TextGrid.fromFile(str(file("TextGrid")))
    words = [t for t in tiers if t.name.endswith("words")]
    check(read.class_name == "TextGrid" and len(tiers) == 2 * len(words), f"{transcript.name}.TextGrid: tiers")
    spoken_parts = [part for _, _, lines in transcript.cues for part in " ".join(lines).split()]
    found = [part for t in words for i in t for part in i.mark.split()]
    same(sorted(found), sorted(spoken_parts), f"{transcript.name}.TextGrid: words")
    if len(words) == 1 and transcript.cues:
        call = parselmouth.praat.call
        intervals = [[call(read, f"Get {what} of interval", 1, i) for what in ("start time", "end time", "label")]
                     for i in range(1, call(read, "Get number of intervals", 1) + 1)]
        same([(round(s * 1000), round(e * 1000), loose(t)) for s, e, t in intervals if t], joined(transcript.cues),
             f"{transcript.name}.TextGrid by Praat")


def check_nist(transcript, file, folder):
    """By NIST's own validators, and by its scorer, which finds no error where text and words say the same."""
    rttm = file("rttm").read_text()
    speakers = {line.split()[7] for line in rttm.splitlines()}  # whose kinds NIST wants told, and nobody else
    info = "".join(f"SPKR-INFO {transcript.name} 1 <NA> <NA> <NA> unknown {who} <NA> <NA>\n" for who in speakers)
    file("rttm").with_suffix(".nist.rttm").write_text(info + rttm)
    for kind in ("ctm", "stm", "nist.rttm"):
        if transcript.name not in ("letters", "empty", "blank"):
            continue  # they want letters alone
        validator = SCTK / f"{kind.split('.')[-1]}Validator.pl"
        ran = subprocess.run(["perl", validator, "-i", file(kind)], capture_output=True, text=True)
        check(ran.returncode == 0 and not re.search("error|invalid", ran.stdout + ran.stderr, re.I),
              f"{transcript.name}.{kind} by NIST's validator: {(ran.stdout + ran.stderr).strip()[:300]}")
    if transcript.name not in ("letters", "speakers", "rounded"):  # the scorer takes signs in the nasty ones for its own
        return
    ran = subprocess.run([SCTK / "sclite", "-r", file("stm"), "stm", "-h", file("ctm"), "ctm", "-o", "rsum", "stdout"],
                         capture_output=True, text=True, cwd=folder)
    total = re.search(r"\| *Sum.*", ran.stdout)
    words = sum(len(" ".join(lines).split()) for _, _, lines in transcript.cues)
    check(total and re.findall(r"\d+", total[0])[:8] == [str(n) for n in (len(transcript.cues), words, words, 0, 0, 0, 0, 0)],
          f"{transcript.name}: sclite says {total[0] if total else ran.stdout + ran.stderr}")


def brightness(path, seconds, rate):
    """Of each picture that libass makes, black ones have 0."""
    ran = subprocess.run(["ffmpeg", "-v", "warning", "-f", "lavfi", "-i", f"color=black:s=640x360:r={rate}:d={seconds}", "-vf",
                          f"ass={path.name},format=gray", "-f", "rawvideo", "-"], capture_output=True, cwd=path.parent)
    check(ran.returncode == 0, f"libass draws {path.name}: {ran.stderr.decode()}")
    size = 640 * 360
    return [sum(b for b in ran.stdout[i:i + size] if b > 40) for i in range(0, len(ran.stdout), size)]


def check_drawn(transcript, program, folder):
    """Every cue is seen while it should be, and none where there is none; words light up one after the other."""
    file = transcript.write(program, folder, "--style", "whisper")
    light = brightness(file("ass"), 46, 2)
    for start, end, lines in transcript.cues:
        if re.search(r"[^\x00-\x7f]", "".join(lines)):
            continue  # a font for it may be missing
        check(light[int((start + end) / 1000)] > 0, f"libass shows {lines!r}")
        check(start % 500 == 0 or light[int(start / 500)] == 0,
              f"libass shows nothing before {lines!r}")
    one = Transcript("karaoke", [segment(1, 4, "one two three")])
    file = one.write(program, folder, "--style", "whisper", "--karaoke")
    light = brightness(file("ass"), 4, 2)
    check(0 < light[2] < light[5] < light[7], f"libass lights up word after word: {light}")


def check_karaoke(program, folder):
    import pysubs2
    import webvtt
    one = Transcript("words", [segment(10, 14, "one <two> three & four"), segment(15, 16.0149, "five six")])
    file = one.write(program, folder, "--style", "whisper", "--karaoke")
    same(by_webvtt(file("vtt"), webvtt.read)[0][2], ["one &lt;two&gt; three &amp; four"], "words.vtt by webvtt-py")
    plain = joined(one.cues)
    same(without_signs(by_ffmpeg(file("vtt")), plain), without_signs(plain, plain), "words.vtt by ffmpeg")
    check("one <00:10.800>&lt;two&gt;" in file("vtt").read_text(), "words.vtt: times")
    for event in pysubs2.load(str(file("ass")), encoding="utf-8").events:
        lengths = [int(n) * 10 for n in re.findall(r"\\k(\d+)", event.text)]
        check(sum(lengths) == event.end - event.start, f"words.ass: {event.text} lasts as long as its words")
    check("[00:10.00]<00:10.00>one <00:10.80><two> <00:11.60>three" in file("lrc").read_text(), "words.lrc: enhanced")
    same(ttml_cues(file("ttml"))[-1][2].split(), ["five", "six"], "words.ttml: the last word comes last")
    check(ttml_cues(file("ttml"))[1][:2] == (10800, 11600), "words.ttml by ttconv: words appear in turn")


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    packages, stamp = folder / "packages", folder / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
        shutil.rmtree(packages, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", "--target"]
        ran = subprocess.run([*pip, packages, *PACKAGES], capture_output=True, text=True)
        if ran.returncode != 0:
            print(ran.stderr)
            return 77 if re.search("connection|resolve|timed out", ran.stderr, re.I) else 1
        stamp.write_text(" ".join(PACKAGES))
    sys.path.insert(0, str(packages))
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    for transcript in transcripts():
        file = transcript.write(program, files, "--style", "whisper")
        check_cues(transcript, file)
        check_tables(transcript, file)
        check_textgrid(transcript, file)
        check_nist(transcript, file, files)
    check_karaoke(program, files)
    check_drawn(transcripts()[0], program, files)
    print(f"{len(failures)} failures in {len(FORMATS.split(','))} formats")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
