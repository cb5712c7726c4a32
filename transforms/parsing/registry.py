"""Registry of parsers, one for each kind of content that becomes documents."""

import functools
from collections.abc import Iterable
from typing import Protocol

from .. import plugins
from ..http import media_types
from .source import Page, Source

PARSE_ERROR = "parse_error"
"""Name of the fact that holds the error of a parser that failed on the document."""


class Parser(Protocol):
    """Parses a kind of content; an entry point of `beamtrawl.parsers` names the class.

    Instantiated once per process, without arguments. `parse` is called from several threads.
    """

    media_types: frozenset[str]
    """Lower-case essences. Several kinds may claim a type; their parsers are tried in order."""

    extensions: frozenset[str]
    """Extensions, lower-case and without the dot, of URLs with such content."""

    def parse(self, source: Source) -> Page | None:
        """The page in a body; None if it is not of this kind. An exception marks the document as failed."""


class Kinds:
    """The kinds of content that become documents, by the names of their parsers.

    `link_kinds` are kinds of links to such content that are followed in addition to links to pages; a parser may
    define an attribute of that name. An attribute `accepted` names the media types that requests ask for, if
    not all of a parser.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._parsers: list[Parser] = [plugins.load(plugins.PARSERS, name)() for name in names]
        self.media_types = frozenset[str]().union(*(parser.media_types for parser in self._parsers))
        self.extensions = frozenset[str]().union(*(parser.extensions for parser in self._parsers))
        self.link_kinds = frozenset[str]().union(*(getattr(parser, "link_kinds", ()) for parser in self._parsers))

    @property
    def accept(self) -> str:
        """The value of an Accept header: HTML first, then the other types of these kinds, then any type."""
        html = sorted(media_types.HTML & self.media_types, reverse=True)
        accepted = frozenset[str]().union(
            *(getattr(parser, "accepted", parser.media_types) for parser in self._parsers)
        )
        others = sorted(f"{name};q=0.8" for name in accepted - media_types.HTML)
        return ",".join([*html, *others, "*/*;q=0.1"])

    def parse(self, source: Source) -> Page | None:
        """The page in a body, by the first parser that accepts it; None if none does.

        If a parser raises, the document is empty except for the fact PARSE_ERROR.
        """
        for parser in self._parsers:
            if source.media_type not in parser.media_types:
                continue
            try:
                page = _checked(parser.parse(source))
            except Exception as error:
                return source.page("", facts={PARSE_ERROR: f"{type(error).__name__}: {error}"})
            if page is not None:
                return page
        return None


def _checked(page: Page | None) -> Page | None:
    """The result of a parser, which may be a plug-in; raises if it is not a Page, or cannot be stored as UTF-8."""
    if page is not None:
        if not isinstance(page, Page):
            raise TypeError(f"the parser returned {type(page).__name__}, not a Page")
        for text in (page.title, page.description, page.keywords, page.text, *page.headings, *page.facts.values()):
            text.encode()
    return page


@functools.cache
def kinds_of(names: tuple[str, ...]) -> Kinds:
    """The kinds of these names, loaded once per process; PluginError names one that is not installed."""
    return Kinds(names)
