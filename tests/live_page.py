"""The captions' page in a real browser: headless Chromium, driven by its debugging pipe.

usage: live_page.py REPLAY_CAPTIONS [--screenshots FOLDER]      ends with status 77 where there is no Chromium
"""
import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 15


class Browser:
    """Chromium's debugging protocol: messages of JSON through two pipes, each ended by a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                 "--window-size=1280,720", "about:blank"]
        command = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        self.process = subprocess.Popen(["bash", "-c", command, program, *flags], pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.pending, self.number = b"", 0

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.pending:
                part = os.read(self.input, 1 << 20)
                if not part:
                    raise RuntimeError("Chromium has ended")
                self.pending += part
            answer, self.pending = self.pending.split(b"\0", 1)
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def close(self):
        self.process.terminate()
        self.process.wait()


class Page:
    def __init__(self, browser, url):
        self.browser = browser
        target = browser.call("Target.createTarget", url=url)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.call("Emulation.setDefaultBackgroundColorOverride", self.session, color={"r": 0, "g": 0, "b": 0, "a": 0})

    def run(self, script):
        result = self.browser.call("Runtime.evaluate", self.session, expression=script, returnByValue=True,
                                   awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def expect(self, script, wanted):
        """Waits until the script gives what is wanted."""
        until, seen = time.monotonic() + PATIENCE_S, None
        while time.monotonic() < until:
            seen = self.run(script)
            if seen == wanted:
                return
            time.sleep(0.05)
        raise AssertionError(f"{script}: {seen!r}, not {wanted!r}")

    def screenshot(self, path):
        image = self.browser.call("Page.captureScreenshot", self.session, format="png")["data"]
        path.write_bytes(base64.b64decode(image))


COMMITTED = "[...document.querySelectorAll('.committed')].map(s => s.textContent)"
TAIL = "[...document.querySelectorAll('.tail')].map(s => s.textContent).join('')"
STATE = "document.body?.dataset.state"  # there is no body until the page has come
STYLE = "getComputedStyle(%s)['%s']"


class Captions:
    """replay_captions with a server."""

    def __init__(self, program, address):
        self.process = subprocess.Popen([program, f"serve={address}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stderr.readline().strip()

    def say(self, **call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def check_text(page, captions):
    page.expect(STATE, "connected")
    captions.say(heard=2, committed="Good morning <b>and", tail="welcome to")
    page.expect(COMMITTED, [" Good morning <b>and"])
    page.expect(TAIL, " welcome to")
    page.expect("document.querySelectorAll('b').length", 0)  # text is text
    captions.say(heard=3, committed="welcome", tail="")
    page.expect(COMMITTED, [" Good morning <b>and welcome"])
    page.expect(TAIL, "")
    captions.say(heard=4, committed="everyone.", ends=True)
    captions.say(heard=5, tail="A second")
    page.expect(COMMITTED, [" Good morning <b>and welcome everyone.", ""])
    page.expect(TAIL, " A second")
    captions.say(heard=6, tail="")
    page.expect(TAIL, "")


def check_look(browser, page, captions):
    page.expect(STYLE % ("document.body", "background-color"), "rgba(0, 0, 0, 0)")
    page.expect(STYLE % ("document.documentElement", "background-color"), "rgba(0, 0, 0, 0)")
    page.expect(STYLE % ("document.querySelector('.tail')", "opacity"), "0.65")
    for i in range(12):
        captions.say(heard=7 + i, committed=f"Sentence {i} is one of twelve that fill more than the lines there are, far more.",
                     ends=i % 3 == 2)
    last = "document.querySelector('#captions').lastElementChild.textContent.includes('Sentence 11')"
    page.expect(last, True)
    # What is seen: so many whole lines, and the last one at the bottom of them.
    lines = ("(() => { const box = document.querySelector('#captions').getBoundingClientRect();"
             "  const text = document.querySelector('#captions').lastElementChild.getBoundingClientRect();"
             "  return [Math.round(box.height), Math.round(box.bottom - text.bottom)]; })()")
    page.expect(lines, [round(2 * 1.3 * 48), 0])
    other = Page(browser, captions.url + "?size=30&lines=3&columns=20&color=yellow&background=rgba(0,0,0,0.5)&align=center"
                 "&tail=0&top=1")
    other.expect(STATE, "connected")
    other.expect(last, True)  # it came late, and has what was said before
    other.expect(lines, [round(3 * 1.3 * 30), 0])
    other.expect(STYLE % ("document.querySelector('.committed')", "color"), "rgb(255, 255, 0)")
    other.expect(STYLE % ("document.querySelector('.committed')", "background-color"), "rgba(0, 0, 0, 0.5)")
    other.expect("document.querySelector('#captions').getBoundingClientRect().top < 40", True)
    captions.say(heard=20, tail="not to be seen")
    page.expect(TAIL, " not to be seen")
    other.expect(TAIL, "")
    return other


def check_hiding(browser, captions):
    gone = "document.querySelector('#captions').classList.contains('gone')"
    page = Page(browser, captions.url + "?hold=1.5")
    page.expect(STATE, "connected")
    captions.say(heard=21, committed="Soon gone.", ends=True)
    page.expect(gone, False)
    page.expect(gone, True)
    captions.say(heard=22, tail="Again")
    page.expect(gone, False)
    captions.say(heard=23, committed="Again.", ends=True)
    captions.say(heard=500, level=-90)  # a long silence
    late = Page(browser, captions.url)
    late.expect(STATE, "connected")
    late.expect(gone, True)  # nobody wants to see what was said minutes ago


def check_strangers(browser, captions):
    """Another page of this browser may not listen."""
    script = ("new Promise(done => { const socket = new WebSocket('%s/events');"
              " socket.onopen = () => done('heard'); socket.onerror = () => done('refused'); })")
    address = captions.url.replace("http", "ws").rstrip("/")
    stranger = Page(browser, "data:text/html,<p>elsewhere")
    stranger.expect("document.readyState", "complete")
    assert stranger.run(script % address) == "refused"
    assert Page(browser, captions.url).run("document.readyState") is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium or subprocess.run([chromium, "--version"], capture_output=True).returncode != 0:
        print("skipped: Chromium is not here")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        captions = Captions(arguments.program, "127.0.0.1:0")
        browser = Browser(chromium, profile)
        try:
            page = Page(browser, captions.url)
            check_text(page, captions)
            other = check_look(browser, page, captions)
            if arguments.screenshots:
                arguments.screenshots.mkdir(parents=True, exist_ok=True)
                page.screenshot(arguments.screenshots / "page.png")
                other.screenshot(arguments.screenshots / "other.png")
            check_hiding(browser, captions)
            check_strangers(browser, captions)
            address = captions.url.split("//")[1].rstrip("/")
            captions.close()
            page.expect(STATE, "connecting")
            captions = Captions(arguments.program, address)  # the program is started again; the page stays
            captions.say(heard=1, committed="Here again.", ends=True)
            page.expect(COMMITTED, [" Here again."])
        finally:
            captions.process.kill()
            browser.close()
    print("the page shows what it should")
    return 0


sys.exit(main())
