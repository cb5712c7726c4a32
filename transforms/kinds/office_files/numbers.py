"""The text of numbers in a workbook, of which those of some formats are dates (ECMA-376 part 1, 18.8.30)."""

import re
from datetime import datetime, timedelta
from typing import Any

from . import markup

_BUILT_IN = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # formats of dates and times
_LITERAL = re.compile(r'"[^"]*"|\[(?!h+\]|m+\]|s+\])[^\]]*\]|[\\_*].', re.IGNORECASE)
_DATE_CODE = re.compile("[ydhms]", re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # noqa: DTZ001 - dates of a workbook have no zone
_MOST_DAYS = 2_958_466  # 10000-01-01
_SECOND = timedelta(seconds=1)
_DIGITS = 15  # that a program shows of a number; those of its stored form are of the binary fraction


def date_styles(root: Any) -> set[int]:
    """The indexes of cell styles whose numbers are dates or times, by the root of the part `styles`."""
    dates = set(map(str, _BUILT_IN))
    for element in root.iter("{*}numFmt"):
        if _DATE_CODE.search(_LITERAL.sub("", element.get("formatCode", "").replace("General", ""))):
            dates.add(element.get("numFmtId", ""))
    styles = (style for styles in root.iter("{*}cellXfs") for style in markup.children(styles, "xf"))
    return {index for index, style in enumerate(styles) if style.get("numFmtId", "") in dates}


def number(value: str, is_date: bool, is_1904: bool) -> str:
    """A number with the digits that a program shows; a date or time in ISO 8601. Other text unchanged.

    >>> number("102.99999999999999", False, False), number("39339.5", True, False), number("0.25", True, False)
    ('103', '2007-09-14 12:00:00', '06:00:00')
    """
    try:
        found = float(value)
    except ValueError:
        return value
    if not is_date or not 0 <= found < _MOST_DAYS - 1_462:
        return f"{found:.{_DIGITS}g}"
    moment = (_EPOCH_1904 if is_1904 else _EPOCH) + timedelta(days=found)
    moment = (moment + _SECOND / 2).replace(microsecond=0)
    if found < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if found.is_integer() else moment.isoformat(" ")
