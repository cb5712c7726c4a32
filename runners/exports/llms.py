"""The files llms.txt and llms-full.txt of a site, in the format of https://llmstxt.org."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from turbohtml import Element, Text

from .page_markdown.content import FORM, without_unseen

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
    yield _block("h1", _line(home.title) or host)
    if home.description:
        yield from ("", _block("blockquote", _line(home.description)))
    section = None
    for entry in sorted(entries, key=lambda entry: entry.place):
        if entry.place[0] != section:
            section = entry.place[0]
            yield from ("", _block("h2", _line(section) or _PAGES), "")
        note = _line(entry.description[:_LONGEST_NOTE])
        link = Element("a", {"href": entry.url}, [Text(_line(entry.title) or entry.url)])
        yield f"- {_block('p', link, f': {note}' if note else '')}"


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
    title, text = _block("h1", _line(entry.title) or entry.url), _SOURCE.sub(r"\g<0>\\", markdown.strip())
    return f"{title}\n\nSource: <{entry.url}>\n\n{text}\n\n"


_SOURCE = re.compile(r"^\W*Source\W*:\W*?(?=<)", re.IGNORECASE | re.MULTILINE)


def _line(text: str) -> str:
    return " ".join(without_unseen(text).split())


def _block(tag: str, *parts: Element | str) -> str:
    """A block as Markdown, in one line; no character of a string is markup."""
    return Element(tag, {}, [Text(part) if isinstance(part, str) else part for part in parts]).to_markdown(FORM)
