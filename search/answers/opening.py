"""Opens the index of a crawl: its segments, and which of their documents a search can find."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...transforms.blocks.files import read_blocks
from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest, MisnamedError
from ...transforms.indexing.live_segments import LiveSegment, live_index
from ...transforms.indexing.tombstones import alive, read_tombstones
from ...transforms.robots.stored_signals import read_signals
from ..index.segment import Segment
from ..index.segments import Mask
from ..query.synonyms import Synonyms, read_synonyms

WITHOUT_INDEX = ("seeds", "revisits", "fetch")
"""Steps that do not change the index."""

Place = tuple[str, str, str | None]
"""The root of a crawl, the folder of a segment, and that of its link data."""

LeaveOut = Callable[[CrawlDir, Sequence[Manifest]], Callable[[pa.ChunkedArray], Mask]]
"""For a crawl, whether a search must not find documents, by their URLs."""

ROUND_BITS = 32
"""The bits of a round in the number of several rounds."""


class Opened(NamedTuple):
    """The index of a crawl, opened."""

    segments: list[Segment]
    alive: list[Mask]  # of each segment: the documents that searches find
    synonyms: Synonyms
    round: int  # as of which it is


def open_crawl(
    crawl: CrawlDir, as_of: int | None, known: Mapping[Place, Segment], leave_out: LeaveOut | None = None
) -> Opened:
    """The index as of a round, or as of now, without the pages that are blocked, or reserved from search, now.

    Segments that are `known` are not read again. CrawlDirError if there is no crawl, no index yet, or no index as of
    that round.
    """
    manifests = crawl.require_manifests()
    _require_index(crawl.root, manifests, as_of)
    live = live_index(manifests, as_of)
    tombstones = read_tombstones(crawl.root, [file.path for _, file in live.tombstones])
    checksums = {file.path: file.checksum for manifest in manifests for file in manifest.index_files}

    def open_segment(part: LiveSegment) -> Segment:
        place = (crawl.root, part.folder, part.links)
        return known.get(place) or Segment(*place, checksums)

    with ThreadPoolExecutor(16) as pool:  # the latency of a store is that of one request
        segments = list(pool.map(open_segment, live.segments))
    hidden = list[Callable[[pa.ChunkedArray], Mask]]()
    if blocks := read_blocks(crawl):
        hidden.append(lambda urls: np.asarray(blocks.mask(urls)))
    if signals := read_signals(crawl, manifests):
        hidden.append(signals.hides)
    if leave_out is not None:
        hidden.append(leave_out(crawl, manifests))
    masks = [alive(s.facts["url_key"], p.round, tombstones) for s, p in zip(segments, live.segments, strict=True)]
    for is_hidden in hidden:
        masks = [mask & ~is_hidden(s.facts["url"]) for mask, s in zip(masks, segments, strict=True)]
    last = max(manifest.round for manifest in manifests if manifest.step not in WITHOUT_INDEX)
    return Opened(segments, masks, read_synonyms(crawl), last if as_of is None else as_of)


def _require_index(root: str, manifests: Sequence[Manifest], as_of: int | None) -> None:
    first = min((manifest.round for manifest in manifests if manifest.index), default=None)
    if first is None:
        raise CrawlDirError(f"{root} has no index yet; go on with: beamtrawl crawl {root}")
    if as_of is None:
        return
    if as_of < first:
        raise MisnamedError(f"{root} has no index as of round {as_of}; ask as of round {first} or later")
    if as_of > (last := max(manifest.round for manifest in manifests)):
        raise MisnamedError(f"{root} has no round {as_of} yet; the last one is round {last}")


def packed(rounds: Sequence[int]) -> int:
    """The rounds of several crawls as one number, that of one crawl as it is.

    >>> packed([7]), unpacked(packed([7, 0, 9]), 3)
    (7, [7, 0, 9])
    """
    return sum(round_ << ROUND_BITS * number for number, round_ in enumerate(rounds))


def unpacked(rounds: int, crawls: int) -> list[int]:
    """The rounds of so many crawls in a number."""
    others = [rounds >> ROUND_BITS * number & (1 << ROUND_BITS) - 1 for number in range(crawls - 1)]
    return [*others, rounds >> ROUND_BITS * (crawls - 1)]


def united(parts: Sequence[Synonyms]) -> Synonyms:
    """The synonyms of several crawls: a word has those of each."""
    found: dict[str, list[str]] = {}
    for word, others in (pair for part in parts for pair in part.items()):
        known = found.setdefault(word, [])
        known += [other for other in others if other not in known]
    return found
