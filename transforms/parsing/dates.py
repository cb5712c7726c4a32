"""Parses dates: of sitemaps and feeds, and those that a page states in JSON-LD or in words. Pure functions of text."""

import email.utils
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_LONGEST = 64
_EARLIEST_YEAR, _LATEST_YEAR = 1970, 2100  # other years are typing errors
# Accepted beyond the standard, because they are common and unambiguous: month and day without leading zero, a space
# instead of T or before the zone, a zone without colon.
_ISO = re.compile(
    r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ]+([01]?\d|2[0-3]|24(?=:00)):(\d{2})(?::(\d{2})(?:[.,](\d*))?)?"
    r" ?(Z|UTC|GMT|[+-]\d{2}:?(?:\d{2})?)?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
# RFC 822, 5.1, and the names that mean one zone wherever they are written.
_OFFSETS = (
    "HST-10 AKST-09 AKDT-08 PST-08 PDT-07 MST-07 MDT-06 CST-06 CDT-05 EST-05 EDT-04 UT+00 UTC+00 GMT+00 Z+00 WET+00"
    " WEST+01 BST+01 CET+01 MET+01 MEZ+01 CEST+02 MEST+02 MESZ+02 EET+02 EEST+03 MSK+03 HKT+08 SGT+08 AWST+08 JST+09"
    " KST+09 AEST+10 AEDT+11 NZST+12 NZDT+13"
)
_ZONES = {zone[:-3]: f" {zone[-3:]}00" for zone in _OFFSETS.split()}
_NAMED_ZONE = re.compile(rf"(?<=:\d\d) ?(?:({'|'.join(_ZONES)})$|(?:GMT|UTC)(?=[+-]\d\d))", re.IGNORECASE)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)

_EARLIEST_PAGE = 1900  # years before it are typing errors, and those after _LATEST_YEAR
_MAX_NODES = 2_000  # read of the JSON-LD of a page

_EPOCH = re.compile(r"\d{10}(?:\d{3})?", re.ASCII)  # seconds, or milliseconds
_DIGITS = re.compile(r"\d{14}", re.ASCII)
_YEAR_FIRST = re.compile(
    r"(\d{4}) ?[-/.年년] ?(\d{1,2}) ?[-/.月월] ?(\d{1,2})(?: ?[日일]|\.)?(.*)", re.ASCII | re.DOTALL
)
_DOTS = re.compile(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4}|\d\d)(?!\d).*", re.ASCII | re.DOTALL)
_DAY_FIRST = re.compile(
    r"(?:[^\W\d]+\.?,? +)?(\d{1,2})(?:\.|º|er|st|nd|rd|th)?[ -](?:de |of )?([^\W\d]{3,})\.?,?[ -](?:del? )?(\d{4})\b.*",
    re.DOTALL,
)
_MONTH_FIRST = re.compile(r"(?:[^\W\d]+, +)?([^\W\d]{3,})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b.*", re.DOTALL)
# The beginnings of the names of each month: English, German, Dutch, Danish, Swedish, French, Italian, Spanish,
# Portuguese, Polish, Turkish, Russian, Ukrainian.
_NAMES = (
    "jan gen ene sty oca янв січ",
    "feb fév lut şub фев лют fev",
    "mar mär maa mrt мар бер",
    "apr avr abr kwi nis апр кві",
    "may mai maj mei mag мая май тра",
    "jun juin giu cze haz июн чер",
    "jul juil lug lip tem июл лип",
    "aug aoû ago sie ağu авг сер",
    "sep set wrz eyl сен вер",
    "oct okt ott out paź eki окт жов",
    "nov lis kas ноя лис",
    "dec dez déc dic gru ara дек гру",
)
_MONTHS = {start: number for number, starts in enumerate(_NAMES, 1) for start in starts.split()}

_MAIN = ("mainEntity", "mainEntityOfPage")
_DATES = ("datePublished", "dateCreated")
# Nodes beside that of the page. All others count, articles before pages, pages before the rest.
_BESIDE = re.compile(
    r"(?:Comment|Answer|Review|Rating|AggregateRating|UserReview|Person|(?:\w*Organization)|WebSite|Periodical|BreadcrumbList"
    r"|ItemList|ListItem|(?:\w+Object))"
)
_BROKEN = re.compile(r'"datePublished"\s*:\s*"([^"\\]{1,64})"')
_PARTS = re.compile(r'"(?:review|comment|isPartOf|hasPart|mentions|citation|itemListElement)"')


