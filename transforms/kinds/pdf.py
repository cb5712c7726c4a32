"""Parses PDF in a separate process."""

import json
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from ..parsing.feed_dates import feed_date
from ..parsing.source import MAX_BYTES, Page, Source

_PROGRAM = Path(__file__).with_name("pdf_process.py")
_BOUNDS, _LENGTH = struct.Struct(">QddQ"), struct.Struct(">Q")  # the formats of pdf_process.py
# CPU time, so that what is read of a PDF does not depend on what else the machine does.
_SECONDS = 20.0  # for reading pages; pages read by then are kept
_PATIENCE = 10.0  # additional seconds, because reading a single page cannot be interrupted
_WAIT = 600.0  # seconds of real time, for a process that hangs without computing, or cannot limit its CPU time
_FACTS = {"Author": "author", "Creator": "creator", "Producer": "producer"}

# D:20260305193000+09'00' or a prefix of it (ISO 32000-1, 7.9.4).
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?([Zz]|[+-]\d\d)?'?(\d\d)?.*", re.ASCII | re.DOTALL)


class Pdf:
    """Parses PDF with PDFium in a separate process, so that a crash, a hang or high memory use affects one document."""

    media_types = frozenset({"application/pdf", "application/x-pdf"})
    extensions = frozenset({"pdf"})

    def __init__(self, seconds: float = _SECONDS, patience: float = _PATIENCE, wait: float = _WAIT) -> None:
        self._seconds, self._patience, self._wait = seconds, seconds + patience, wait
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, source: Source) -> Page | None:
        with self._lock:
            found = self._read_pdf(source.body)
        if "error" in found:
            raise ValueError(found["error"])
        metadata = found["metadata"]
        headings = found["headings"]
        facts = {name: metadata.get(key, "") for key, name in _FACTS.items()}
        facts |= {name: str(found[name]) for name in ("pages", "pages_read")}
        return source.page(
            found["text"],
            title=metadata.get("Title") or next(iter(headings), ""),
            description=metadata.get("Subject", ""),
            keywords=metadata.get("Keywords", ""),
            headings=headings,
            published_at=pdf_date(metadata.get("CreationDate", "")),
            links=[(uri, "") for uri in found["uris"]],
            facts=facts,
            is_cut=found["is_cut"],
        )

    def _read_pdf(self, body: bytes) -> dict[str, Any]:
        """The result of the process for a PDF. A process that fails is replaced, and ValueError raised."""
        process = self._process = self._process or self._start()
        ends_at = time.monotonic() + self._wait
        assert process.stdin and process.stdout
        try:
            process.stdin.write(_BOUNDS.pack(len(body), self._seconds, self._patience, MAX_BYTES) + body)
            process.stdin.flush()
            (length,) = _LENGTH.unpack(_read(process.stdout, _LENGTH.size, ends_at))
            found: dict[str, Any] = json.loads(_read(process.stdout, length, ends_at))
            return found
        except (OSError, EOFError) as error:
            self._process = None
            process.kill()
            process.communicate()
            is_late = isinstance(error, TimeoutError) or process.returncode == -signal.SIGXCPU
            reason = "timed out" if is_late else f"ended with {process.returncode}"
            raise ValueError(f"the PDF process {reason}") from error

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-P", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        weakref.finalize(self, _end, process)
        return process


def pdf_date(text: str) -> datetime | None:
    """The UTC time of a PDF date; a date without zone is in UTC. None for anything else.

    >>> str(pdf_date("D:20260305193000+09'00'"))
    '2026-03-05 10:30:00+00:00'
    """
    if not (match := _DATE.fullmatch(text)):
        return None
    year, month, day, hour, minute, second, zone, zone_minutes = match.groups()
    offset = "Z" if not zone or zone in "Zz" else f"{zone}:{zone_minutes or '00'}"
    return feed_date(f"{year}-{month}-{day}T{hour or '00'}:{minute or '00'}:{second or '00'}{offset}")


def _read(source: IO[bytes], length: int, ends_at: float) -> bytes:
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
