"""Soft 404s: what a host answers to paths that cannot exist, and the pages that are like that answer.

A family whose pages look like answers to any address is asked for two such paths (docs/trap-judgement.md).
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ..batches.batch_schemas import YieldRow
from ..tables.schemas import Row
from ..urls.templates import extension
from .novelty import pack, unpack
from .page_words import hashes

ASKED_AT_ONCE = 8
"""Families of a host that are asked in a round, with two requests each: one page may be the frame of the site."""

_MANY = 8  # pages of a round
_MOST = 1 / 2  # of those that pages of the same folders have led to are linked by no other page
_SHARE = 9 / 10  # of the pages of a family, whoever links them, if all that is new is in their own URLs
_ENOUGH = 2  # words of a page that the answer does not have and that make it a page of its own
_IN_COMMON = 1 / 2  # share of the words of the shorter answer that both have, if the answer is always the same
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PATHS = 2
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
    words: Collection[int] = frozenset()  # of the answers, if they are the same, without those of their URLs
    frame: int | None = None  # of the answers, if it is the same

    @classmethod
    def of(cls, rows: Sequence[YieldRow]) -> "Answers":
        """What the answers to two paths tell; ASKED if one of them failed and the other one is a page."""
        if any(row["words"] is None for row in rows):
            return cls(ErrorPages.NONE)
        if len(rows) < _PATHS:
            return cls(ErrorPages.ASKED)
        words = [unpack(row["words"]) - unpack(row["own_words"]) for row in rows]
        frame = rows[0]["frame"] if len({row["frame"] for row in rows}) == 1 else None
        if len(set.intersection(*words)) < _IN_COMMON * min(map(len, words)):
            return cls(ErrorPages.RANDOM, frame=frame)
        return cls(ErrorPages.SAME, set[int]().union(*words), frame)

    def has(self, page: YieldRow, *, is_series: bool) -> bool:
        """Whether a page says no more than the host says to any path of the family.

        So it is if it has the words of the answer, or the frame of an answer in random words. If the frame is random,
        too, so are the pages to which only pages of their own template, or without news, link.
        """
        if self.answer is ErrorPages.RANDOM:
            return is_series or self.frame == page["frame"]
        words = unpack(page["words"]) - unpack(page["own_words"])
        return self.answer is ErrorPages.SAME and len(words - set(self.words)) < _ENOUGH

    def ends(self, page: YieldRow) -> bool:
        """Whether a page that is so is no page at all."""
        return self.frame == page["frame"]

    def columns(self) -> Row:
        return {"answer": self.answer, "answer_words": pack(self.words), "answer_frame": self.frame}


def answers_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Answers]:
    """What is known of the families of a host, of its rows of table trap_samples; the newest answer counts."""
    return {
        row["template"]: Answers(ErrorPages(row["answer"]), unpack(row["answer_words"]), row.get("answer_frame"))
        for row in sorted(rows, key=lambda row: row["round"])
        if row.get("answer")
    }


class Evidence(NamedTuple):
    """A page that may be an answer to any address."""

    page: YieldRow
    group: str  # its family
    origin: str | None  # the folder of the page that links it
    is_named: bool  # all that is new is in its own URL


def suspected(
    pages: Iterable[Evidence], visited: Collection[YieldRow], sizes: Mapping[str, int]
) -> dict[str, YieldRow]:
    """A page of each family that leads on and on: to pages that lead to others, most of which nothing else links.

    The pages of a real site link each other, which shows if a round has `visited` more than one of those that a page
    links. `sizes` has the number of pages of each family. One nearly all of whose pages are named, and linked by no
    other, is suspicious, too.
    """
    some = [one for one in pages if "?" not in one.page["url"]]
    if len(some) < _MANY:
        return {}
    linked = set[int]().union(*(unpack(page["links"]) for page in visited))
    alone = [one for one in some if not linked & unpack(hashes([one.page["url"]]))]
    folders, named = {folder_of(one.group) for one in some}, Counter(one.group for one in alone if one.is_named)
    of_page = Counter(page["referrer"] for page in visited)
    found = [one for one in alone if one.origin in folders and of_page[one.page["referrer"]] > 1]
    if len(found) < max(_MANY, _MOST * sum(one.origin in folders for one in some)):
        found = [one for one in alone if named[one.group] >= max(_MANY, _SHARE * sizes[one.group])]
    return {one.group: one.page for one in reversed(found)}


def folder_of(group: str) -> str:
    """The first folder of a family.

    >>> folder_of("/news/**.html"), folder_of("/**")
    ('/news', '')
    """
    return group.partition("/**")[0]


def impossible_urls(url: str, key: bytes) -> list[str]:
    """Two URLs beside a URL whose last names cannot exist, and that no site can foresee without the key.

    >>> impossible_urls("http://a.test/b/c.html", b"key")
    ['http://a.test/b/dkspdkyhkigk.html', 'http://a.test/b/kehbvuudprrn.html']
    """
    path = url.partition("?")[0].rstrip("/")
    folder, end = path[: path.rfind("/") + 1], extension(path) or "/" * url.endswith("/")
    digest = hashlib.blake2b(url.encode(), key=key).digest()
    names = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[: _LENGTH * _PATHS])
    return [folder + names[start : start + _LENGTH] + end for start in range(0, len(names), _LENGTH)]
