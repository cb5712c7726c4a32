"""Observers: each new document passes by them once, in the process that has parsed it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from .. import plugins
from ..parsing.source import Page
from ..settings import Settings

ERROR = "error"
"""The kind of an alert that says how an observer has failed on a document."""


class Document(NamedTuple):
    """A document whose content is new to its URL; that it may be a copy of another one's is not known here."""

    url: str
    host: str
    page: Page
    body: bytes


class Alert(NamedTuple):
    """What an observer has to say about a document."""

    kind: str  # a short word for what was looked for; counted in the status
    matched: str  # what of that kind was found
    detail: str = ""


class Observer(Protocol):
    """Looks at documents; an entry point of `beamtrawl.observers` leads to a class of such.

    It is made at the start of a crawl and once a worker, with the settings and with a function that gives the bytes of
    a file in the crawl directory, and raises OSError. PluginError from there ends a crawl before it starts.
    """

    def __init__(self, settings: Settings, read_file: Callable[[str], bytes]) -> None: ...

    def observe(self, document: Document) -> Iterable[Alert]:
        """The alerts for a document. What it raises becomes an alert of kind ERROR."""


def open_observers(settings: Settings, read_file: Callable[[str], bytes]) -> dict[str, Observer]:
    """The observers of a crawl by name; PluginError says what is missing."""
    names = settings.documents.observers
    return {name: plugins.load(plugins.OBSERVERS, name)(settings, read_file) for name in names}


def alert_rows(observers: dict[str, Observer], visit: dict[str, Any], page: Page) -> Iterator[dict[str, Any]]:
    """The rows of table alerts for the page of a visit."""
    document = Document(visit["url"], visit["host"], page, visit["body"] or b"")
    known = {name: visit[name] for name in ("url_key", "url", "host", "round", "fetched_at")}
    for name, observer in observers.items():
        try:
            alerts = list(observer.observe(document))
        except Exception as error:
            alerts = [Alert(ERROR, type(error).__name__, str(error))]
        yield from (known | {"observer": name} | alert._asdict() for alert in alerts)
