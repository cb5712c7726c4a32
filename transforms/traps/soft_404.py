"""Soft 404s: what a host answers to paths that cannot exist, and which of its folders are asked for such a path.

A folder whose pages look like answers to any address is asked once (docs/trap-judgement.md).
"""

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ..batches.batch_schemas import YieldRow
from ..tables.schemas import Row
from ..urls.templates import extension
from .novelty import unpack
from .page_words import hashes

_AT_ONCE = 8  # folders of a host that are asked in a round, with one request each
_MANY, _OF_FOLDER = 8, 2  # pages of a round, and of each of their folders on average
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LENGTH = 12  # letters of a name that cannot exist


def frames_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """The frames of the answers by folder, of rows of trap_samples; None for no page, or no answer yet."""
    frames: dict[str, int | None] = {}
    for row in sorted(rows, key=lambda row: row["round"]):
        if row.get("answer"):
            folder = folder_of(row["template"])
            frames[folder] = frames.get(folder) if row.get("answer_frame") is None else row["answer_frame"]
    return frames


def columns(asked: Iterable[str], answers: Mapping[str, int | None]) -> dict[str, Row]:
    """The columns of trap_samples, by folder, of folders that are asked and of the frames of answers."""
    rows: dict[str, Row] = {folder: {"answer": "asked"} for folder in asked}
    for folder, frame in answers.items():
        rows[folder] = {"answer": "none" if frame is None else "one", "answer_frame": frame}
    return rows


class Evidence(NamedTuple):
    """A page that may be an answer to any address."""

    page: YieldRow
    folder: str
    origin: str | None  # the folder of the page that links it; its own folder, if the page has nothing new at all


def suspected(pages: Collection[Evidence], links: Iterable[bytes]) -> dict[str, YieldRow]:
    """A page of each folder, at most eight, of those with a frame that many pages have which lead on to such pages.

    Pages that another page of the round links do not count: the pages of a real site link each other. `links` has the
    hashes of the URLs that each page of the round links.
    """
    folders, frames = {one.folder for one in pages}, defaultdict[int | None, list[Evidence]](list)
    for one in pages:
        if one.origin in folders:
            frames[one.page["frame"]].append(one)
    many = [some for some in frames.values() if len(some) >= _MANY]
    linked = set[int]().union(*map(unpack, links)) if many else set[int]()
    alone = [[one for one in some if linked.isdisjoint(unpack(hashes([one.page["url"]])))] for some in many]
    enough = (some for some in alone if len(some) >= max(_MANY, _OF_FOLDER * len({one.folder for one in some})))
    found = {one.folder: one.page for some in enough for one in some}
    return dict(itertools.islice(found.items(), _AT_ONCE))


def folder_of(group: str) -> str:
    """The first folder of a family.

    >>> folder_of("/news/**.html"), folder_of("/**")
    ('/news', '')
    """
    return group.partition("/**")[0]


def impossible_url(url: str, key: bytes) -> str:
    """A URL beside a URL whose last name cannot exist, and that no site can foresee without the key.

    >>> impossible_url("http://a.test/b/c.html", b"key")
    'http://a.test/b/dkspdkyhkigk.html'
    """
    path = url.partition("?")[0].rstrip("/")
    folder, end = path[: path.rfind("/") + 1], extension(path) or "/" * url.endswith("/")
    digest = hashlib.blake2b(url.encode(), key=key).digest()
    return folder + "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_LENGTH]) + end
