"""Finds pages that are new, changed, moved or gone since a round or a time."""

import difflib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from ..duplicates.digest import READING

BATCH = 256
"""Pages in memory, with both versions of their texts."""

_LONGEST = 5_000  # lines of a text that are compared


class Since(NamedTuple):
    """The state that changes are relative to: after a round, or at a time."""

    round: int | None
    time: datetime | None

    @property
    def sql(self) -> str:
        """The condition for rows of a later state."""
        if self.time is None:
            return f"round > {self.round}"
        return f"fetched_at >= TIMESTAMPTZ '{self.time.isoformat()}'"

    def __str__(self) -> str:
        """As `parse_since` takes it."""
        return str(self.round) if self.time is None else self.time.replace(tzinfo=None).isoformat()


class Change(NamedTuple):
    """What happened to a page. Of several versions since then, the last counts."""

    kind: str  # new, changed, moved, gone
    url: str
    title: str
    at: datetime  # when it was seen
    moved_to: str | None
    diff: list[str]  # lines of the text, after - or +; unchanged lines between two hunks are left out

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name."""
        return self._asdict() | {"at": f"{self.at:%Y-%m-%dT%H:%M:%SZ}"}


def parse_since(text: str) -> Since:
    """A number of a round, or a date or time in ISO 8601, in UTC unless it has an offset; ValueError if it is neither.

    >>> str(parse_since("2026-01-02T01:00+01:00"))
    '2026-01-02T00:00:00'
    >>> parse_since("3").sql, parse_since("2026-01-02").sql
    ('round > 3', "fetched_at >= TIMESTAMPTZ '2026-01-02T00:00:00+00:00'")
    """
    if text.isascii() and text.isdecimal() and len(text) < 7:
        return Since(int(text), None)
    time = datetime.fromisoformat(text)
    try:
        return Since(None, time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC))
    except OverflowError as error:
        raise ValueError(str(error)) from error


def later_than(since: Since, last: int, now: datetime) -> str | None:
    """Return what is wrong with a state that is still to come, after the round `last` of a crawl; else None.

    >>> later_than(Since(9, None), 3, datetime(2026, 1, 2, tzinfo=UTC))
    'the last round of the crawl is 3; name one before it, or a date'
    >>> later_than(Since(3, None), 3, datetime(2026, 1, 2, tzinfo=UTC))
    """
    if since.round is not None and since.round > last:
        return f"the last round of the crawl is {last}; name one before it, or a date"
    if since.time is not None and since.time > now:
        return f"it is in the future; now it is {now:%Y-%m-%d %H:%M} UTC"
    return None


def query(since: Since) -> str:
    """The pages that differ from the state at `since`, with both versions of their texts."""
    return f"""
{_known(since, "'title': title, 'text': text")}
SELECT {_KIND} AS change,
    url, page_then.title AS title_then, page_now.title AS title, last.at AS at, last.target AS target,
    page_then.text AS text_then, page_now.text AS text
FROM known WHERE change IS NOT NULL ORDER BY change, url
"""


def listing_query(since: Since, now: datetime) -> str:
    """The pages that differ from the state at `since` and may be shown to anyone, without their texts.

    Pages that authors exclude from searches (noindex, search=no, unavailable_after) are left out. `withheld` is true if
    an author excludes either version from copies, excerpts or searches (also noarchive, nosnippet, max-snippet).
    `round_then` and `round` name the versions of the texts.
    """
    columns = f"""
'title': title, 'round': round,
'excluded': COALESCE(noindex OR NOT search, false)
    OR COALESCE(unavailable_after <= TIMESTAMPTZ '{now.isoformat()}', false),
'withheld': COALESCE(noarchive, false) OR max_snippet IS NOT NULL"""
    return f"""
{_known(since, columns)}
SELECT {_KIND} AS change,
    url, CASE WHEN change IN ('gone', 'moved') THEN page_then.title ELSE page_now.title END AS title,
    last.at AS at, last.target AS target,
    page_then.round AS round_then, page_now.round AS round,
    COALESCE(page_then.excluded OR page_then.withheld, false)
        OR COALESCE(page_now.excluded OR page_now.withheld, false) AS withheld
FROM known
WHERE change IS NOT NULL AND NOT COALESCE(page_now.excluded, page_then.excluded)
ORDER BY change, url
"""


_READING = READING.hex()  # digests of other readings of a page say nothing of a change
_KIND = f"""CASE
        WHEN was_there AND last.outcome = 'gone' THEN 'gone'
        WHEN was_there AND last.outcome = 'redirected' THEN 'moved'
        WHEN last.outcome NOT IN ('fetched', 'not_modified') OR page_now IS NULL THEN NULL
        WHEN NOT was_there THEN 'new'
        WHEN page_then.digest <> page_now.digest
            AND (hex(page_then.digest) LIKE '%{_READING}') = (hex(page_now.digest) LIKE '%{_READING}') THEN 'changed'
    END"""


def _known(since: Since, columns: str) -> str:
    """Each page with its version at `since`, its version now, and its last visit; `columns` are those of a version."""
    page = f"arg_max({{{columns}, 'digest': digest}}, round) AS page"
    return f"""
WITH older AS (
    SELECT url, {page} FROM documents WHERE NOT ({since.sql}) GROUP BY url
), newer AS (
    SELECT url, {page} FROM documents WHERE {since.sql} GROUP BY url
), visited AS (
    SELECT url,
        arg_max(outcome, fetched_at) FILTER (NOT ({since.sql})) AS outcome_then,
        arg_max({{'outcome': outcome, 'at': fetched_at, 'target': redirect_to}}, fetched_at)
            FILTER ({since.sql}) AS last
    FROM visits WHERE status IS NOT NULL AND kind IS NULL GROUP BY url
), known AS (
    SELECT url, last, older.page AS page_then, newer.page AS page_now,
        older.page IS NOT NULL AND COALESCE(outcome_then, '') NOT IN ('gone', 'redirected') AS was_there
    FROM visited LEFT JOIN older USING (url) LEFT JOIN newer USING (url) WHERE last IS NOT NULL
)"""


def changes(batches: pa.RecordBatchReader) -> Iterator[Change]:
    """The rows of `query` as changes."""
    for batch in batches:
        for row in batch.to_pylist():
            kind = row["change"]
            title = row["title_then"] if kind in ("gone", "moved") else row["title"]
            versions = version(row["title_then"], row["text_then"]), version(row["title"], row["text"])
            diff = difference(*versions) if kind == "changed" else []
            target = row["target"] if kind == "moved" else None
            yield Change(kind, row["url"], title or "", row["at"], target, diff)


def version(title: str | None, text: str | None) -> str:
    """What is compared of a page."""
    return f"{title or ''}\n{text or ''}"


def difference(then: str, now: str, longest: int = _LONGEST) -> list[str]:
    """The lines that differ among the first `longest`, after `-` and `+`.

    >>> difference("a\\nb\\nc", "a\\nB\\nc\\nd")
    ['-b', '+B', '+d']
    """
    lines = then.split("\n")[:longest], now.split("\n")[:longest]
    marked = difflib.unified_diff(*lines, n=0, lineterm="")
    return [line for number, line in enumerate(marked) if number > 1 and not line.startswith("@@ ")]


def json_line(change: Change) -> str:
    """A change as one line of JSON."""
    return json.dumps(change.to_dict(), ensure_ascii=False)
