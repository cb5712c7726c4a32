"""A rowing club, with a calendar that has no last month and an album whose path grows with each page."""

import re

from ..pages import Page

TEXT = """\
# / Skarvholm Rowing Club
We row traditional four-oared gigs in the sheltered water behind the breakwater, summer and winter. New
members start on Saturday mornings; [the beginners' page](/beginners.html) tells what to bring.

Boats are booked in the [calendar](/calendar/2026/11). Pictures of last year's regatta are in the
[album](/album/). The boats stand in the old net loft of the [museum](//museum/).

# /beginners.html Rowing for beginners
Come in clothes that may get wet and shoes with thin soles. The first lesson is on land: how to sit, how to
hold the oar with straight wrists, and how to stop the boat when the cox calls easy all. Look at the
[tides](//almanac/tides.html) before you come: at low water the slip is dry.
"""

# Not from `calendar`, whose names follow the locale.
_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


def trap_page(path: str) -> Page | None:
    """A month of the calendar or a page of the album, whatever their number."""
    if month := re.fullmatch(r"/calendar/([1-9]\d{3})/(0[1-9]|1[0-2])", path):
        return _month(int(month[1]), int(month[2]))
    if re.fullmatch(r"/album/(?:more/)*", path):
        return Page("Regatta album", ("The gigs at the start. [More](more/), or [home](/).",))
    return None


def _month(year: int, month: int) -> Page:
    after = f"/calendar/{year + month // 12}/{month % 12 + 1:02}"
    before = f"/calendar/{year - (month == 1)}/{(month - 2) % 12 + 1:02}"
    text = f"Nothing is booked. [Next month]({after}), [previous month]({before}) or [home](/)."
    return Page(f"Bookings for {_MONTHS[month - 1]} {year}", (text,))
