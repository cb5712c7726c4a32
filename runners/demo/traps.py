"""The traps of the rowing club: a calendar that has no last month, and an album whose path grows with each page."""

import re

from .pages import Page

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
