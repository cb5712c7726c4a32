"""Statements of authors about the use of their content: AI preferences, content signals, reservations of mining, noai.

Sources: draft-ietf-aipref-attach and draft-ietf-aipref-vocab (editor's copies of 2026-08-19), which write preferences
as a dictionary of RFC 9651; TDM Reservation Protocol (W3C Community Group, copy of 2025-12-07); content signals
(`signals`); `noai` and `noimageai`, a convention of image sites.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import http_sf

from . import signals

TRAINING, SEARCH = "train-ai", "search"
CATEGORIES = (TRAINING, SEARCH)
"""The categories of use of the vocabulary; other labels are ignored."""

RSL_PAGES = "rsl_pages"
"""The name under which a file of documents counts those that say something of licences."""

_VALUES = {"y": True, "n": False}


class Usage(NamedTuple):
    """Preferences about a page."""

    content_usage: str = ""  # as `render` writes it
    tdm_reservation: bool | None = None  # None: not stated
    tdm_policy: str = ""
    noai: bool = False
    noimageai: bool = False
    content_signals: str = ""  # as `signals.render` writes it
    rsl: str = ""  # URLs of licences, statements, and statements of a feed with the paths of its items, one a line

    @classmethod
    def stored(cls, row: Mapping[str, Any]) -> "Usage":
        """The preferences in a row of table documents."""
        return cls(
            **{name: default if row[name] is None else row[name] for name, default in cls._field_defaults.items()}
        )

    def __or__(self, other: "Usage") -> "Usage":
        """Both together: the most restrictive AI preference; the TDM values of `other`, where it has some.

        Vocab, "Combining Preferences"; TDMRep, "Processing priority": values in a page replace those of its header.
        """
        if not any(other):  # nearly all pages
            return self if other.tdm_reservation is None else self._replace(tdm_reservation=False)
        return Usage(
            combine(self.content_usage, other.content_usage),
            self.tdm_reservation if other.tdm_reservation is None else other.tdm_reservation,
            other.tdm_policy or self.tdm_policy,
            self.noai or other.noai,
            self.noimageai or other.noimageai,
            signals.join((self.content_signals, other.content_signals)),
            "\n".join(dict.fromkeys([*self.rsl.splitlines(), *other.rsl.splitlines()])),
        )

    def training(self, media_type: str) -> bool | None:
        """Whether content of a type may train models: False if anything reserves it, None if nothing is stated."""
        return _concluded(
            parse(self.content_usage).get(TRAINING), self._signal(signals.AI_TRAIN), self._processing(media_type)
        )

    def input(self, media_type: str) -> bool | None:
        """Whether content of a type may be the input of models, as `training`."""
        return _concluded(self._signal(signals.AI_INPUT), self._processing(media_type))

    def search(self) -> bool | None:
        """Whether searches may find the content, as `training`."""
        if not (self.content_usage or self.content_signals or self.rsl):
            return None
        return _concluded(parse(self.content_usage).get(SEARCH), self._signal(signals.SEARCH))

    def _signal(self, name: str) -> bool | None:
        own = "\n".join(line for line in self.rsl.splitlines() if not line.startswith(("/", "*", "http")))
        stated = (signals.allows(text, name) for text in (self.content_signals, own) if text)
        return _concluded(*stated)

    def _processing(self, media_type: str) -> bool | None:
        """Whether models may process the content at all: text and data mining, noai."""
        if self.noai or (self.noimageai and media_type.startswith("image/")):
            return False
        return None if self.tdm_reservation is None else not self.tdm_reservation

    def text(self) -> str:
        """All preferences as one line; "" if there are none."""
        tdm = "" if self.tdm_reservation is None else f"tdm-reservation={int(self.tdm_reservation)}"
        flags = [name for name in ("noai", "noimageai") if getattr(self, name)]
        stated = [self.content_usage, self.content_signals, tdm, self.tdm_policy, *flags]
        return " ".join(filter(None, [*stated, *(f"RSL: {line}" for line in self.rsl.splitlines())]))

    def columns(self, media_type: str) -> dict[str, Any]:
        """The columns of table documents."""
        return {
            "content_usage": self.content_usage or None,
            "tdm_reservation": self.tdm_reservation,
            "tdm_policy": self.tdm_policy or None,
            "noai": self.noai,
            "noimageai": self.noimageai,
            "ai_training": self.training(media_type),
            "content_signals": self.content_signals or None,
            "ai_input": self.input(media_type),
            "search": self.search(),
            "rsl": self.rsl or None,
        }


def _concluded(*stated: bool | None) -> bool | None:
    """What several sources say together: False if one reserves the use, True if one allows it, None if none speaks."""
    if False in stated:
        return False
    return True if True in stated else None


def from_headers(headers: Iterable[tuple[str, str]]) -> Usage:
    """The preferences in `Content-Usage`, `Content-Signal`, `tdm-reservation` and `tdm-policy` headers."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        if (lower := name.lower()) in _HEADERS:
            values.setdefault(lower, []).append(value)
    if not values:
        return Usage()
    statement = render(parse(", ".join(values.get("content-usage", ()))))
    return from_meta((name, value) for name, found in values.items() for value in found)._replace(
        content_usage=statement
    )


