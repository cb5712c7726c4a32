"""Dates in HTTP headers."""

import email.utils
import re
from datetime import UTC, datetime

_HTTP_DATE = re.compile(
    r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
    r"|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT"
    r"|\w{3} \w{3} [\d ]\d \d\d:\d\d:\d\d \d{4}",
    re.ASCII | re.IGNORECASE,
)


def http_date(text: str) -> datetime | None:
    """A date in one of the three forms of RFC 9110 section 5.6.7, as an aware datetime; None for anything else.

    >>> str(http_date("Sunday, 01-Mar-26 12:00:00 GMT"))
    '2026-03-01 12:00:00+00:00'
    """
    if not _HTTP_DATE.fullmatch(text):
        return None
    try:
        return email.utils.parsedate_to_datetime(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
