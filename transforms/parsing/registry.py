"""Parsers: which kinds of content become documents, and what reads each of them."""

import functools
from collections.abc import Iterable
from typing import Protocol

from .. import plugins
from ..http import media_types
from .source import Page, Source

PARSE_ERROR = "parse_error"
"""The fact of a page that its parser has failed on: how."""

PARSE_ERRORS = "parse_errors"
"""What such documents are counted as."""


class Parser(Protocol):
    """Reads a kind of content; an entry point of `beamtrawl.parsers` leads to a class of such.

    It is made once a process, without arguments, and may be asked by several threads.
    """

    media_types: frozenset[str]
    """Lower-case essences; a type may be claimed by several kinds, which are then asked in turn."""

    extensions: frozenset[str]
    """Lower-case, without the dot: of URLs that lead to such content."""

    def parse(self, source: Source) -> Page | None:
        """The page in a body; None if it is not of this kind after all. What it raises is a failed document."""


class Kinds:
    """The kinds of content that become documents, by the names of their parsers.

    `link_kinds` are kinds of links that lead to one, beside those that lead to pages: a parser may have an attribute
    of that name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._parsers: list[Parser] = [plugins.load(plugins.PARSERS, name)() for name in names]
        self.media_types = frozenset[str]().union(*(parser.media_types for parser in self._parsers))
        self.extensions = frozenset[str]().union(*(parser.extensions for parser in self._parsers))
        self.link_kinds = frozenset[str]().union(*(getattr(parser, "link_kinds", ()) for parser in self._parsers))

    @property
    def accept(self) -> str:
        """The value of an Accept header: these types, HTML rather than others, and anything if need be."""
        html = sorted(media_types.HTML & self.media_types, reverse=True)
        others = sorted(f"{name};q=0.8" for name in self.media_types - media_types.HTML)
        return ",".join([*html, *others, "*/*;q=0.1"])

    def parse(self, source: Source) -> Page | None:
        """The page in a body, by the first parser that knows it; None if none does.

        A parser that raises has failed on this one document, which then holds nothing but the fact PARSE_ERROR.
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
    """What a parser has given, if it can be stored: it may be anybody's."""
    if page is not None:
        if not isinstance(page, Page):
            raise TypeError(f"the parser gave {type(page).__name__}, not a Page")
        for text in (page.title, page.description, page.keywords, page.text, *page.headings, *page.facts.values()):
            text.encode()
    return page


@functools.cache
def kinds_of(names: tuple[str, ...]) -> Kinds:
    """The kinds of these names, looked up once a process; PluginError names one that there is not."""
    return Kinds(names)
