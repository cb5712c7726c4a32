"""Interprets the records of archives: a capture to import, or the reason why a record is skipped."""

import dataclasses
import json
import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from ..blocks.rules import Blocks
from ..http.errors import RequestError
from ..http.reply import Headers, Reply, outcome, redirect_target, wanted
from ..outcomes import RETRIED, Outcome
from ..robots import rules
from ..robots.rules import Verdict
from ..tables.schemas import KEY, TIME, Row
from ..urls.canonical import canonicalize, host, origin as origin_of, url_key
from ..urls.filters import UrlFilter
from .answers import Skip, contradicts, head_of, reply_of
from .digests import normalized
from .http_block import original_headers
from .reader import DamagedError, Record

SCAN = pa.schema(
    [
        ("number", pa.int64()),  # of the record in its file
        ("url_key", KEY),
        ("url", pa.string()),  # canonical
        ("host", pa.string()),
        ("fetched_at", TIME),
        ("is_robots", pa.bool_()),  # a robots.txt
        ("is_failure", pa.bool_()),  # temporary, a redirect to itself, or of another digest: it replaces no page
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("elapsed_ms", pa.float64()),
        ("digest", pa.string()),  # of the payload, as the record says, normalized
        ("is_revisit", pa.bool_()),
        ("original_key", KEY),  # of a revisit: the URL whose payload it repeats
        ("original_host", pa.string()),
        ("original_at", TIME),
        ("head", pa.string()),  # of a revisit: its own answer, if it has one, as JSON: [status, headers]
        ("rights", pa.binary()),  # of a robots.txt: its body, if it says something about uses of content
    ]
)
"""The captures in a file."""

_FIRST = datetime(1991, 8, 6, tzinfo=UTC)
"""The day of the first website: an earlier date is no date of a capture."""

_AHEAD = timedelta(minutes=5)  # of our clock
_MOST_DEPTH = 10_000
_MOST_FACTS = 256 << 10  # bytes of a metadata record: a page with very many links


@dataclasses.dataclass(frozen=True)
class Admission:
    """What decides which captures belong to a crawl."""

    url_filter: UrlFilter
    blocks: Blocks
    types: Collection[str]  # media types that become documents
    now: datetime
    head_bytes: int  # of HTTP, at most
    token: str  # of the robot


def capture_of(record: Record, admission: Admission) -> Row:
    """The capture in a record; raises Skip. It reads the block if there is a digest to compare, else its head."""
    if record.type not in ("response", "resource", "revisit"):
        raise Skip(record.type)
    url = _url(record.field("WARC-Target-URI"))
    fetched_at = date_of(record.field("WARC-Date"), admission.now)
    is_robots = url.partition("://")[2].partition("/")[2] == "robots.txt"
    if admission.blocks.match(url):
        raise Skip("blocked")
    if not is_robots and (rule := admission.url_filter.reject_target(url)):
        raise Skip(rule)
    row: Row = dict.fromkeys(SCAN.names) | {
        "number": record.number,
        "url_key": url_key(url),
        "url": url,
        "host": host(url),
        "fetched_at": fetched_at,
        "is_robots": is_robots,
        "is_failure": False,
        "digest": normalized(record.field("WARC-Payload-Digest")) or None,
        "is_revisit": record.type == "revisit",
    }
    if record.type == "revisit":
        return row | _original(record, url) | _own_head(record, url, admission)
    try:
        if is_robots:
            reply = reply_of(record, row["digest"], rules.MAX_BYTES, admission.head_bytes)
            row["rights"] = _rights(reply, origin_of(url), admission.token)
            return row
        head = head_of(record, admission.head_bytes)
    except RequestError as error:
        raise Skip("bad_http", error.text) from error
    is_temporary = _judged(url, *head[:2], admission.types) in RETRIED
    row["is_failure"] = is_temporary or _leads_to_itself(url, *head[:2]) or contradicts(record, head, row["digest"])
    return row


def _leads_to_itself(url: str, status: int, headers: Headers) -> bool:
    """Whether an answer is a redirect to its own URL, of whose page it says nothing: the archive may have that, too."""
    target = redirect_target(url, Reply(status, original_headers(headers)))
    return target is not None and url_key(target) == url_key(url)


def _judged(url: str, status: int, headers: Headers, types: Collection[str]) -> Outcome:
    """The outcome of an answer by its head."""
    end = outcome(url, Reply(status, headers), conditional=False)
    if status in (304, 206) or status < 200:
        raise Skip("partial")
    if end is Outcome.FETCHED and not wanted(url, headers, types):
        raise Skip(Outcome.UNWANTED_TYPE)
    return end


def _rights(reply: Reply, origin: str, token: str) -> bytes | None:
    """The body of a robots.txt that says something about uses of content."""
    if reply.failure is None and 300 <= reply.status < 400:  # type: ignore[operator]  # without a failure, there is one
        raise Skip("robots_redirect")
    verdict = rules.verdict_of(None if reply.failure else reply.status)
    if verdict is Verdict.UNREACHABLE:
        raise Skip("robots_failure")
    found = rules.parse(reply.body, token, origin) if verdict is Verdict.RULES else None
    return reply.body if found and (found.usages or found.signal_lines) else None


def _original(record: Record, url: str) -> dict[str, object]:
    named = record.field("WARC-Refers-To-Target-URI")
    original = canonicalize(named.strip("<> ")) if named else url
    if original is None:
        raise Skip("revisit", f"it refers to {named[:200]!r}, which is no URL")
    try:
        at = parse_date(record.field("WARC-Refers-To-Date"))
    except ValueError:
        at = None
    return {"original_key": url_key(original), "original_host": host(original), "original_at": at}


