"""Content signals: whether content may be searched, be the input of AI models, or train them (`Content-Signal`).

Sources: contentsignals.org, whose policy text gives the syntax and says that a missing signal neither grants nor
restricts; draft-romm-aipref-contentsignals-00, which defines the three categories of use and no syntax.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..urls.path_rules import rule_of

SEARCH, AI_INPUT, AI_TRAIN = "search", "ai-input", "ai-train"
SIGNALS = (SEARCH, AI_INPUT, AI_TRAIN)
"""The signals with a meaning; other keys, such as `use`, are kept as they are."""

NO = "no"

_VALUES = {**dict.fromkeys(("yes", "y", "true", "1"), "yes"), **dict.fromkeys((NO, "n", "false", "0"), NO)}
_SPELLINGS = {"train-ai": AI_TRAIN}  # that of Content-Usage

_EQUALS = re.compile(r"\s*=\s*")
_SEPARATORS = re.compile(r"[,;\s]+")
_KEY, _VALUE = re.compile(r"[a-z][a-z0-9-]{0,31}"), re.compile(r"[a-z0-9._-]{1,32}")
_MOST_OTHERS = 8


class SignalLine(NamedTuple):
    path: bytes  # a pattern as of rules; empty: all paths
    statement: str
    number: int  # in the file, from 1
    source: str = ""  # the URL of a licence (RSL); "": robots.txt

    @property
    def place(self) -> str:
        """Where it stands, as `line 3 of robots.txt`; only the URL of a licence that cannot be read."""
        source = self.source or "robots.txt"
        return f"line {self.number} of {source}" if self.number else source

    def __str__(self) -> str:
        said = " ".join(filter(None, (self.path.decode("utf-8", "replace"), self.statement)))
        return f"{'RSL' if self.source else 'Content-Signal'}: {said}"


def parse(statement: str) -> dict[str, str]:
    """The valid signals by key, the three of SIGNALS as "yes" or "no"; what is repeated restricts if it can.

    Letter case, the kind of separator, and `_` for `-` do not matter.

    >>> parse("Search=YES,ai_train = no, use=reference"), parse("search=maybe, ai-input"), parse("search=no search=yes")
    ({'search': 'yes', 'ai-train': 'no', 'use': 'reference'}, {}, {'search': 'no'})
    """
    found: dict[str, str] = {}
    for piece in _pieces(statement):
        if (pair := _pair(piece)) is not None and found.get(pair[0]) != NO and not _is_further(found, pair[0]):
            found[pair[0]] = pair[1] if pair[0] in SIGNALS else found.get(pair[0], pair[1])
    return found


def problems(statement: str) -> list[str]:
    """The parts of a statement that say nothing.

    >>> problems("search=maybe, ai-input, use=reference, ai-train=no")
    ['search=maybe', 'ai-input']
    """
    return [piece for piece in _pieces(statement) if _pair(piece) is None]


def combine(*stated: Mapping[str, str]) -> dict[str, str]:
    """Several statements as one: what any of them denies is denied; of other keys, the first value counts."""
    found: dict[str, str] = {}
    for key, value in (pair for each in stated for pair in each.items()):
        if key not in found or (key in SIGNALS and value == NO):
            found[key] = value
    return found


def render(stated: Mapping[str, str]) -> str:
    """Signals as a statement: those of SIGNALS, then at most eight others.

    >>> render({"use": "reference", "ai-train": "no", "search": "yes"})
    'search=yes, ai-train=no, use=reference'
    """
    others = sorted(key for key in stated if key not in SIGNALS)[:_MOST_OTHERS]
    return ", ".join(f"{key}={stated[key]}" for key in (*SIGNALS, *others) if key in stated)


def join(statements: Iterable[str]) -> str:
    """Several statements as one statement (`combine`).

    >>> join(["search=yes, ai-train=yes", "", "ai-train=no"])
    'search=yes, ai-train=no'
    """
    return render(combine(*(parse(text) for text in statements if text)))


def allows(statement: str, signal: str) -> bool | None:
    """Whether a statement allows a use; None if it does not say."""
    return None if (value := parse(statement).get(signal)) is None else value != NO


def text_of(lines: Iterable[SignalLine]) -> str | None:
    """Lines as columns `signals` of robots and `rsl` of documents have them, in printable ASCII; None without any."""
    written = ((rule_of(False, line.path).pattern, line.statement) for line in lines)
    return "\n".join(" ".join(filter(None, pair)) for pair in written) or None


def _pieces(statement: str) -> list[str]:
    return [piece for piece in _SEPARATORS.split(_EQUALS.sub("=", statement.lower())) if piece]


def _pair(piece: str) -> tuple[str, str] | None:
    key, _, value = piece.partition("=")
    key, value = key.replace("_", "-"), value.strip("\"'")
    key = _SPELLINGS.get(key, key)
    if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
        return None
    if key in SIGNALS:
        return (key, _VALUES[value]) if value in _VALUES else None
    return key, value


def _is_further(found: Mapping[str, str], key: str) -> bool:
    """Whether a key is one of too many that have no meaning."""
    return key not in SIGNALS and key not in found and sum(each not in SIGNALS for each in found) >= _MOST_OTHERS
