"""Parses dates of sitemaps and feeds."""

import email.utils
import re
from datetime import UTC, datetime, timedelta, timezone

_LONGEST = 64
_EARLIEST_YEAR, _LATEST_YEAR = 1970, 2100  # other years are typing errors
# Accepted beyond the standard, because they are common and unambiguous: month and day without leading zero, a space
# instead of T or before the zone, a zone without colon.
_ISO = re.compile(
    r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d*))?)?"
    r" ?(Z|UTC|GMT|[+-]\d{2}:?(?:\d{2})?)?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)


def feed_date(text: str) -> datetime | None:
    """The UTC time in a date of a sitemap (W3C datetime, any precision), of Atom, or of RSS.

    Missing parts of a W3C datetime take their smallest value, and a missing zone is UTC. A date of RSS requires a zone
    (RFC 822). None for anything else, and for years before 1970 and after 2100.
    Source: https://www.w3.org/TR/NOTE-datetime.

    >>> str(feed_date("2026-03-05T19:30+09:00")), str(feed_date("2026-03")), feed_date("yesterday")
    ('2026-03-05 10:30:00+00:00', '2026-03-01 00:00:00+00:00', None)
    """
    text = text.strip()
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
    return datetime(int(year), month or 1, day or 1, hour, minute, second, microsecond, _zone(zone))


def _zone(text: str | None) -> timezone:
    """The time zone of an offset such as +0900; UTC for anything else."""
    if not text or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