def _own_head(record: Record, url: str, admission: Admission) -> dict[str, object]:
    """What a revisit says of itself: the answer may have a payload that is known, but other headers."""
    try:
        status, headers, _ = head_of(record, admission.head_bytes)
    except (RequestError, Skip):
        return {}  # most have none
    if status == 206 or status < 200:
        raise Skip("partial")
    headers = original_headers(headers)
    is_temporary = status != 304 and outcome(url, Reply(status, headers), conditional=False) in RETRIED
    return {"head": json.dumps([status, headers]), "is_failure": is_temporary or _leads_to_itself(url, status, headers)}


def _url(text: str) -> str:
    text = text.strip("<> ")  # WARC 1.0 has it within brackets, by a mistake in its grammar
    url = canonicalize(text)
    if url is None:
        is_other = re.match(r"(?!https?:)[a-z][a-z0-9+.-]*:", text, re.ASCII | re.IGNORECASE)
        raise Skip("not_http") if is_other else Skip("bad_record", f"its URL is {text[:200]!r}")
    return url


def date_of(text: str, now: datetime) -> datetime:
    """The time of a capture; raises Skip if it is none, or cannot be."""
    try:
        found = parse_date(text)
    except ValueError:
        raise Skip("bad_record", f"its date is {text[:40]!r}") from None
    if not _FIRST <= found <= now + _AHEAD:
        raise Skip("bad_date", f"its date is {text[:40]}: no capture is of that time")
    return found


def parse_date(text: str) -> datetime:
    """A WARC-Date, in UTC (a profile of ISO 8601; some crawlers write 14 digits, a time zone, or the day of the year
    behind the month); ValueError if not.

    >>> parse_date("2020-01-02T03:04:05.123456789Z")
    datetime.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=datetime.timezone.utc)
    """
    if re.fullmatch(r"\d{14}", text, re.ASCII):
        return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    if match := re.match(r"(\d{4})-\d\d-(\d{3})(?=T)", text, re.ASCII):  # ClueWeb09
        text = f"{datetime.strptime(f'{match[1]}-{match[2]}', '%Y-%j').date()}{text[match.end() :]}"  # noqa: DTZ007
    if re.fullmatch(r"\d{4}(-\d\d)?", text := text.strip(), re.ASCII):
        text += "-01-01"[len(text) - 4 :]
    found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", re.sub(r"(?<=:\d\d):60", ":59", text)))
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error


class Facts:
    """What other records say of captures: metadata `via`, `hopsFromSeed` and `fetchTimeMs`, requests their method.

    A record of these kinds stands near its capture, and names it, or is named (`WARC-Concurrent-To`; `WARC-Refers-To`).
    """

    def __init__(self) -> None:
        self._rows: dict[_Name, Row] = {}
        self._others: dict[_Name, None] = {}  # of answers to requests with other methods than GET

    def expect(self, record: Record, row: Row) -> bool:
        """Note a capture; only the most recent ones are waited for. False if its request was no GET."""
        names = _names(record)
        if any(name in self._others for name in names):
            return False
        _note(self._rows, dict.fromkeys(names, row))
        return True

    def add(self, record: Record) -> None:
        """Put what a metadata record says into the row of its capture."""
        row = self._rows.get((_OWN, record.field(_NAMED) or record.field("WARC-Refers-To")))
        if row is None or not record.field("Content-Type").startswith("application/warc-fields"):
            return
        try:
            text = record.read(min(record.length, _MOST_FACTS)).decode("utf-8", "replace")
        except DamagedError:
            return
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if read := _FACTS.get(name.strip()):
                row.update(read(value.strip()))

    def not_got(self, record: Record) -> Row | None:
        """The row of a capture that answers a request with another method than GET; None if it may come later."""
        try:
            method = re.match(rb"[!-~]+(?= )", record.read(_MOST_METHOD))
        except DamagedError:
            return None
        if method is None or method[0] == b"GET":
            return None
        names = _names(record, _NAMED, _OWN)
        _note(self._others, dict.fromkeys(names))
        return next((self._rows[name] for name in names if name in self._rows), None)


_Name = tuple[str, str]
"""A field of an answer, and its value: its own id, or the id of the request that it names."""

_OWN, _NAMED = "WARC-Record-ID", "WARC-Concurrent-To"


def _names(record: Record, own: str = _OWN, named: str = _NAMED) -> list[_Name]:
    """The names of an answer; those of a request's answer are its own two the other way round."""
    return [(name, value) for name, field in ((own, _OWN), (named, _NAMED)) if (value := record.field(field))]


_Noted = TypeVar("_Noted")


def _note(noted: dict[_Name, _Noted], more: dict[_Name, _Noted]) -> None:
    noted.update(more)
    while len(noted) > 2 * _WAITED_FOR:
        del noted[next(iter(noted))]


_MOST_METHOD = 32  # bytes of a request
_WAITED_FOR = 1_000


def _hops(value: str) -> dict[str, object]:
    """Hops as a number, or one letter each, as Heritrix writes them; R and E, redirects and embeds, are no clicks."""
    if value.isdecimal():
        return {"depth": min(int(value[:9]), _MOST_DEPTH)}
    if re.fullmatch(r"[A-Za-z+0-9]{0,1000}", value):
        return {"depth": min(sum(letter not in "REIPX" for letter in value if letter.isalpha()), _MOST_DEPTH)}
    return {}


def _via(value: str) -> dict[str, object]:
    return {"referrer": url} if (url := canonicalize(value)) else {}


def _milliseconds(value: str) -> dict[str, object]:
    return {"elapsed_ms": float(value)} if re.fullmatch(r"\d{1,9}", value, re.ASCII) else {}


_FACTS: dict[str, Callable[[str], dict[str, object]]] = {
    "via": _via,
    "hopsFromSeed": _hops,
    "fetchTimeMs": _milliseconds,
}
