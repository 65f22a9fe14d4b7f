"""A real browser, driven over a pipe with its own protocol: no driver and no package is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Tab:
    """One page; everything that goes wrong in it and everything it asks for is kept."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._buffer = b""
        self._number = 0
        self.session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _next(self, seconds: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            assert left > 0, "the browser does not answer"
            ready, _, _ = select.select([self._reading], [], [], left)
            if ready:
                piece = os.read(self._reading, 1 << 20)
                assert piece, "the browser has gone"
                self._buffer += piece
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, dark=dark)
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._next()

    def resize(self, width: int, *, height: int = 900, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(program: str) -> Iterator[Tab]:
    """A browser with a fresh profile; it is ended and its profile removed in any case."""
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        started = _start([program, *FLAGS, f"--user-data-dir={profile}"], from_us, to_us)
        tab = Tab(from_browser, to_browser)
        try:
            target = tab.call("Target.createTarget", url="about:blank")["targetId"]
            attached = tab.call("Target.attachToTarget", targetId=target, flatten=True)
            tab.session = attached["sessionId"]
            yield tab
        finally:
            os.close(to_browser)
            os.close(from_browser)
            os.kill(started, signal.SIGTERM)
            os.waitpid(started, 0)


def _start(words: list[str], reading: int, writing: int) -> int:
    """Start a program that reads from descriptor 3 and writes to 4; silent, and our ends closed."""
    # Out of the way first, so that neither is overwritten by the other.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (reading, writing)]
    actions = [
        (os.POSIX_SPAWN_DUP2, ends[0], 3),
        (os.POSIX_SPAWN_DUP2, ends[1], 4),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    started = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
    for end in (*ends, reading, writing):
        os.close(end)
    return started
