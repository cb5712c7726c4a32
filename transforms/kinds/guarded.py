"""Runs a parser in a process of its own, so that a crash, a hang or high memory use affects one document."""

import json
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from typing import IO, Any

BOUNDS, LENGTH = struct.Struct(">QddQ"), struct.Struct(">Q")
"""What stands before a body (its bytes, CPU seconds for its parts and in all, characters of its text), and before the
JSON of a result (its bytes)."""

# CPU time, so that what is read of a file does not depend on what else the machine does.
SECONDS = 20.0
"""CPU seconds for reading the parts of a file; parts read by then are kept."""

PATIENCE = 10.0
"""Additional seconds, because reading a single part cannot be interrupted."""

WAIT = 600.0
"""Seconds of real time, for a process that hangs without computing, or cannot limit its CPU time."""


class GuardedParser:
    """Reads bodies in a process that runs a module of this package, one after the other.

    `name` says in errors what the process is for. The process starts with the first body.
    """

    def __init__(
        self, module: str, name: str, seconds: float = SECONDS, patience: float = PATIENCE, wait: float = WAIT
    ) -> None:
        self._module, self._name = module, name
        self._seconds, self._patience, self._wait = seconds, seconds + patience, wait
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def read(self, body: bytes, max_text: int) -> dict[str, Any]:
        """The result for a body; ValueError with the reason if there is none. A failed or worn process is replaced."""
        with self._lock:
            found = self._read(body, max_text)
        if "error" in found:
            raise ValueError(found["error"])
        return found

    def _read(self, body: bytes, max_text: int) -> dict[str, Any]:
        process = self.process = self.process or self._start()
        ends_at = time.monotonic() + self._wait
        assert process.stdin and process.stdout
        try:
            process.stdin.write(BOUNDS.pack(len(body), self._seconds, self._patience, max_text) + body)
            process.stdin.flush()
            (length,) = LENGTH.unpack(_receive(process.stdout, LENGTH.size, ends_at))
            found: dict[str, Any] = json.loads(_receive(process.stdout, length, ends_at))
            if found["is_worn"]:
                self._end(process)
            return found
        except (OSError, EOFError) as error:
            self._end(process)
            is_late = isinstance(error, TimeoutError) or process.returncode == -signal.SIGXCPU
            reason = "timed out" if is_late else f"ended with {process.returncode}"
            raise ValueError(f"the {self._name} process {reason}") from error

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = None
        _end(process)

    def _start(self) -> "subprocess.Popen[bytes]":
        program = [sys.executable, "-P", "-m", self._module]
        process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        weakref.finalize(self, _end, process)
        return process


def _receive(source: IO[bytes], length: int, ends_at: float) -> bytes:
    """Read exactly `length` bytes of a pipe; TimeoutError after the deadline, EOFError at the end of the pipe."""
    data = b""
    while len(data) < length:
        if not select.select([source], [], [], max(0.0, ends_at - time.monotonic()))[0]:
            raise TimeoutError
        if not (piece := source.read1(length - len(data))):  # type: ignore[attr-defined]
            raise EOFError
        data += piece
    return data


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()
