"""Parses PDF in a separate process."""

import re
from datetime import datetime

from ..parsing.dates import feed_date
from ..parsing.source import MAX_BYTES, Page, Source
from . import guarded

_FACTS = {"Author": "author", "Creator": "creator", "Producer": "producer"}

_CALLED = re.compile(r"^(?=.*[^\W\d_]{2}).{2,60}(?<![.,;:-])$")  # a line that is a title, not of running text
# D:20260305193000+09'00' or a prefix of it (ISO 32000-1, 7.9.4).
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?([Zz]|[+-]\d\d)?'?(\d\d)?.*", re.ASCII | re.DOTALL)


class Pdf:
    """Parses PDF with PDFium in a guarded process."""

    media_types = frozenset({"application/pdf", "application/x-pdf"})
    extensions = frozenset({"pdf"})

    def __init__(
        self, seconds: float = guarded.SECONDS, patience: float = guarded.PATIENCE, wait: float = guarded.WAIT
    ) -> None:
        self._guarded = guarded.GuardedParser(f"{__package__}.pdf_process", "PDF", seconds, patience, wait)

    def parse(self, source: Source) -> Page | None:
        found = self._guarded.read(source.body, MAX_BYTES)
        metadata = found["metadata"]
        headings = found["headings"]
        first = found["text"].partition("\n")[0].strip() if headings else ""
        titles = [metadata.get("Title", "").strip("\0 "), *_CALLED.findall(first), *headings]
        facts = {name: metadata.get(key, "") for key, name in _FACTS.items()}
        facts |= {name: str(found[name]) for name in ("pages", "pages_read")}
        return source.page(
            found["text"],
            title=next((title for title in titles if title.lower() not in ("", "untitled")), ""),  # as in pdf.js
            description=metadata.get("Subject", ""),
            keywords=metadata.get("Keywords", ""),
            headings=headings,
            published_at=pdf_date(metadata.get("CreationDate", "")),
            links=[(uri, "") for uri in found["uris"]],
            facts=facts,
            is_cut=found["is_cut"],
            part_ids=[f"page={number}" for number in found["numbers"]],  # as RFC 8118 defines fragments of PDF
        )


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
