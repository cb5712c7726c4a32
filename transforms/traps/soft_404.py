"""Soft 404s: what a host answers to paths that cannot exist, and the pages that are like that answer.

A family whose pages look like answers to any address is asked for two such paths, once (docs/trap-judgement.md).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ..batches.batch_schemas import YieldRow
from ..tables.schemas import Row
from ..urls.templates import extension, family
from .discovery import shape_of
from .novelty import pack, unpack

ASKED_AT_ONCE = 8
"""Families of a host that are asked in a round, with `_PATHS` requests each."""

_PATHS = 2  # per family; one does not tell a fixed answer from a random one
_NAMED, _SERIES, _ALIKE = 2, 8, 8
"""Pages of a round that make a family suspicious: with news of their URL alone, in a series, and with one frame, no new
title, and found by pages of the families that have this frame."""

_ENOUGH = 2  # words of a page that the answer does not have and that make it a page of its own
_IN_COMMON = 1 / 2  # share of the words of the shorter answer that both have, if the answer is always the same
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LENGTH = 12  # letters of a name that cannot exist


class ErrorPages(StrEnum):
    """What a host answers to paths of a family that cannot exist."""

    ASKED = "asked"  # not known yet: the answer is to come, or the request failed
    NONE = "none"  # no page: an error or a redirect
    SAME = "same"  # a page with the same words for each path
    RANDOM = "random"  # a page with other words for each path


class Answers(NamedTuple):
    """What is known of a family."""

    answer: ErrorPages
    words: frozenset[int] = frozenset()  # of the answer, if it is the same
    frame: int | None = None  # of the answer, if it is the same

    def has(self, page: YieldRow, *, is_series: bool) -> bool:
        """Whether a page is an answer that its host gives to any path of the family.

        So it is if it has the words of the answer, or the frame of an answer in random words. If the frame is random,
        too, so are the pages to which only pages of their own template, or without news, link.
        """
        if self.answer is ErrorPages.SAME:
            return len(unpack(page["words"]) - unpack(page["own_words"]) - self.words) < _ENOUGH
        is_framed = self.frame is not None and self.frame == page["frame"]
        return self.answer is ErrorPages.RANDOM and (is_framed or is_series)

    def columns(self) -> Row:
        return {"answer": self.answer, "answer_words": pack(self.words), "answer_frame": self.frame}


class Suspicion:
    """Counts the pages of a family in a round that may be answers to any address."""

    def __init__(self) -> None:
        self.named = self.series = 0
        self.sample: YieldRow | None = None

    def add(self, request: YieldRow, *, is_named: bool, is_series: bool) -> None:
        """Counts a page that counts for its template.

        `is_named`: all that is new on it is in its own URL; `is_series`: only pages of its own template, or without
        news, link to it.
        """
        self.named += is_named
        self.series += is_series
        if (is_named or is_series) and self.sample is None and "?" not in request["url"]:
            self.sample = request

    def __bool__(self) -> bool:
        return self.sample is not None and (self.named >= _NAMED or self.series >= _SERIES)


def alike(pages: Iterable[tuple[str, YieldRow]]) -> dict[str, YieldRow]:
    """A page of each family that leads on and on: pages of one frame that pages of such families have led to.

    Takes the pages of a round without a new title, with their families.
    """
    found, framed = dict[str, YieldRow](), dict[int | None, list[tuple[str, YieldRow]]]()
    for group, page in pages:
        framed.setdefault(page["frame"], []).append((group, page))
    for some in framed.values():
        groups = {group for group, _ in some} if len(some) >= _ALIKE else set()
        chained = [one for one in some if groups and family(shape_of(one[1]["referrer"] or "").template) in groups]
        if len(chained) >= _ALIKE:
            found = {group: page for group, page in reversed(chained) if "?" not in page["url"]} | found
    return found


def impossible_urls(url: str, key: bytes) -> list[str]:
    """URLs beside a URL whose last name cannot exist, and that no site can foresee without the key.

    >>> impossible_urls("http://a.test/b/c.html", b"key")[0]
    'http://a.test/b/rjlmfsqvvwcy.html'
    """
    path = url.partition("?")[0].rstrip("/")
    folder, end = path[: path.rfind("/") + 1], extension(path) or "/" * url.endswith("/")
    digests = (hashlib.blake2b(f"{number} {url}".encode(), key=key).digest() for number in range(_PATHS))
    names = ("".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_LENGTH]) for digest in digests)
    return [folder + name + end for name in names]


def learn(answers: Sequence[YieldRow]) -> Answers:
    """What the answers to the impossible URLs of a family tell."""
    pages = [unpack(row["words"]) - unpack(row["own_words"]) for row in answers if row["words"] is not None]
    if not pages or len(pages) < len(answers):
        return Answers(ErrorPages.NONE)
    frame, *others = (row["frame"] for row in answers)
    frame = frame if others == [frame] else None
    common = set.intersection(*pages)
    if len(pages) > 1 and len(common) < _IN_COMMON * min(map(len, pages)):
        return Answers(ErrorPages.RANDOM, frame=frame)
    return Answers(ErrorPages.SAME, frozenset().union(*pages), frame)


def answers_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Answers]:
    """What is known of the families of a host, of its rows of table trap_samples; the newest answer counts."""
    return {
        row["template"]: Answers(
            ErrorPages(row["answer"]), frozenset(unpack(row["answer_words"])), row.get("answer_frame")
        )
        for row in sorted(rows, key=lambda row: row["round"])
        if row.get("answer")
    }
