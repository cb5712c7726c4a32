"""Observers: plug-ins that are called once for each new document, in the process that parsed it."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from .. import plugins
from ..parsing.source import Page
from ..settings import Settings
from ..tables.schemas import AlertRow, VisitRow

ERROR = "error"
"""The kind of an alert that reports an exception of an observer."""


class Document(NamedTuple):
    """A document whose content is new for its URL. Whether it duplicates another document is not known yet."""

    url: str
    host: str
    page: Page
    body: bytes


class Alert(NamedTuple):
    """A finding of an observer about a document."""

    kind: str  # what kind of pattern matched; `status` counts alerts by kind
    matched: str  # the pattern that matched
    detail: str = ""


class Observer(Protocol):
    """Inspects documents; an entry point of `beamtrawl.observers` names the class.

    Instantiated at the start of a crawl and once per worker, with the settings and a function that returns the bytes
    of a file in the crawl directory, or raises OSError. A PluginError ends the crawl before it starts.
    """

    def __init__(self, settings: Settings, read_file: Callable[[str], bytes]) -> None: ...

    def observe(self, document: Document) -> Iterable[Alert]:
        """The alerts for a document. An exception becomes an alert of kind ERROR."""


OpenObservers = Callable[[Callable[[str], bytes]], dict[str, Observer]]
"""Opens the observers of a crawl, by name, with a function that returns the bytes of a file in the crawl directory."""


def open_observers(settings: Settings, read_file: Callable[[str], bytes]) -> dict[str, Observer]:
    """The observers of a crawl by name; PluginError if one cannot be loaded or configured."""
    names = settings.documents.observers
    return {name: plugins.load(plugins.OBSERVERS, name)(settings, read_file) for name in names}


def alert_rows(observers: dict[str, Observer], visit: VisitRow, page: Page) -> Iterator[AlertRow]:
    document = Document(visit["url"], visit["host"], page, visit["body"] or b"")
    for name, observer in observers.items():
        try:
            alerts = list(observer.observe(document))
        except Exception as error:
            alerts = [Alert(ERROR, type(error).__name__, str(error))]
        for kind, matched, detail in alerts:
            yield AlertRow(
                url_key=visit["url_key"],
                url=visit["url"],
                host=visit["host"],
                round=visit["round"],
                fetched_at=visit["fetched_at"],
                observer=name,
                kind=kind,
                matched=matched,
                detail=detail,
            )
