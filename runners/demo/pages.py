"""The text of the demo's web: one file a site, written for it, in the folder `texts`.

A site's text is a sequence of pages. A page starts with a line `# PATH TITLE`; paragraphs are parted by blank
lines; `[words](link)` is a link, in which `//NAME/` stands for the site of that name.
"""

import re
from html import escape
from importlib.resources import files
from typing import NamedTuple


class Page(NamedTuple):
    """A page of a site."""

    title: str
    paragraphs: tuple[str, ...]


def pages_of(site: str) -> dict[str, Page]:
    """The pages of a site of the demo, by path."""
    return read_pages(files(__package__).joinpath("texts", f"{site}.txt").read_text(encoding="utf-8"))


def read_pages(text: str) -> dict[str, Page]:
    """The pages of a site's text, by path."""
    pages = {}
    for part in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        path, title = head.split(" ", 1)
        pages[path] = Page(title, tuple(" ".join(p.split()) for p in body.strip().split("\n\n")))
    return pages


def render(page: Page, language: str, site: str, robots: str = "") -> str:
    """The HTML of a page; `robots` is the content of its robots meta element, none when empty."""
    meta = f'<meta name="robots" content="{robots}">' if robots else ""
    paragraphs = "\n".join(f"<p>{_links(escape(paragraph))}</p>" for paragraph in page.paragraphs)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head><meta charset="utf-8">'
        f"<title>{escape(page.title)}</title>{meta}</head>\n"
        f'<body>\n<nav><a href="/">{escape(site)}</a></nav>\n'
        f"<main>\n<h1>{escape(page.title)}</h1>\n{paragraphs}\n</main>\n</body>\n</html>\n"
    )


def _links(text: str) -> str:
    return re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r'<a href="\2">\1</a>', text)


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
