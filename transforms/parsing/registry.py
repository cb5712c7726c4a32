"""Registry of parsers, one for each kind of content that becomes documents."""

import functools
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable
from typing import Protocol

from .. import plugins
from ..http import media_types
from .page_rules import NO_RULES
from .source import Page, Source

_LONGEST_S = 600  # of real time, for one body

PARSE_ERROR = "parse_error"
"""Name of the fact that holds the error of a parser that failed on the document."""


class Parser(Protocol):
    """Parses a kind of content; an entry point of `beamtrawl.parsers` names the class.

    Instantiated once per process, without arguments. `parse` is called from several threads, that of another package in
    a process of its own (`_Apart`).
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
        self._parsers: list[Parser] = [_parser(name) for name in names]
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
                return source.page("", facts={PARSE_ERROR: _said(error)})
            if page is not None:
                return page
        return None


def _parser(name: str) -> Parser:
    kind = plugins.load(plugins.PARSERS, name)
    is_ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return kind() if is_ours else _Apart(name, kind())


class _Apart:
    """A parser of another package, which reads bodies in a process of its own, one after the other.

    If the process dies of a body, or takes ten minutes, that document has failed; the next has another process.
    """

    def __init__(self, name: str, parser: Parser) -> None:
        self._name, self._lock = name, threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.media_types, self.extensions = parser.media_types, parser.extensions
        self.link_kinds: frozenset[str] = getattr(parser, "link_kinds", frozenset())
        self.accepted = getattr(parser, "accepted", parser.media_types)

    def parse(self, source: Source) -> Page | None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = _start(self._name)
                weakref.finalize(self, _end, self._process)
            found = self._read(self._process, source._replace(rules=NO_RULES))
        return source.page("", facts={PARSE_ERROR: found}) if isinstance(found, str) else found

    def _read(self, process: "subprocess.Popen[bytes]", source: Source) -> Page | str | None:
        assert process.stdin and process.stdout
        bound = threading.Timer(_LONGEST_S, process.kill)
        bound.daemon = True
        bound.start()
        try:
            pickle.dump(source, process.stdin)
            process.stdin.flush()
            found: Page | str | None = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            code = _end(process)
            return f"the process of the parser ended with {signal.Signals(-code).name if code < 0 else code}"
        finally:
            bound.cancel()
        return found


def _start(name: str) -> "subprocess.Popen[bytes]":
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({name!r})"
    program = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _end(process: "subprocess.Popen[bytes]") -> int:
    process.kill()  # which one that has ended by itself does not notice
    process.communicate()
    return process.returncode


def serve(name: str) -> None:
    """Parse what stdin has, as the process of `_Apart`; what the parser prints goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    parser = plugins.load(plugins.PARSERS, name)()
    while True:
        try:
            source = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = pickle.dumps(_checked(parser.parse(source)))
        except Exception as error:
            answer = pickle.dumps(_said(error))
        sink.write(answer)
        sink.flush()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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
