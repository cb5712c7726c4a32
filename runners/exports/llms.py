"""The files llms.txt and llms-full.txt of a site, in the format of https://llmstxt.org."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from .page_markdown.content import without_unseen
from .page_markdown.escapes import destination, escape, escape_start, heading

_PAGES = "Pages"
"""The section of pages that are in no folder."""

_LONGEST_NOTE = 300  # characters


class Entry(NamedTuple):
    """A page of a site."""

    url: str
    title: str
    description: str
    depth: int  # links from a seed

    @classmethod
    def of(cls, document: dict[str, Any]) -> "Entry":
        """The page of a row of documents."""
        return cls(document["url"], document["title"] or "", document["description"] or "", document["depth"] or 0)

    @property
    def place(self) -> tuple[str, str]:
        """The section of the page, "" for those in no folder, and its URL: the order of the files."""
        first, slash, _ = urlsplit(self.url).path.removeprefix("/").partition("/")
        return (unquote(first) if slash else "", self.url)


def home_of(entries: Sequence[Entry]) -> Entry:
    """The page that the site is named by: a seed, or the nearest to one; of several, the one with the shortest URL."""
    return min(entries, key=lambda entry: (entry.depth, len(entry.url), entry.url))


def llms_lines(entries: Sequence[Entry], host: str) -> Iterator[str]:
    """The lines of llms.txt: the name of the site, what it says about itself, and its pages by folder."""
    home = home_of(entries)
    yield heading(1, _text(home.title) or escape(host))
    if home.description:
        yield from ("", f"> {escape_start(_text(home.description))}")
    section = None
    for entry in sorted(entries, key=lambda entry: entry.place):
        if entry.place[0] != section:
            section = entry.place[0]
            yield from ("", heading(2, _text(section) or _PAGES), "")
        note = _text(entry.description[:_LONGEST_NOTE])
        yield f"- [{_text(entry.title) or escape(entry.url)}]({destination(entry.url)}){f': {note}' if note else ''}"


def ends(text: str) -> bool:
    """Whether Markdown that a site wrote ends where it ends, so that it swallows no page after it."""
    if not _OPENS.search(text):
        return True
    if len(text) > _MOST_PARSED:
        return False
    blocks = MarkdownIt("commonmark")
    blocks.core.ruler.enableOnly(["normalize", "block"])  # without what is within lines, it is quick
    last = blocks.parse(f"{text}\n\n# End\n")[-3:]
    return [(token.type, token.level) for token in last[:1]] == [("heading_open", 0)]


_MOST_PARSED = 1 << 17  # characters: seconds, at worst
_OPENS = re.compile(r"`{3}|~{3}|<[!?spt]", re.IGNORECASE)  # CommonMark 0.31, 4.5 and 4.6


def full_page(entry: Entry, markdown: str) -> str:
    """A page in llms-full.txt. No line of it is that which begins the next page."""
    title, text = heading(1, _text(entry.title) or escape(entry.url)), _SOURCE.sub(r"\g<0>\\", markdown.strip())
    return f"{title}\n\nSource: <{entry.url}>\n\n{text}\n\n"


_SOURCE = re.compile(r"^\W*Source\W*:\W*?(?=<)", re.IGNORECASE | re.MULTILINE)


def _text(text: str) -> str:
    return escape(" ".join(without_unseen(text).split()))
