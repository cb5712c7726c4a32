"""The parts of an import: which captures of the scanned files become visits, and what workers read for them."""

import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from ...transforms.archives.captures import SCAN
from ...transforms.archives.choose import PLAN, Choice, Chosen
from ...transforms.archives.rights import RIGHTS, Rights
from ...transforms.archives.scan import read_scanned
from ...transforms.archives.sources import Source
from ...transforms.blocks.files import read_blocks
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.files import filesystem
from ...transforms.tables.bloom import Bloom
from ...transforms.tables.key_scan import Wanted
from ...transforms.tables.table_files import open_parquet
from .read_before import known_robots, known_urls
from .stored_payloads import stored_originals

_GROUP_BYTES = 64 << 20  # of files that one worker reads together
_ROW_GROUP = 20_000

File = tuple[Source | str, int]
"""(an archive, or the path of a file of visits that has payloads of earlier imports; its bytes)"""

Slice = tuple[int, int, int]
"""(number of a file, its first capture, the end)"""


def parts_of(root: str, scans: Sequence[str], most: int | None) -> Iterator[list[Slice]]:
    """The scanned captures in the order of the files, at most so many together; `scans` are paths below `root`."""
    part: list[Slice] = []
    room = most = most or 1 << 62
    for number, path in enumerate(scans):
        scanned, start = read_scanned(root, path), 0
        while scanned and start < scanned.captures:
            end = min(scanned.captures, start + room)
            part.append((number, start, end))
            start, room = end, room - (end - start)
            if not room:
                yield part
                part, room = [], most
    if part:
        yield part


def choose_captures(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    choice: Choice,
    scans: Sequence[str],
    part: Sequence[Slice],
    is_all: bool,
) -> Chosen:
    """Choose the captures of a part that become visits; `is_all`: there is no other part."""
    for number, start, end in part:
        for captures in captures_of(crawl.root, scans[number], start, end):
            choice.add("captures", captures, number)
    hosts, keys = choice.hosts(), Bloom(sum(end - start for _, start, end in part))
    for table in choice.url_keys():
        keys.add(table["url_key"])
    for known in known_urls(crawl, manifests, hosts, keys):
        choice.add("known", known)
    choice.add("known", known_robots(crawl, manifests, hosts))
    revisited = Wanted.of(choice.revisited(), "url_key", "host")
    if revisited.values:
        for number, captures in () if is_all else _elsewhere(crawl.root, scans, part):
            choice.add("elsewhere", captures.filter(pa.array(revisited.mask(captures))), number)
        blocks = read_blocks(crawl)
        for number, path in enumerate(paths_of(manifests, "visits"), len(scans)):
            for stored in stored_originals(crawl.root, path, revisited, blocks):
                choice.add("stored", stored, number)
    return choice.choose()


def _elsewhere(root: str, scans: Sequence[str], part: Sequence[Slice]) -> Iterator[tuple[int, pa.Table]]:
    """The captures that are not in a part, with the number of their file."""
    within = {number: (start, end) for number, start, end in part}
    for number, path in enumerate(scans):
        start, end = within.get(number, (0, 0))
        for first, last in ((0, start), (end, sys.maxsize)):
            if first < last:
                yield from ((number, captures) for captures in captures_of(root, path, first, last))


def captures_of(root: str, path: str, start: int = 0, end: int = sys.maxsize) -> Iterator[pa.Table]:
    """The captures of a scanned file from one number up to another."""
    with open_parquet(root, path) as file:
        first = 0
        for batch in file.iter_batches(_ROW_GROUP):
            low, high = max(start - first, 0), min(end - first, batch.num_rows)
            if low < high:
                yield pa.Table.from_batches([batch.slice(low, high - low)]).cast(SCAN)
            first += batch.num_rows


def write_plans(
    crawl: CrawlDir, attempt: str, choice: Choice, rights: Rights, files: Sequence[File], before: set[bytes]
) -> list[list[tuple[Source | str, str]]]:
    """Write the plan of each file, without what was read before; the files in groups for workers."""
    groups: list[list[tuple[Source | str, str]]] = []
    planned, room = pa.schema([*PLAN, *RIGHTS]), 0
    for number, batches in choice.plans(before):
        path = f"attempts/{attempt}-plan-{number:06d}.parquet"
        with filesystem.create(crawl.path(path)) as sink, pq.ParquetWriter(sink, planned) as writer:
            for batch in batches:
                writer.write_table(rights.of(batch))
        source, size = files[number]
        if room < size:
            groups.append([])
            room = _GROUP_BYTES
        groups[-1].append((source, path))
        room -= size
    return groups
