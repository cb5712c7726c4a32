"""Upper bounds of the memory of a step, of all its processes on one machine, from what is known before it starts."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

MB = 1_000_000
GROUP_BYTES = 8 << 20
"""Bytes of bodies in a row group of visits, more if it is one body (`transforms.politeness.workers.keeper`)."""

SHARD_BYTES = 4 << 20
"""Compressed bytes of visits in a shard of hosts of an update step, unless memory is short."""

PARTITION_LINKS = 250_000
"""Links of a partition that is ranked."""

INVERTED_LINKS = 10_000
"""Documents of a segment whose links are inverted at a time."""

USED = 200 * MB
"""What the program has before a step, if it is not measured."""

_IN_DRIVER = 200 * MB  # several copies of the groups that workers take
_LEAST_SHARD_BYTES = 1 << 20
_MOST_PARTITIONS = 1_000  # of links: each sends each a batch


class Parts(NamedTuple):
    """Into how small parts a step is cut."""

    workers: int
    shard_bytes: int = SHARD_BYTES

    @property
    def segment_text(self) -> int:
        """The bytes of text in a segment of the index."""
        return 2 * self.shard_bytes

    def share(self, size: int) -> int:
        """Return what is left of a size, as of that of a shard.

        >>> Parts(1).share(100), Parts(1, SHARD_BYTES // 4).share(100)
        (100, 25)
        """
        return size * self.shard_bytes // SHARD_BYTES


ONE = Parts(1)


class Fit(NamedTuple):
    """The parts of a step, and the bound of its memory with them."""

    parts: Parts
    bound: int
    most: int | None  # that the machine gives; None: not known
    first: int  # the bound with the parts that were wanted

    def line(self, step: str) -> str:
        """Return what a user should know of it, in one line; empty if the step runs as wanted."""
        if self.most is None or self.first <= self.most:
            return ""
        given = f"{step} may take {self.first / MB:,.0f} MB of memory, and {self.most / MB:,.0f} MB are available"
        if self.bound > self.most:
            return f"{given}; in its smallest parts still {self.bound / MB:,.0f} MB: it may be ended by the system"
        workers = f"{self.parts.workers} worker{'s' if self.parts.workers > 1 else ''}"
        shards = f" and shards of {self.parts.shard_bytes >> 20} MB" if self.parts.shard_bytes < SHARD_BYTES else ""
        return f"{given}: it runs with {workers}{shards}, in at most {self.bound / MB:,.0f} MB"


def fit(bound: Callable[[Parts], int], wanted: Parts, most: int | None) -> Fit:
    """Return the largest parts whose bound is at most `most`; the smallest ones if there are none.

    >>> fit(lambda parts: 100 * parts.workers, Parts(4), 250)[:2]
    (Parts(workers=2, shard_bytes=4194304), 200)
    """
    first = bound(wanted)
    if most is None or first <= most:
        return Fit(wanted, first, most, first)
    found = [(bound(parts), parts) for parts in _smaller(wanted)]
    fitting = next(((size, parts) for size, parts in found if size <= most), None)
    size, parts = fitting or min(found, key=lambda each: each[0])
    return Fit(parts, size, most, first)


def _smaller(wanted: Parts) -> Iterator[Parts]:
    """First fewer workers, which costs time; then smaller shards too, which also costs work."""
    for workers in range(wanted.workers, 0, -1):
        yield wanted._replace(workers=workers)
    shard_bytes = wanted.shard_bytes // 2
    while shard_bytes >= _LEAST_SHARD_BYTES:
        yield Parts(1, shard_bytes)
        shard_bytes //= 2


class FetchLoad(NamedTuple):
    """What a fetch step reads, and what its processes have before it."""

    urls: int  # that it may visit
    waiting: int  # rows of the frontier
    hosts: int  # of these URLs, at most
    of_host: int  # URLs of one host, at most
    used: int = USED


class UpdateLoad(NamedTuple):
    """What an update step reads."""

    visits: int
    body_bytes: int  # uncompressed, of all visits
    group_bytes: int  # uncompressed, of the largest row group of visits
    waiting: int = 0  # rows of the frontier
    used: int = USED


class RankLoad(NamedTuple):
    """What ranking reads."""

    links: int  # and sections that they lead to
    documents: int
    segment: int  # documents of the largest segment of the index
    used: int = USED


class CompactLoad(NamedTuple):
    """What a compaction merges: so many pieces, each by one worker, of which the largest counts."""

    pieces: int
    held: int  # bytes in memory at a time, in parts of full size
    kept: int = 0  # and in parts of any size
    used: int = USED


def fetch_bound(load: FetchLoad, parts: Parts) -> int:
    """Return the bound of a fetch step.

    A worker has bodies that are read, loaded and wait to be written; their sizes are not known before. URLs are packed
    but for the next ones of each host, and all those of a host while its queue is made.
    """
    rows = 400 * (load.waiting + load.urls) + 7_000 * load.hosts + 2_500 * min(load.urls, load.of_host)
    of_worker = 180 * MB if parts.workers == 1 else min(210 * MB, 170 * MB + 20_000 * load.urls)
    return load.used + 10 * MB + rows + parts.workers * of_worker


def update_bound(load: UpdateLoad, parts: Parts) -> int:
    """Return the bound of an update step.

    A worker has a row group of visits with its parsed pages, or the texts of a segment while they are inverted: some
    36 times as many bytes if no word repeats. What the stages send each other is in a file; the driver has some of
    it, and the keys.
    """
    text = min(load.body_bytes // parts.workers, parts.segment_text)
    shuffled = min(load.body_bytes * 35 // 100 + 6_000 * load.visits, _IN_DRIVER) + 300 * load.visits
    shuffled += 300 * load.waiting
    return load.used + 140 * MB + shuffled + _processes(parts) + parts.workers * (36 * text + 4 * load.group_bytes)


def rank_partitions(links: int) -> int:
    """Return into how many partitions links are divided: of PARTITION_LINKS, and of more if these were too many."""
    return max(1, min(-(-links // PARTITION_LINKS), _MOST_PARTITIONS))


def rank_bound(load: RankLoad, parts: Parts) -> int:
    """Return the bound of ranking; what its pipelines shuffle is in a file.

    A worker has a partition, or the anchors of the documents of a segment, of which it inverts some at a time.
    """
    partitions = rank_partitions(load.links)
    of_documents = 150 * load.segment + 400 * min(load.segment, INVERTED_LINKS)
    of_worker = max(800 * load.links // partitions, of_documents * load.links // max(1, load.documents))
    return load.used + 200 * MB + _processes(parts) + parts.workers * of_worker + 2_000 * partitions**2


def compact_bound(load: CompactLoad, parts: Parts) -> int:
    """Return the bound of a compaction. Fewer pieces than workers leave some of them idle."""
    of_worker = 40 * MB + parts.share(load.held) + load.kept
    return load.used + 60 * MB + _processes(parts) + min(parts.workers, load.pieces) * of_worker


def _processes(parts: Parts) -> int:
    """The server of worker processes and what each of them has before it works; none for one worker."""
    return 80 * MB + parts.workers * 100 * MB if parts.workers > 1 else 0
