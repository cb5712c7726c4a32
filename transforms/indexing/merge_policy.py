"""Which segments of an index are merged, and merging them: fewer segments make searches faster.

Tiers, as in log-structured merge trees: segments of about one size are merged once there are FAN_IN of them, so that a
document is written anew about as often as the index grows tenfold, and there are few segments of each size.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage.table_files import TableFile, new_path
from .link_folders import MERGED, links_folder
from .live_segments import LiveIndex, LiveSegment
from .merge import Part, merge_segments
from .read_segment import count_documents, read_file
from .tombstones import alive, read_tombstones
from .write_segment import DOCS

FAN_IN = 10
"""Segments of a tier that are merged."""

SMALL = 5_000
"""Segments of fewer documents are one tier; in each further tier they have up to ten times as many."""

DEAD = 0.5
"""The share of its documents that a segment may keep without being found."""

MOST = 200_000
"""Documents of a merged segment, at most."""


class Sized(NamedTuple):
    """How many documents a segment has, and how many of them are found."""

    documents: int
    alive: int


def full_tiers(segments: Sequence[Sized]) -> list[list[int]]:
    """The groups of segments that should be merged by now; one alone is one that has too many dead documents.

    The oldest of a tier go first. What has more than half of MOST is left as it is.
    """
    groups: list[list[int]] = []
    tiers: dict[int, list[int]] = {}
    for number, segment in enumerate(segments):
        if segment.alive <= MOST / 2:
            tiers.setdefault(_tier(segment.alive), []).append(number)
    for _, rest in sorted(tiers.items()):
        while len(rest) >= FAN_IN:
            groups.append(_fitting(rest[:FAN_IN], segments))
            del rest[: len(groups[-1])]
    merged = {number for group in groups for number in group}
    dead = [n for n, segment in enumerate(segments) if segment.documents - segment.alive > DEAD * segment.documents]
    return groups + [[number] for number in dead if number not in merged]


def everything(segments: Sequence[Sized]) -> list[list[int]]:
    """Groups that leave as few segments as MOST allows, and none with a document that is not found.

    For what these groups make there are none.
    """
    rest = sorted(range(len(segments)), key=lambda number: segments[number].alive)
    groups = []
    while rest:
        groups.append(_fitting(rest, segments))
        rest = rest[len(groups[-1]) :]
    return [group for group in groups if len(group) > 1 or segments[group[0]].alive < segments[group[0]].documents]


class Policy(NamedTuple):
    """What is merged, and when."""

    choose: Callable[[list[Sized]], list[list[int]]]
    dead: float  # the share of a segment's documents up to which it is all the same whether they are found


BY_TIERS = Policy(full_tiers, DEAD)
"""What a crawl does by itself."""

ALL = Policy(everything, 0.0)


def _tier(documents: int) -> int:
    return 0 if documents < SMALL else 1 + math.floor(math.log10(documents / SMALL))


def _fitting(numbers: Sequence[int], segments: Sequence[Sized]) -> list[int]:
    """The first of some segments: one, and further ones as long as one segment holds them."""
    total = np.cumsum([segments[number].alive for number in numbers])
    return list(numbers[: max(1, int(np.searchsorted(total, MOST, "right")))])


def measure(root: str, index: LiveIndex, share: float) -> list[Sized]:
    """The sizes of all segments; the dead are only counted where they may be more than this share."""
    return [_measured(root, segment, index.masking(segment), share) for segment in index.segments]


def _measured(root: str, segment: LiveSegment, masking: Sequence[TableFile], share: float) -> Sized:
    documents = count_documents(root, segment.folder)
    if sum(file.rows for file in masking) <= share * documents:
        return Sized(documents, documents)
    return Sized(documents, int(_alive_in(root, segment, [file.path for file in masking]).sum()))


def _alive_in(root: str, segment: LiveSegment, tombstones: Sequence[str]) -> npt.NDArray[np.bool_]:
    keys = read_file(root, f"{segment.folder}/{DOCS}", ["url_key"])["url_key"]
    return alive(keys, segment.round, read_tombstones(root, tombstones))


def merge_group(group: Sequence[LiveSegment], root: str, round_: int, tombstones: Sequence[str]) -> list[TableFile]:
    """Merge segments to one of a round, without the documents that are not found: its folder, and that of its links."""
    parts = [Part(s.folder, s.links, _alive_in(root, s, tombstones)) for s in group]
    documents = sum(int(part.alive.sum()) for part in parts)
    if not documents:
        return []
    folder = new_path("index", round_, "merged", suffix="")
    links = links_folder(folder, MERGED)
    files = [TableFile("index", folder, documents, 0, {})]
    if merge_segments(root, parts, folder, links):
        files.append(TableFile("index_links", links, documents, 0, {}))
    return files
