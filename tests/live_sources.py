"""What `sotto live` listens to: a pipe; without a sound card an ALSA device that plays a file, and a PulseAudio server of
this test's own, whose microphone hears a sink and is unplugged in the middle. And what it says of itself.

usage: live_sources.py PROGRAM [--timed]      needs the model base; 77: there is no ALSA or PulseAudio to be had
--timed: also what is heard in its own time, and so depends on how busy the machine is
"""
import difflib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLIP = pathlib.Path("/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav")
SAID = "and mr john dashwood had then leisure to consider how much there might be prudently in his power to do for them"

# A device that plays a clip, in the time of the one below it. (PortAudio 19.6 aborts where every device can be opened.)
CLIP_DEVICE = """
pcm.clip {{
  type file
  slave.pcm "{below}"
  file "/dev/null"
  infile "{clip}"
  format "raw"
  hint {{ show on description "a clip" }}
}}
pcm.missing {{ type hw card 31 }}
"""
SILENT = "pcm.silent { type null }"  # gives silence as fast as it is asked for
SERVER = """
pcm.server { type pulse hint { show on description "PulseAudio" } }
pcm.!default { type pulse }
ctl.!default { type pulse }
"""


def words(text):
    return re.sub(r"[^a-z ]", " ", text.lower()).split()


def share_found(text, said=SAID):
    """Of the words that were said, the share that stands in a text in their order."""
    said = words(said)
    blocks = difflib.SequenceMatcher(None, said, words(text), autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(said)


class Live:
    """`sotto live`, until stop()."""

    def __init__(self, program, environment, arguments, stdin=subprocess.DEVNULL):
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name, "out")
        self.err = pathlib.Path(self.folder.name, "err")
        self.process = subprocess.Popen(
            [program, "live", "-m", "base", "--language", "en", "--offline", *arguments], env=environment,
            stdin=stdin, stdout=self.out.open("w"), stderr=self.err.open("w"))

    def await_line(self, pattern, patience_s=60):
        """Waits for what it says on standard error."""
        end = time.monotonic() + patience_s
        while not re.search(pattern, self.err.read_text()):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f"'{pattern}' did not come:\n{self.err.read_text()}")
            time.sleep(0.1)

    def stop(self, how=signal.SIGINT):
        """Ctrl-C, which is how it ends; gives what was printed."""
        self.process.send_signal(how)
        if self.process.wait(timeout=60) != 0:
            sys.exit(f"it ended with {self.process.returncode}:\n{self.err.read_text()}")
        return self.out.read_text()


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")
    print("ok:", what)


def raw_clip(folder):
    """The clip as it is read from a device that can give any format: 44.1 kHz, floats, two channels; half a second of
    silence before it."""
    raw = folder / "clip.raw"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", CLIP, "-af", "adelay=500,apad=pad_dur=30", "-ac", "2", "-ar", "44100",
                    "-f", "f32le", raw], check=True)
    return raw


def test_alsa(program, folder):
    config = folder / "alsa.conf"
    config.write_text(SILENT + CLIP_DEVICE.format(clip=raw_clip(folder), below="silent"))
    environment = {**os.environ, "ALSA_CONFIG_PATH": str(config)}
    listed = subprocess.run([program, "devices"], env=environment, capture_output=True, text=True)
    if "clip" not in listed.stdout:
        return f"PortAudio does not list ALSA devices here: {listed.stdout}{listed.stderr}"
    check(listed.returncode == 0 and listed.stderr == "", "devices are listed, and nothing else is printed")
    wrong = subprocess.run([program, "live", "--mic", "nobody", "--offline"], env=environment, capture_output=True, text=True)
    check(wrong.returncode == 1 and "'clip'" in wrong.stderr, "a microphone that isn't there is told, with those that are")
    live = Live(program, environment, ["--mic", "clip"])  # far faster than anybody can listen
    live.await_line("sound was lost")
    live.stop()
    check(live.err.read_text().count("sound was lost") == 1, "an overrun is survived, and told once")
    return None


class Pulse:
    """A PulseAudio server with a sink whose monitor is the only microphone."""

    def __init__(self, folder):
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        config = folder / "asound.conf"
        config.write_text(SERVER + CLIP_DEVICE.format(clip=raw_clip(folder), below="server"))
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PULSE_RUNTIME_PATH": str(runtime),
                            "PULSE_STATE_PATH": str(runtime), "PULSE_SERVER": f"unix:{runtime}/native",
                            "ALSA_CONFIG_PATH": f"/usr/share/alsa/alsa.conf:{config}"}
        self.process = subprocess.Popen(
            ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--disallow-exit", "--use-pid-file=no",
             "-L", f"module-native-protocol-unix auth-anonymous=1 socket={runtime}/native"],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if self.control("info").returncode == 0:
                return
            time.sleep(0.1)
        self.stop()
        raise OSError("pulseaudio does not start")

    def control(self, *words):
        return subprocess.run(["pactl", *words], env=self.environment, capture_output=True, text=True)

    def plug_in(self):
        module = self.control("load-module", "module-null-sink", "sink_name=room").stdout.strip()
        self.control("set-default-source", "room.monitor")
        return module

    def play(self):
        subprocess.run(["paplay", "--latency-msec=60", "--device=room", CLIP], env=self.environment, check=True)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


