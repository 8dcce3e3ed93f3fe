"""Whether the page that `sotto view` writes works in a browser: a real Chromium, driven by its own protocol.

usage: view.py SOTTO FOLDER [SCREENSHOT.png]      FOLDER: for the files

Ends with 77 where there is no Chromium.
"""
import base64
import fcntl
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time
import wave

EVIL = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"> {{title}} <!--'
SECONDS = 12
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("failed:", what)


class Browser:
    """Chromium over two pipes: messages in JSON, each ended by a NUL."""

    def __init__(self, program, folder):
        to_browser, from_us = os.pipe()
        to_us, from_browser = os.pipe()
        high_in, high_out = fcntl.fcntl(to_browser, fcntl.F_DUPFD, 10), fcntl.fcntl(from_browser, fcntl.F_DUPFD, 10)
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{high_in} 4>&{high_out}; exec "$@"', "-", program, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--no-first-run", "--autoplay-policy=no-user-gesture-required", "--hide-scrollbars",
             "--window-size=1000,700", f"--user-data-dir={folder}/profile", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(high_in, high_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, high_in, high_out):
            os.close(end)
        self.out, self.into, self.number, self.rest = from_us, to_us, 0, b""
        self.session, self.events = None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def message(self):
        while b"\0" not in self.rest:
            block = os.read(self.into, 1 << 20)
            if not block:
                raise SystemExit("the browser ended")
            self.rest += block
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def __call__(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def js(self, expression):
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, what, seconds=20):
        for _ in range(seconds * 10):
            if self.js(f"!!({expression})"):
                return True
            time.sleep(0.1)
        check(False, what)
        return False

    def open(self, path):
        self.events.clear()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        self("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete' && document.querySelector('.word')", f"{path.name} opens")

    def click(self, selector):
        x, y = self.js(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                       "e.scrollIntoView({block: 'center'});"
                       "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.click_at(x, y)

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def key(self, key, text=""):
        self("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self("Input.dispatchKeyEvent", type="keyUp", key=key)

    def close(self):
        self.session = None
        try:
            self("Browser.close")
        except (SystemExit, OSError):
            pass
        self.process.wait(timeout=20)


def files(folder):
    """A tone in seconds 2 to 4 and 7 to 9, and a transcript of it."""
    sound = folder / "a tone & more.wav"
    with wave.open(str(sound), "wb") as out:
        out.setparams((1, 2, 16000, 0, "NONE", ""))
        loud = [2 <= i / 16000 < 4 or 7 <= i / 16000 < 9 for i in range(16000 * SECONDS)]
        out.writeframes(b"".join(struct.pack("<h", int(20000 * math.sin(i * 0.2)) if on else 0) for i, on in enumerate(loud)))

    def words(text, start, p):
        return [{"word": " " + part, "start": start + 0.5 * i, "end": start + 0.5 * i + 0.4, "probability": p - 0.2 * i}
                for i, part in enumerate(text.split(" "))]

    segments = [
        {"start": 2, "end": 4, "text": " The café's first tone", "speaker": "<b>Ann</b>",
         "words": words("The café's first tone", 2, 0.99)},
        {"start": 7, "end": 9, "text": " שלום עולם", "words": words("שלום עולם", 7, 0.9)},
        {"start": 9, "end": 11, "text": " " + EVIL, "words": [{"word": " " + EVIL, "start": 9, "end": 11, "probability": 0.1}]},
    ]
    coverage = [{"start": 0, "end": 2, "kind": "silence"}, {"start": 2, "end": 4, "kind": "transcribed"},
                {"start": 4, "end": 7, "kind": "failed"}, {"start": 7, "end": SECONDS, "kind": "transcribed"}]
    transcript = folder / "tone.json"
    transcript.write_text(json.dumps({"audio": sound.name, "language": "en", "model": "base", "duration": SECONDS,
                                      "segments": segments, "coverage": coverage}))
    return transcript


def check_page(browser, path, link):
    name = path.name
    browser.open(path)
    check(browser.js("typeof window.hacked") == "undefined", f"{name}: no text is taken for a script")
    check(browser.js("document.querySelectorAll('.segment img, .segment b').length") == 0, f"{name}: no text is taken for tags")
    check(browser.js("words[words.length - 1].element.textContent") == EVIL, f"{name}: the text is whole")
    check(browser.js("document.querySelector('.speaker').textContent") == "<b>Ann</b>:", f"{name}: who speaks")
    check(browser.js("document.title") == "a tone & more.wav", f"{name}: title")
    check(browser.wait("audio.readyState >= 1", f"{name}: the sound loads")
          and abs(browser.js("audio.duration") - SECONDS) < 0.1, f"{name}: the sound's length")

    shades = browser.js("words.slice(0, 4).map((w) => Number(getComputedStyle(w.element).backgroundColor.split(',')[3]"
                        ".slice(0, -1)))")
    check(all(a < b for a, b in zip(shades, shades[1:])), f"{name}: the less sure, the darker: {shades}")
    ink = browser.js("(() => { const c = wave.getContext('2d'), w = wave.width, h = wave.height;"
                     "const at = (s) => { const d = c.getImageData(Math.round(s / 12 * w), 0, 1, h).data; let n = 0;"
                     "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / h; };"
                     "return [1, 3, 5, 8, 11].map(at); })()")
    check(ink[1] > 0.5 and ink[3] > 0.5 and max(ink[0], ink[2], ink[4]) < 0.1, f"{name}: the waveform shows the tones: {ink}")
    colours = browser.js("[1, 3, 5, 11].map((s) => Array.from(coverage.getContext('2d').getImageData("
                         "Math.round(s / 12 * coverage.width), 3, 1, 1).data).join())")
    check(len(set(colours)) == 3 and colours[1] == colours[3], f"{name}: coverage: {colours}")
    check("speech without text 0:03.0" in browser.js("document.getElementById('legend').textContent"), f"{name}: legend")

    browser.click("[data-i='2']")
    check(browser.wait("!audio.paused && audio.currentTime >= 3", f"{name}: a click plays"), f"{name}: plays")
    check(browser.js("audio.currentTime") < 4.5, f"{name}: it plays from the word on")
    browser.wait("document.querySelector('.now')", f"{name}: the word is marked as it is spoken")
    browser.key(" ", " ")
    browser.wait("audio.paused", f"{name}: space pauses")
    browser.key("Home")
    browser.wait("audio.currentTime === 0", f"{name}: Home goes to the beginning")
    browser.key("ArrowRight")
    browser.wait("Math.abs(audio.currentTime - 5) < 0.01", f"{name}: the arrow goes on")
    x, y, w = browser.js("(() => { const b = wave.getBoundingClientRect(); return [b.x, b.y + b.height / 2, b.width]; })()")
    browser.click_at(x + w * 8 / 12, y)
    browser.wait("Math.abs(audio.currentTime - 8) < 0.1", f"{name}: a click on the waveform goes there")

    browser.key("/", "/")
    for letter in "cafe's first":
        browser.key(letter, letter)
    check(browser.js("Array.from(document.querySelectorAll('.found')).map((w) => w.textContent).join(' ')") == "café's first",
          f"{name}: search finds words whatever their accents")
    browser.key("Enter", "\r")
    check(browser.js("document.querySelector('.at').textContent") == "café's" and browser.js("document.getElementById('hits')"
          ".textContent") == "1 of 1", f"{name}: Enter goes to what is found")
    browser.key("Escape")
    browser.key("d", "d")
    check(browser.js("words[document.querySelector('.at').dataset.i].probability") < 0.5, f"{name}: d goes to a doubtful word")

    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    allowed = ("data:", "blob:", path.as_uri()) + (((path.parent / "a tone & more.wav").as_uri(),) if link else ())
    check(all(url.startswith(allowed) for url in asked), f"{name}: nothing else is asked for: {asked}")
    errors = [e["params"] for e in browser.events if e.get("method") in ("Runtime.exceptionThrown",)
              or (e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error")]
    check(not errors, f"{name}: no errors: {errors}")


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("there is no Chromium")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    transcript = files(folder)
    subprocess.run([program, "view", transcript, "-o", folder / "held.html", "--quiet"], check=True)
    subprocess.run([program, "view", transcript, "-o", folder / "linked.html", "--link", "--quiet"], check=True)
    page = (folder / "held.html").read_text(encoding="utf-8")
    check("http" not in page.replace("http: https:", "").replace("http-equiv", ""), "no address in the page")
    browser = Browser(chromium, folder)
    try:
        check_page(browser, folder / "held.html", False)
        check_page(browser, folder / "linked.html", True)
        if len(sys.argv) > 3:
            browser.open(folder / "held.html")
            picture = browser("Page.captureScreenshot")["data"]
            pathlib.Path(sys.argv[3]).write_bytes(base64.b64decode(picture))
    finally:
        browser.close()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
