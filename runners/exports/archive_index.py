"""The captures that are in an archive: their index lines, and the payloads to which later ones refer.

Both lie in a temporary database on disk, so memory does not grow with the archive.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

from ...transforms.blocks.rules import Blocks
from ...transforms.http.media_types import parse
from ...transforms.http.reply import header, stored_headers
from ...transforms.outcomes import Outcome
from .captures import Capture
from .warc_records import Original, payload_digest, safe_url, warc_date

_TABLES = """
CREATE TABLE payloads (digest TEXT PRIMARY KEY, url TEXT, date TEXT) WITHOUT ROWID;
CREATE TABLE pages (url TEXT PRIMARY KEY, of_url TEXT, date TEXT, digest TEXT) WITHOUT ROWID;
CREATE TABLE lines (line BLOB);
"""


class ArchiveIndex:
    """Lines and payloads, in the order in which captures are added."""

    def __init__(self) -> None:
        self.without_bodies = 0  # captures that were left out since their bodies were removed
        self._tables = sqlite3.connect("", isolation_level=None)  # a temporary file
        self._tables.executescript(_TABLES)
        self._tables.execute("BEGIN")

    def original(self, capture: Capture) -> Original | None:
        """The earlier response whose payload the capture repeats; None: it has its own."""
        visit = capture.visit
        if visit["outcome"] == Outcome.NOT_MODIFIED:
            return self._one("SELECT of_url, date, digest FROM pages WHERE url = ?", visit["url"])
        if not visit["body"] or visit["truncated"]:
            return None
        return self._one("SELECT url, date, digest FROM payloads WHERE digest = ?", payload_digest(visit["body"]))

    def add(self, capture: Capture, original: Original | None, text: str) -> None:
        """Put in a capture with its index line."""
        visit, body = capture.visit, capture.visit["body"] or b""
        self._tables.execute("INSERT INTO lines VALUES (?)", (text.encode() + b"\n",))
        if original is None:
            original = Original(visit["url"], warc_date(visit["fetched_at"]), payload_digest(body))
            if body and not visit["truncated"]:
                values = (original.digest, original.url, original.date)
                self._tables.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?, ?)", values)
        if visit["outcome"] != Outcome.NOT_MODIFIED:
            row = (visit["url"], original.url, original.date, original.digest)
            self._tables.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", row)

    def leave_out(self, capture: Capture) -> None:
        """Note that the present content of a page is not in the archive."""
        self._tables.execute("DELETE FROM pages WHERE url = ?", (capture.visit["url"],))

    def lines(self) -> Iterator[bytes]:
        """All index lines, sorted by their bytes."""
        for (text,) in self._tables.execute("SELECT line FROM lines ORDER BY line"):
            yield text

    def _one(self, query: str, value: str) -> Original | None:
        row = self._tables.execute(query, (value,)).fetchone()
        return Original(*row) if row else None


def chosen(captures: Iterator[Capture], index: ArchiveIndex, blocks: Blocks, noarchive: bool) -> Iterator[Capture]:
    """The captures that may be in the archive: none that is blocked; with `noarchive`, pages that want no copy.

    A capture whose body was removed is left out, and counted: neither a response nor a revisit could give its content.
    """
    for capture in captures:
        if capture.visit["body_removed"]:
            index.without_bodies += 1
            index.leave_out(capture)
        elif (capture.noarchive and not noarchive) or blocks.match(capture.visit["url"]):
            index.leave_out(capture)
        else:
            yield capture


def index_line(capture: Capture, original: Original | None, file: str = "", offset: int = 0, length: int = 0) -> str:
    """The CDXJ line of a capture; without a file, where it lies is left out."""
    visit = capture.visit
    declared = parse(header(stored_headers(visit), "content-type"))[0]
    fields = {
        "mime": "warc/revisit" if original else declared or "unk",
        "status": str(visit["status"]),
        "digest": original.digest if original else payload_digest(visit["body"] or b""),
    }
    if file:
        fields |= {"length": str(length), "offset": str(offset), "filename": file}
    return line(safe_url(visit["url"]), visit["fetched_at"], fields)


def surt(url: str) -> str:
    """The sort key of a canonical URL: host in reverse order, path and query in lower case, parameters sorted.

    As replay tools compute it: without the scheme, a leading `www`, and the default port.

    >>> surt("https://www.Example.org/A/?b=2&a=1"), surt("http://example.org:8080/"), surt("http://127.0.0.1/x/")
    ('org,example)/a?a=1&b=2', 'org,example:8080)/', '1,0,0,127)/x')
    """
    parts = urlsplit(url)
    host = re.sub(r"^www\d*\.", "", (parts.hostname or "").lower())
    host = f"[{host}]" if ":" in host else ",".join(reversed(host.split(".")))
    port = f":{parts.port}" if parts.port and parts.port != {"http": 80, "https": 443}.get(parts.scheme) else ""
    path = parts.path.lower().rstrip("/") or "/"
    query = "&".join(sorted(parts.query.lower().split("&"))) if parts.query else ""
    return f"{host}{port}){path}" + (f"?{query}" if query else "")


def line(url: str, moment: datetime, fields: dict[str, str]) -> str:
    """One line: key, time to the second, and the fields as JSON in ASCII, which holds no line end."""
    return f"{surt(url)} {moment:%Y%m%d%H%M%S} {json.dumps({'url': url} | fields)}"
