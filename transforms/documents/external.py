"""The external targets of links: URLs outside the hosts of the crawl, of which `check links` needs the status.

A crawl has a bounded number of them, so table `external` is small: each worker reads it whole, and what it holds is not
found again. Which targets a round adds is decided in one place. The sites that link them take turns, so that none
leaves the others without any.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import CANDIDATES, NOT_FOLLOWED, CandidateRow
from ..batches.found_urls import candidate
from ..batches.partitions import Partition, in_one_place, tagged
from ..batches.writers import write_rows
from ..tables.batches import Batch, read_ipc, split
from ..tables.schemas import EXTERNAL_TARGETS, VisitRow
from ..tables.sitemap_terms import EXTERNAL
from ..tables.table_files import TableFile, read_table
from ..urls.canonical import host, site
from ..urls.filters import UrlFilter

Way = tuple[int, str, str]
"""(depth, page with the link, URL): of several ways to a target the least counts, and the least ways come first."""

Ways = dict[tuple[str, bytes], Way]
"""The least way from each site to each target, by the site and the key of the target."""


class Known(NamedTuple):
    """The external targets that a crawl has, and how many it may have yet."""

    keys: frozenset[bytes]
    room: int

    @classmethod
    def read(cls, root: str, paths: Sequence[str], most: int) -> "Known":
        """Read the files of table `external` of a crawl that may have `most`."""
        keys = frozenset(read_table(root, paths, EXTERNAL_TARGETS, ["url_key"])["url_key"].to_pylist())
        return cls(keys, max(0, most - len(keys)))


def external_of(visits: Sequence[VisitRow], links: pa.ListArray, url_filter: UrlFilter, known: Known) -> pa.Table:
    """CANDIDATES of the external targets that the links of some visits (LINK, as of `links_column`) lead to.

    Links that are not followed for another reason, such as `nofollow`, count for nothing here either.
    """
    if not known.room:
        return CANDIDATES.empty_table()
    is_rejected = pc.fill_null(pc.not_equal(pc.struct_field(links.flatten(), "rejected"), NOT_FOLLOWED), False)
    parents = pc.list_parent_indices(links).filter(is_rejected).to_pylist()
    found = links.flatten().filter(is_rejected)
    columns = (pc.struct_field(found, name).to_pylist() for name in ("target_key", "target_url", "depth"))
    reasons: dict[str, str | None] = {}
    least = Ways()
    for key, url, depth, parent in zip(*columns, parents, strict=True):
        if key in known.keys:
            continue
        if url not in reasons:
            reasons[url] = url_filter.reject_external(url)
        if reasons[url] is None:
            _add(least, key, (depth, visits[parent]["url"], url))
    rows = list(map(_candidate, _first(least, known.room).values()))
    return pa.Table.from_pylist(rows, schema=CANDIDATES)


def admitted(batches: Iterable[pa.Table], room: int) -> list[CandidateRow]:
    """The targets that a round adds, of all that its batches have found: those of the first `room` links, in turns.

    In each turn, each site has its next target by its ways; one that several sites link takes a turn of each. Neither
    the batches' order nor how the visits are divided among them matters. Holds about 2 `room` links and a batch: a link
    that is dropped has `room` others before it, and further ones only move it back.
    """
    least = Ways()
    for batch in batches:
        columns = (batch[name].to_pylist() for name in ("url_key", "depth", "referrer", "url"))
        for key, depth, page, url in zip(*columns, strict=True):
            _add(least, key, (depth, page, url))
        if len(least) > 2 * room:
            least = _first(least, room)
    shortest = dict[bytes, Way]()
    for (_, key), way in _first(least, room).items():
        shortest[key] = min(way, shortest.get(key, way))
    return list(map(_candidate, sorted(shortest.values())))


def _add(least: Ways, key: bytes, way: Way) -> None:
    name = (site(host(way[1])), key)
    least[name] = min(way, least.get(name, way))


def _first(least: Ways, count: int) -> Ways:
    """The first `count` links: sites take turns, each in the order of its ways."""
    turns, links = Counter[str](), list[tuple[int, Way, tuple[str, bytes]]]()
    for name, way in sorted(least.items(), key=lambda item: item[1]):
        links.append((turns[name[0]], way, name))
        turns[name[0]] += 1
    return {name: way for _, way, name in sorted(links)[:count]}


def _candidate(way: Way) -> CandidateRow:
    depth, page, url = way
    return candidate(url, page, depth) | CandidateRow(kind=EXTERNAL, foreign=True)


class Admitted(NamedTuple):
    """The external targets that a round adds."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES
    files: "beam.PCollection[TableFile]"


class _AdmitFn(beam.DoFn):
    def __init__(self, root: str, round_: int, paths: Sequence[str], most: int, partitions: int) -> None:
        self._root, self._round, self._paths, self._most, self._partitions = root, round_, paths, most, partitions

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        room = Known.read(self._root, self._paths, self._most).room
        added = admitted(map(read_ipc, partition[1]["found"]), room)
        candidates = pa.Table.from_pylist(added, schema=CANDIDATES)
        yield from tagged("candidates", split(candidates, "url_key", self._partitions))
        rows = [{"url_key": row["url_key"], "url": row["url"], "round": self._round} for row in added]
        yield from tagged("files", write_rows(self._root, "external", self._round, rows))


class AdmitExternal(beam.PTransform):
    """Decides in one place which external targets a round adds, of CANDIDATES; writes them to table `external`."""

    def __init__(self, root: str, round_: int, paths: Sequence[str], most: int, partitions: int) -> None:
        super().__init__()
        self._fn = _AdmitFn(root, round_, paths, most, partitions)

    def expand(self, found: "beam.PCollection[Batch]") -> "Admitted":
        together = {"found": found | "InOnePlace" >> beam.Map(in_one_place)} | "Together" >> beam.CoGroupByKey()
        return Admitted(*(together | "Admit" >> beam.ParDo(self._fn).with_outputs(*Admitted._fields)))
