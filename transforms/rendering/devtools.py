"""Headless Chromium without network access, controlled through a pipe.

The Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/), as JSON ended by zero bytes.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque
from typing import Any

_FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad"),
    *("--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--blink-settings=imagesEnabled=false"),
    # Frames run in the process of their page, so that their requests are intercepted there.
    *("--disable-features=IsolateOrigins,site-per-process", "--disable-site-isolation-trials"),
    # Requests that are not intercepted go to a proxy port without a listener: DNS, loopback and UDP included.
    *("--proxy-bypass-list=<-loopback>", "--webrtc-ip-handling-policy=disable_non_proxied_udp"),
)
_PIPES = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'  # file descriptors: the browser reads from 3 and writes to 4
_GRACE = 2.0  # seconds for an orderly exit
_PIECE = 1 << 20

Message = dict[str, Any]


class BrowserError(Exception):
    """The browser exited, did not answer in time, or rejected a command."""


class Browser:
    """A running browser, used by one thread; `kill` may be called from another."""

    def __init__(self, program: str) -> None:
        self._proxy = socket.socket()
        self._proxy.bind(("127.0.0.1", 0))  # reserves the port without listening
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        words = [program, *_FLAGS, f"--user-data-dir={self._profile.name}"]
        words.append(f"--proxy-server=http://127.0.0.1:{self._proxy.getsockname()[1]}")
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # Chromium has no sandbox for root
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _PIPES, "sh", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._data = b""
        self._last = 0
        self._events: deque[Message] = deque()

    def send(self, method: str, session: str | None = None, **parameters: Any) -> int:
        """Send a command; returns its id, which is also the id of its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        assert self._process.stdin
        try:
            left = memoryview(json.dumps(message).encode() + b"\0")
            while left:
                left = left[self._process.stdin.write(left) :]
        except OSError as error:
            raise BrowserError("the browser has exited") from error
        return self._last

    def call(self, ends_at: float, method: str, session: str | None = None, **parameters: Any) -> Message:
        """Send a command and wait for its result; events that arrive first are queued for `event`."""
        number = self.send(method, session, **parameters)
        while (message := self._receive(ends_at)) and message.get("id") != number:
            self._events.append(message)
        if message is None:
            raise BrowserError("the browser timed out")
        if "error" in message:
            raise BrowserError(f"{method}: {message['error'].get('message')}")
        result: Message = message["result"]
        return result

    def event(self, ends_at: float) -> Message | None:
        """The next event, or result of a command sent with `send`; None if none arrives by `ends_at`."""
        return self._events.popleft() if self._events else self._receive(ends_at)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop the browser, and remove its profile."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()  # makes the browser exit
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._process.stdout.close()
        self._proxy.close()
        self._profile.cleanup()

    def _receive(self, ends_at: float) -> Message | None:
        """The next message; None if none arrives by `ends_at` (monotonic clock)."""
        assert self._process.stdout
        pieces = [self._data]
        while b"\0" not in pieces[-1]:
            if not select.select([self._process.stdout], [], [], max(0.0, ends_at - time.monotonic()))[0]:
                self._data = b"".join(pieces)
                return None
            if not (piece := self._process.stdout.read(_PIECE)):
                raise BrowserError("the browser has exited")
            pieces.append(piece)
        text, _, self._data = b"".join(pieces).partition(b"\0")
        message: Message = json.loads(text)
        return message