def test_pulse(program, folder):
    if not shutil.which("pulseaudio") or not shutil.which("paplay"):
        return "there is no PulseAudio"
    try:
        pulse = Pulse(folder)
    except OSError as error:
        return str(error)
    try:
        module = pulse.plug_in()
        live = Live(program, pulse.environment, [])
        live.await_line("base on")
        pulse.play()
        time.sleep(2)
        pulse.control("unload-module", module)
        live.await_line("has gone")
        print("ok: an unplugged microphone is told")
        pulse.plug_in()
        live.await_line("is there again")
        print("ok: one that is plugged in again is told")
        pulse.play()
        time.sleep(2)
        text = live.stop()
        check(share_found(text, SAID + " " + SAID) > 0.85, f"what was said before and after is heard: {text.strip()}")
        live = Live(program, pulse.environment, ["--mic", "clip"])
        live.await_line("base on")
        end = time.monotonic() + 40  # it lasts for 7.6 s
        while share_found(live.out.read_text()) < 0.95 and time.monotonic() < end:
            time.sleep(0.1)
        text = live.stop()
        check(share_found(text) > 0.85, f"an ALSA device that plays a clip is heard: {text.strip()}")
    finally:
        pulse.stop()
    return None


def test_pipe(program, folder):
    """A pipe that stays open, and all of it once more at its end."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", CLIP, "-af", "apad=pad_dur=2", "-f", "s16le", "-"], check=True,
                         capture_output=True).stdout
    reading, writing = os.pipe()
    live = Live(program, dict(os.environ), ["-", "--raw", "s16le:16000:1", "--refine"], stdin=reading)
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(raw)
        pipe.flush()
        end = time.monotonic() + 60
        while share_found(live.out.read_text()) < 0.85 and time.monotonic() < end:
            time.sleep(0.1)
        check(share_found(live.out.read_text()) > 0.85, "a pipe is heard while it is open")
    check(live.process.wait(timeout=60) == 0, "it ends with the pipe")
    check(share_found(live.out.read_text(), SAID + " " + SAID) > 0.9, "what was heard is transcribed once more at the end")
    return None


def test_ends(program, folder):
    """However it is told to end, and whatever its pipe does then."""
    sound = subprocess.run(["ffmpeg", "-v", "error", "-i", CLIP, "-t", "3", "-f", "s16le", "-"], check=True,
                           capture_output=True).stdout
    raw = ["--raw", "s16le:16000:1"]
    for how, arguments, written in ((signal.SIGINT, [], b""), (signal.SIGHUP, [], b"RIFF"), (signal.SIGTERM, raw, sound)):
        reading, writing = os.pipe()
        jsonl = folder / f"{how.name}.jsonl"
        live = Live(program, dict(os.environ), ["-", *arguments, "--jsonl", str(jsonl)], stdin=reading)
        os.close(reading)
        os.write(writing, written)
        live.await_line("base on")
        time.sleep(0.3)
        start = time.monotonic()
        text = live.stop(how)
        check(time.monotonic() - start < 20, f"{how.name} ends it though its pipe is silent and open")
        events = [json.loads(line) for line in jsonl.read_text().splitlines()]
        check(events[-1]["event"] == "end", f"{how.name} closes the files")
        os.close(writing)
    check(share_found(text, "and mr john dashwood had then") > 0.6, f"the last words are said: {text.strip()}")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    live = Live(program, dict(os.environ), [str(pipe)])
    live.await_line("base on")
    live.stop()
    print("ok: a pipe that nobody has opened is let go of")


def test_silence(program, folder):
    """With the real networks: neither digital silence nor a faint noise is a word."""
    for name, sound in (("silence", "anullsrc=r=16000:cl=mono"), ("noise", "anoisesrc=r=16000:c=pink:a=0.01")):
        clip = folder / f"{name}.wav"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", sound, "-t", "40", clip], check=True)
        done = subprocess.run([program, "live", "--realtime", clip, "--speed", "40", "--offline", "--quiet", "--jsonl", "-"],
                              capture_output=True, text=True)
        events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        check(done.returncode == 0 and events == ["end"], f"40 s of {name} give nothing {done.stderr}")


def test_evaluation(program, folder):
    clip = folder / "clip.wav"
    shutil.copy(CLIP, clip)
    (folder / "clip.txt").write_text(SAID.replace("mr", "Mr."))
    done = subprocess.run([program, "live", "--evaluate", clip, "--clock", "computing", "--language", "en", "--offline",
                           "--json"],
                          capture_output=True, text=True)
    check(done.returncode == 0, f"a clip with its text beside it is evaluated {done.stderr}")
    figures = json.loads(done.stdout)
    check(figures["wer_file"] == 0 and figures["wer_live"] <= 10, f"right words are told from wrong ones: {figures}")
    check(0 < figures["commit_delay_p50_s"] < 10 and figures["committed_changes"] == 0, "delays are measured")
    return None


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    skipped = []
    timed = (test_evaluation, test_pulse) if "--timed" in sys.argv[2:] else ()
    for test in (test_pipe, test_ends, test_silence, test_alsa, *timed):
        with tempfile.TemporaryDirectory() as folder:
            skipped.append(test(program, pathlib.Path(folder)))
    for reason in filter(None, skipped):
        print("skipped:", reason)
    sys.exit(77 if any(skipped) else 0)


main()
