"""Chooses the segments that are merged, and merges them: fewer segments make searches faster.

Tiers, as in log-structured merge trees: segments of about one size are merged once there are FAN_IN of them, until
they are large. So a document of a large round is rewritten once, and one of small rounds some times.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..memory.bounds import MB, ONE, CompactLoad, Parts
from ..tables.table_files import TableFile, new_path
from .link_folders import MERGED, links_folder
from .live_segments import LiveIndex, LiveSegment
from .merge import Part, merge_segments
from .read_segment import count_documents
from .segment_files import read_file
from .tombstones import alive, read_tombstones
from .write_segment import DOCS

FAN_IN = 10
"""The number of segments of a tier from which on they are merged."""

MOST_MERGED = 5 * FAN_IN
"""The most segments that are merged into one: each has two open files."""

SMALL_DOCUMENTS = 1_000
"""Segments of fewer documents are the first tier; each further tier holds up to ten times as many."""

MAX_DEAD_SHARE = 0.5
"""The largest share of dead documents of a segment; beyond it, the segment is rewritten."""

LARGE_DOCUMENTS = 10_000
"""From so many documents on, a segment is merged by `beamtrawl compact` alone: each costs a new query some ms."""

MERGED_DOCUMENTS = 5 * LARGE_DOCUMENTS
"""The most documents of a segment that a crawl writes."""

MAX_DOCUMENTS = 200_000
"""The most documents of a segment that `beamtrawl compact` writes."""


HELD = 280 * MB
"""Bytes of postings and texts that are in memory while large segments are merged; seven of 13 sites took 220 MB."""


class Sized(NamedTuple):
    """The number of documents of a segment, and of those that are not masked by tombstones."""

    documents: int
    alive: int


def full_tiers(segments: Sequence[Sized]) -> list[list[int]]:
    """The groups of segments to merge now; a group of one is a segment with too many dead documents.

    The oldest of a tier come first. Many become two groups at least, for two workers.
    """
    groups: list[list[int]] = []
    tiers: dict[int, list[int]] = {}
    for number, segment in enumerate(segments):
        if segment.alive < LARGE_DOCUMENTS:
            tiers.setdefault(_tier(segment.alive), []).append(number)
    for _, rest in sorted(tiers.items()):
        most = min(MOST_MERGED, max(2 * FAN_IN - 1, -(-len(rest) // 2)))
        while len(rest) >= FAN_IN:
            groups.append(_fitting(rest[:most], segments, MERGED_DOCUMENTS))
            del rest[: len(groups[-1])]
    merged = {number for group in groups for number in group}
    dead = [
        n
        for n, segment in enumerate(segments)
        if segment.documents - segment.alive > MAX_DEAD_SHARE * segment.documents
    ]
    return groups + [[number] for number in dead if number not in merged]


def everything(segments: Sequence[Sized]) -> list[list[int]]:
    """The groups that leave as few segments as MAX_DOCUMENTS allows, and no dead documents.

    Applied to its own result it gives no groups.
    """
    rest = sorted(range(len(segments)), key=lambda number: segments[number].alive)
    groups = []
    while rest:
        groups.append(_fitting(rest, segments, MAX_DOCUMENTS))
        rest = rest[len(groups[-1]) :]
    return [group for group in groups if len(group) > 1 or segments[group[0]].alive < segments[group[0]].documents]


class Policy(NamedTuple):
    """A rule for merging."""

    choose: Callable[[list[Sized]], list[list[int]]]
    dead: float  # up to this share of dead documents, `choose` needs no exact count


BY_TIERS = Policy(full_tiers, MAX_DEAD_SHARE)
"""The policy of a crawl after each update step."""

ALL = Policy(everything, 0.0)
"""The policy of `beamtrawl compact`."""


def _tier(documents: int) -> int:
    return 0 if documents < SMALL_DOCUMENTS else 1 + math.floor(math.log10(documents / SMALL_DOCUMENTS))


def _fitting(numbers: Sequence[int], segments: Sequence[Sized], most: int) -> list[int]:
    """The first of some segments, at least one, that have at most so many documents together."""
    total = np.cumsum([segments[number].alive for number in numbers])
    return list(numbers[: max(1, int(np.searchsorted(total, most, "right")))])


def load_of(groups: Sequence[Sequence[TableFile]], documents: int) -> CompactLoad:
    """What merging takes, by the files of each group and the documents of the largest.

    In memory are blocks of the postings of each segment (`merge.BLOCKS`), the postings that are merged, and some texts
    (`merge.TEXT_BYTES`); of all documents of a group, what they are sorted by and the most frequent word's postings.
    """
    largest = max((sum(file.bytes for file in group) for group in groups), default=0)
    return CompactLoad(len(groups), min(HELD, 12 * largest), 500 * documents)


def measure(root: str, index: LiveIndex, share: float) -> list[Sized]:
    """The sizes of all segments; dead documents are counted only where they may exceed this share."""
    return [_measured(root, segment, index.masking(segment), share) for segment in index.segments]


def _measured(root: str, segment: LiveSegment, masking: Sequence[TableFile], share: float) -> Sized:
    documents = count_documents(root, segment.folder)
    if sum(file.rows for file in masking) <= share * documents:
        return Sized(documents, documents)
    return Sized(documents, int(_alive_in(root, segment, [file.path for file in masking]).sum()))


def _alive_in(root: str, segment: LiveSegment, tombstones: Sequence[str]) -> npt.NDArray[np.bool_]:
    keys = read_file(root, f"{segment.folder}/{DOCS}", ["url_key"])["url_key"]
    return alive(keys, segment.round, read_tombstones(root, tombstones))


def merge_group(
    group: Sequence[LiveSegment], root: str, round_: int, tombstones: Sequence[str], sizes: Parts = ONE
) -> list[TableFile]:
    """Merge segments into one of a round, without dead documents, in parts of so many bytes.

    Returns its folder, that of its link data, and their files.
    """
    parts = [Part(s.folder, s.links, _alive_in(root, s, tombstones)) for s in group]
    documents = sum(int(part.alive.sum()) for part in parts)
    if not documents:
        return []
    folder = new_path("index", round_, "merged", suffix="")
    links = links_folder(folder, MERGED)
    files = merge_segments(root, parts, folder, links, sizes=sizes)
    folders = [TableFile("index", folder, documents, 0, {})]
    if any(part.links for part in parts):
        folders.append(TableFile("index_links", links, documents, 0, {}))
    return folders + files