def feed_date(text: str) -> datetime | None:
    """The UTC time in a date of a sitemap (W3C datetime, any precision), of Atom, or of RSS.

    Missing parts of a W3C datetime take their smallest value, and a missing zone is UTC. A date of RSS requires a zone
    (RFC 822). None for anything else, and for years before 1970 and after 2100.
    Source: https://www.w3.org/TR/NOTE-datetime.

    >>> str(feed_date("2026-03-05T19:30+09:00")), str(feed_date("2026-03")), feed_date("yesterday")
    ('2026-03-05 10:30:00+00:00', '2026-03-01 00:00:00+00:00', None)
    """
    text = _with_offset(text.strip())
    if not text or len(text) > _LONGEST:
        return None
    try:
        moment = _iso(text) or email.utils.parsedate_to_datetime(text)
        if moment.tzinfo is None or not _EARLIEST_YEAR <= moment.year <= _LATEST_YEAR:
            return None
        return moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _iso(text: str) -> datetime | None:
    if not (match := _ISO.fullmatch(text) or _COMPACT.fullmatch(text)):
        return None
    year, *rest = match.groups()
    zone = rest.pop() if len(rest) > 2 else None
    fraction = (rest.pop() or "") if len(rest) > 2 else ""
    month, day, hour, minute, second = (int(part or 0) for part in [*rest, *(None,) * (5 - len(rest))])
    second = min(second, 59)  # leap seconds
    microsecond = int(fraction[:6].ljust(6, "0"))
    day_at = datetime(int(year), month or 1, day or 1, 0, minute, second, microsecond, _zone(zone))
    return day_at + timedelta(hours=hour)  # 24:00 is the next day


def _with_offset(text: str) -> str:
    return _NAMED_ZONE.sub(lambda zone: _ZONES[zone[1].upper()] if zone[1] else " ", text)


def _zone(text: str | None) -> timezone:
    """The time zone of an offset such as +0900; UTC for anything else."""
    if not text or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def parse_date(text: str) -> datetime | None:
    """The UTC time of a date in ISO 8601, RFC 5322, epoch time or words; one without zone is in UTC. None if invalid.

    Days and months in digits count where their order is certain: with the year first, or with dots.

    >>> parse_date("March 5, 2024").isoformat(), parse_date("05.03.2024").isoformat()
    ('2024-03-05T00:00:00+00:00', '2024-03-05T00:00:00+00:00')
    >>> parse_date("Tue, 05 Mar 2024 10:00:00 +0900").isoformat(), parse_date("3/5/2024")
    ('2024-03-05T01:00:00+00:00', None)
    """
    text = _with_offset(" ".join(text.split()))
    if not text or len(text) > _LONGEST:
        return None
    for parser in (datetime.fromisoformat, _in_digits, email.utils.parsedate_to_datetime, _in_words):
        try:
            moment = parser(text)
            if moment and _EARLIEST_PAGE <= moment.year <= _LATEST_YEAR:
                return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _in_digits(text: str) -> datetime | None:
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text[:10]), UTC)
    if _DIGITS.fullmatch(text):
        return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    if match := _YEAR_FIRST.fullmatch(text):
        day = f"{match[1]}-{match[2]:0>2}-{match[3]:0>2}"
        return feed_date(day + match[4]) or feed_date(day)
    if match := _DOTS.fullmatch(text):
        year = int(match[3]) + (0 if len(match[3]) == 4 else 2000 if int(match[3]) < 69 else 1900)  # as RFC 5322 says
        return datetime(year, int(match[2]), int(match[1]), tzinfo=UTC)
    return None


def _in_words(text: str) -> datetime | None:
    text = text.lower()
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year = match.groups()
    elif match := _MONTH_FIRST.fullmatch(text):
        month, day, year = match.groups()
    else:
        return None
    return datetime(int(year), _MONTHS.get(month[:4]) or _MONTHS.get(month[:3]) or 0, int(day), tzinfo=UTC)


def json_ld_dates(scripts: Iterable[str]) -> list[str]:
    """The dates that the JSON-LD scripts of a page state of the page itself, the most certain first, as written.

    Only what describes the page is read: the nodes at the top, or of the `@graph`, and their main entity. The dates of
    reviews, comments, related articles and the periodical are none of the page.
    """
    found: list[tuple[int, str]] = []
    left = _MAX_NODES
    for script in scripts:
        if (nodes := json_ld_nodes(script)) is None:
            found += [(3, date) for date in _BROKEN.findall(script)[:1] if not _PARTS.search(script)]
            continue
        for rank, node in nodes:
            left -= 1
            if left < 0:
                break
            if date := next((date for name in _DATES if (date := _text(node.get(name)))), ""):
                found.append((rank, date))
    return [date for _, date in sorted(found, key=lambda stated: stated[0])]


def json_ld_nodes(script: str) -> Iterator[tuple[int, dict[str, Any]]] | None:
    """(rank, node) of each node of a script that may describe the page, an empty one for another; None: no JSON."""
    try:
        content = json.loads(script.strip().removeprefix("<!--").removesuffix("-->").rstrip("; \n\t"), strict=False)
    except (ValueError, RecursionError):
        return None
    return _of_nodes([content])


def _of_nodes(nodes: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, list):
            nodes[:0] = node[:_MAX_NODES]
        if not isinstance(node, dict):
            continue
        nodes += [node[name] for name in ("@graph", *_MAIN) if name in node]
        kinds = node.get("@type")
        names = [
            str(kind).rpartition("/")[2].rpartition(":")[2] for kind in (kinds if isinstance(kinds, list) else [kinds])
        ]
        if any(map(_BESIDE.fullmatch, names)):
            yield 9, {}
            continue
        rank = 0 if any(name.endswith(("Article", "Posting", "Report")) for name in names) else 2
        yield 1 if rank and any(name.endswith("Page") for name in names) else rank, node


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = next(iter(value), None)
    if isinstance(value, dict):
        value = value.get("@value")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
