# SPDX-License-Identifier: Apache-2.0
"""Chromium through its driver (WebDriver, plain HTTP), with nothing but Python's own library: what tests of
pages share."""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 120  # seconds, for what a busy machine does in one
failures = []


def expect(what, got, wanted):
    ok = got == wanted
    print(f"{'ok   ' if ok else 'FAIL '} {what}" + ("" if ok else f": {got!r}, not {wanted!r}"))
    if not ok:
        failures.append(what)


def expect_soon(what, get, wanted):
    """Of what the page does after the call that asked for it."""
    deadline = time.time() + PATIENCE
    while (got := get()) != wanted and time.time() < deadline:
        time.sleep(0.05)
    expect(what, got, wanted)


class Browser:
    """One session of Chromium."""

    def __init__(self, scratch):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(scratch, "driver.log"), "w")
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=self.log,
                                       stderr=self.log)
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--no-first-run",
                     "--force-device-scale-factor=1", "--hide-scrollbars",
                     f"--user-data-dir={scratch}/profile"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # it does not start as root otherwise
        capabilities = {"browserName": "chrome",
                        "goog:chromeOptions": {"args": arguments, "perfLoggingPrefs": {"enableNetwork": True}},
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            try:
                self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        else:
            raise SystemExit("chromedriver does not answer")
        self.base = f"/session/{self.session}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.read().decode()[:500]}") from error

    def js(self, script, *args):
        return self.call("POST", self.base + "/execute/sync", {"script": script, "args": list(args)})

    def cdp(self, command, **parameters):
        return self.call("POST", self.base + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path):
        self.call("POST", self.base + "/url", {"url": "file://" + path})

    def logs(self, kind):
        return self.call("POST", self.base + "/se/log", {"type": kind})

    def press(self, *keys):
        actions = [a for k in keys for a in ({"type": "keyDown", "value": k}, {"type": "keyUp", "value": k})]
        self.call("POST", self.base + "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def size(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=mobile)
        for _ in range(3):  # Chart.js redraws on the next frame
            self.js("return new Promise(done => requestAnimationFrame(done))")

    def picture(self, path):
        """Of the whole page: the window is made as high as it is."""
        width, height = self.js("return [innerWidth, document.documentElement.scrollHeight]")
        self.size(width, height, width < 600)
        self.window(path)

    def window(self, path):
        """Of what is in the window."""
        shot = self.cdp("Page.captureScreenshot")
        with open(path, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self.call("DELETE", self.base)
        finally:
            self.driver.terminate()
            self.driver.wait(PATIENCE)


def requests_of(browser):
    """Every address that was asked for, but for the page's own and what is inside it."""
    urls = []
    for entry in browser.logs("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.append(message["params"]["request"]["url"])
    return [u for u in urls if not u.startswith(("file:///", "data:", "blob:", "chrome:"))], \
        len([u for u in urls if u.startswith("file:///")])


def need_tools():
    """Ends the test where there is no browser: as skipped on Ubuntu, which has it as a snap only."""
    for tool in ("chromedriver", "chromium"):
        if not shutil.which(tool):
            ubuntu = "ID=ubuntu" in open("/etc/os-release").read()
            print(f"{tool} is missing" + (": Ubuntu has it as a snap only" if ubuntu else ""))
            sys.exit(77 if ubuntu else 1)


def finish(out):
    print(f"{len(failures)} failed; pictures are in {out}")
    sys.exit(1 if failures else 0)