_SIGNALS = frozenset({"content-signal", "content-signals", "x-content-signals"})
"""Names of headers and meta tags with content signals; the last one is that of a plug-in."""

_HEADERS = frozenset({"content-usage", "tdm-reservation", "tdm-policy", *_SIGNALS})


def from_meta(tags: Iterable[tuple[str, str]]) -> Usage:
    """The preferences in (name, content) meta tags: the first valid value of a TDM name, and all content signals."""
    reservation, policy, stated = None, "", list[str]()
    for name, content in tags:
        lower = name.strip().lower()
        if lower == "tdm-reservation" and reservation is None:
            reservation = {"0": False, "1": True}.get(content.strip())
        elif lower == "tdm-policy" and not policy:
            policy = content.strip()[:2048]
        elif lower in _SIGNALS:
            stated.append(content[:2048])
    return Usage(tdm_reservation=reservation, tdm_policy=policy, content_signals=signals.join(stated) if stated else "")


def parse(statement: str) -> Mapping[str, bool]:
    """The stated categories of use, and whether each is allowed; empty if the statement is malformed.

    >>> parse("train-ai=y, search=n;x=1, other=y"), parse("train-ai=?0, search"), parse("Train-AI=n")
    ({'train-ai': True, 'search': False}, {}, {})
    """
    if not statement.strip():
        return {}
    try:
        found: Any = http_sf.parse(statement.encode("ascii"), tltype="dictionary")
    except (http_sf.StructuredFieldError, UnicodeEncodeError):
        return {}
    tokens = {name: str(value[0]) for name, value in found.items() if isinstance(value[0], http_sf.Token)}
    return {name: _VALUES[tokens[name]] for name in CATEGORIES if tokens.get(name) in _VALUES}


def render(preferences: Mapping[str, bool]) -> str:
    """Preferences as a statement.

    >>> render({"search": True, "train-ai": False})
    'train-ai=n, search=y'
    """
    return ", ".join(f"{name}={'y' if preferences[name] else 'n'}" for name in CATEGORIES if name in preferences)


def combine(*statements: str) -> str:
    """Several statements as one: what any of them disallows is disallowed (vocab, "Combining Preferences").

    >>> combine("train-ai=y, search=y", "train-ai=n", "")
    'train-ai=n, search=y'
    """
    if len(stated := [text for text in statements if text]) < 2:
        return render(parse(stated[0])) if stated else ""
    found: dict[str, bool] = {}
    for text in stated:
        for name, allowed in parse(text).items():
            found[name] = found.get(name, True) and allowed
    return render(found)
