"""Writes the documents, links and index segments of a round, and emits the targets of its links."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows

from ..batches.batch_schemas import CANDIDATES, Rejection
from ..batches.partitions import StageFn, tagged
from ..batches.stage_progress import StageProgress
from ..batches.writers import closed
from ..duplicates.near_rows import is_folded, near_rows, reduce_near_duplicates
from ..frontier.scorers import ScoredLink, Scorer, factors, load_scorers
from ..indexing.tombstones import REMOVALS, REPLACED
from ..indexing.write_segment import write_segment
from ..outcomes import DENIED_SEARCH, EXTRACT_ERRORS, INDEX_SCOPE, PARSE_ERRORS, Outcome
from ..parsing.page_rules import EXTRACT_ERROR
from ..parsing.registry import PARSE_ERROR
from ..parsing.spam import SOFT_404
from ..rights.usage import RSL_PAGES
from ..tables.batches import Batch, cuts, release_freed, split
from ..tables.key_scan import shard_stem
from ..tables.schemas import DOCUMENTS, LINKS
from ..tables.table_files import TableFile, TableWriter, conform, new_path
from ..traps.discovery import WITHOUT_NEWS, place_of, says_little
from ..urls.canonical import front, host, is_foreign
from ..urls.index_scope import WHOLE, IndexScope
from .mark_pages import MarkFn, Part, pages_of
from .rejections import rejections_of

DAMPING = 0.85
"""The part of a page's score that is shared equally among its links (the damping factor of PageRank)."""

_GRAIN = 2.0**-46
"""What a link passes is a multiple of it: sums of up to 128 are exact, so that they do not depend on the order."""

ROW_GROUPS = {"documents": 1_000, "links": 10_000, "near": 1_000}
"""Rows of a row group, by table: rows of links are small, and a reader of all files reads the footer of each."""

SEGMENT_TEXT = 8 << 20
"""Bytes of text in a segment, more if there is one document. Inverting takes some 15 times as much memory."""


def flatten_links(pages: pa.Table) -> pa.Table:
    """One row per link: the columns of its struct, `source_key`, `source_url`, `source_score`, `round`, `parent`."""
    links = pages["links"].combine_chunks()
    parents = pc.list_parent_indices(links)
    flat = links.flatten()
    columns = {field.name: flat.field(i) for i, field in enumerate(flat.type)}
    origins = {"source_key": "url_key", "source_url": "url", "source_score": "score", "round": "round"}
    origins |= {"links_without_news": "links_without_news", "source_foreign": "foreign"}
    columns |= {name: pages[source].take(parents) for name, source in origins.items()}
    columns["from_duplicate"] = pc.is_valid(pages["duplicate_of"]).take(parents)
    return pa.table(columns | {"parent": parents})


def candidates_of(links: pa.Table, scorers: Sequence[Scorer] = ()) -> pa.Table:
    """CANDIDATES of flattened links: the first of each target by the order of `merge_candidates`, with all scores.

    And those of less depth or fewer redirects than all before, so that it makes the same of them in whatever parts. Of
    several spellings of a target (one key), the neatest of those that its site links with the least `doubt` and depth
    is fetched. A redirect passes its whole score, a page divides `DAMPING` of its score among its targets, that of a
    Refresh included, a duplicate passes none. Scorers multiply what a page passes by each link.
    """
    needed = ("target_key", "target_url", "kind", "depth", "redirects", "source_url", "source_score", "parent")
    needed += ("links_without_news", "source_foreign", "from_duplicate", *(("anchor",) if scorers else ()))
    links = links.select(needed).filter(pc.is_null(links["rejected"]))
    passed = _passed(links)
    if scorers:
        passed *= np.array(_factors(links, scorers))
    coded = ("target_key", "target_url", "source_url")
    keys, targets, sources = (links[name].combine_chunks().dictionary_encode() for name in coded)
    foreign, doubts = _are_foreign(links, targets, sources), _doubts(links, targets, sources)
    ways = [links[name].to_numpy().astype(np.int64) for name in ("depth", "redirects")]
    neat, referrer = (pc.rank(column.dictionary).take(column.indices) for column in (targets, sources))
    lengths = pc.utf8_length(links["target_url"])  # with `neat` the order of `neatness`
    order = np.lexsort((referrer, ways[1], neat, lengths, ways[0], doubts, foreign, keys.indices))
    starts = np.flatnonzero(np.logical_or(*(_are_least(way[order], keys.indices.to_numpy()[order]) for way in ways)))
    scores = np.add.reduceat(np.rint(passed[order] / _GRAIN) * _GRAIN, starts)
    first = links.take(chosen := order[starts])
    hosts = [host(url) for url in first["target_url"].to_pylist()]
    columns = {"depth": first["depth"], "redirects": first["redirects"], "foreign": foreign[chosen], "score": scores}
    columns |= {"url_key": first["target_key"], "url": first["target_url"], "referrer": first["source_url"]}
    columns |= {"host": pa.array(hosts, pa.string()), "links_without_news": doubts[chosen] == WITHOUT_NEWS}
    return conform(pa.table(columns), CANDIDATES)


def _are_least(values: npt.NDArray[np.int64], groups: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which values are less than all before them in their group; groups ascend."""
    return np.diff(np.minimum.accumulate(values - (groups.astype(np.int64) << 32)), prepend=1 << 32) < 0


def _are_foreign(links: pa.Table, targets: pa.DictionaryArray, sources: pa.DictionaryArray) -> npt.NDArray[np.bool_]:
    """Whether each link is of another site than its target; what redirects is linked like that to which it leads.

    Pages of a site share most of their links, so each pair of a target and a site, or folder of a user, is judged once.
    """
    origins = pa.array([front(url) for url in sources.dictionary.to_pylist()], pa.string()).dictionary_encode()
    own, count = origins.indices.take(sources.indices).to_numpy(), max(1, len(origins.dictionary))
    pairs, places = np.unique(targets.indices.to_numpy() * np.int64(count) + own, return_inverse=True)
    target, origin = targets.dictionary.to_pylist(), origins.dictionary.to_pylist()
    foreign = [is_foreign(target[pair // count], origin[pair % count]) for pair in pairs.tolist()]
    redirects = pc.and_(pc.equal(links["kind"], "redirect"), pc.fill_null(links["source_foreign"], False))
    return np.array(foreign, bool)[places] | redirects.to_numpy()


def _doubts(links: pa.Table, targets: pa.DictionaryArray, sources: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """The `doubt` about the target of each link."""
    places, origins = ([place_of(url) for url in one.dictionary.to_pylist()] for one in (targets, sources))
    ways = zip(targets.indices.to_pylist(), sources.indices.to_pylist(), strict=True)
    little = [says_little(places[target], origins[source]) for target, source in ways]
    return np.where(pc.fill_null(links["links_without_news"], False), WITHOUT_NEWS, little)


def _passed(links: pa.Table) -> npt.NDArray[np.float64]:
    """The score that each followed link passes to its target, without the factors of scorers."""
    parents, scores = links["parent"].to_numpy(), links["source_score"].to_numpy()
    of_page = np.bincount(parents)[parents]
    is_redirect = pc.equal(links["kind"], "redirect").to_numpy() & (of_page == 1)
    return np.where(links["from_duplicate"].to_numpy(), 0.0, np.where(is_redirect, scores, DAMPING * scores / of_page))


def _factors(links: pa.Table, scorers: Sequence[Scorer]) -> list[float]:
    """The factor of each link; 1 for a redirect, since the link to the URL that redirects had its own."""
    columns = (links[name].to_pylist() for name in ("target_url", "anchor", "source_url", "depth"))
    scored = (ScoredLink(url, anchor or "", source, depth) for url, anchor, source, depth in zip(*columns, strict=True))
    is_redirect = pc.equal(links["kind"], "redirect").to_pylist()
    found = factors(scorers, scored)
    return [1.0 if redirect else factor for factor, redirect in zip(found, is_redirect, strict=True)]


class Finished(NamedTuple):
    """What the pages of a round lead to."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES by url_key: the targets of links
    removals: "beam.PCollection[Batch]"  # REMOVALS by url_key: of the documents
    rejections: "beam.PCollection[tuple[int, list[Rejection]]]"  # by shard
    files: "beam.PCollection[TableFile]"


class FinishFn(StageFn):
    """Writes the documents, links and index segments of parts of the pages; yields the targets of their links.

    Small parts share a segment: each that is written has to be merged one day.
    """

    def __init__(
        self,
        root: str,
        round_: int,
        korean_morphemes: bool,
        partitions: int,
        scorers: Sequence[str] = (),
        index_scope: IndexScope = WHOLE,
        segment_text: int = SEGMENT_TEXT,
        progress: StageProgress | None = None,
        shards: int = 1,
    ) -> None:
        super().__init__(progress)
        self._shards = shards
        self._root, self._round, self._partitions, self._scorers = root, round_, partitions, scorers
        self._korean_morphemes, self._index_scope, self._text = korean_morphemes, index_scope, segment_text

    def start_bundle(self) -> None:
        super().start_bundle()
        self._waiting, self._waiting_text = [DOCUMENTS.empty_table()], 0  # documents that are not indexed yet

    def process(self, part: Part) -> "Iterator[TaggedOutput]":
        stem = shard_stem(part.shard, self._shards)
        writers = {name: TableWriter(self._root, name, self._round, stem) for name in ROW_GROUPS}
        pages = pages_of(part)
        yield from self._links(pages, part.shard, writers)
        documents = pages.drop_columns(["links"])
        del pages  # the index takes most memory
        yield from self._index(documents)
        gone = {"url_key": part.gone, "reason": [Outcome.GONE_BY_CONTENT.value] * len(part.gone)}
        yield from tagged("removals", split(pa.table(gone, REMOVALS), "url_key", self._partitions))
        for writer in writers.values():
            yield from tagged("files", closed(writer))

    def _links(self, pages: pa.Table, number: int, writers: Mapping[str, TableWriter]) -> "Iterator[TaggedOutput]":
        """Write some pages and their links; yield what their links lead to."""
        links = flatten_links(pages)
        documents = conform(pages, DOCUMENTS).filter(pages["is_document"])
        for name, rows in (("documents", documents), ("links", conform(links, LINKS)), ("near", near_rows(pages))):
            for start in range(0, rows.num_rows, ROW_GROUPS[name]):
                group = rows.slice(start, ROW_GROUPS[name])
                writers[name].write(group, _counts(group) if name == "documents" else None)
        if rejections := list(rejections_of(links)):
            yield TaggedOutput("rejections", (number, rejections))
        candidates = candidates_of(links, load_scorers(self._scorers))
        yield from tagged("candidates", split(candidates, "url_key", self._partitions))

    def finish_bundle(self) -> "Iterator[TaggedOutput]":
        for file in self._segments():
            yield TaggedOutput("files", GlobalWindows.windowed_value(file))

    def _index(self, pages: pa.Table) -> "Iterator[TaggedOutput]":
        """Index some pages, with earlier ones and later ones if they are few; yield what the index removes."""
        removals = removals_of_pages(pages, self._index_scope)
        yield from tagged("removals", split(removals, "url_key", self._partitions))
        indexed = removals.filter(pc.equal(removals["reason"], REPLACED))["url_key"]
        is_indexed = pc.and_(pages["is_document"], pc.is_in(pages["url_key"], indexed))
        self._waiting.append(conform(pages, DOCUMENTS).filter(is_indexed))
        self._waiting_text += pc.sum(pc.binary_length(self._waiting[-1]["text"])).as_py() or 0
        if 2 * self._waiting_text >= self._text:  # most parts are smaller than half a segment
            yield from tagged("files", self._segments())

    def _segments(self) -> list[TableFile]:
        """Write segments of the documents that wait; the folders of the segments and their files."""
        documents = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_text = [DOCUMENTS.empty_table()], 0
        return index_shard(self._root, self._round, 0, documents, self._korean_morphemes, self._text)


class FinishPages(beam.PTransform):
    """Writes the documents, links and index segments of a round; its pages are marked by shard of the host.

    Takes PAGES, STALE, DUPLICATES, COPIES and VERDICTS (`near`) by shard. `dead` are the keys of URLs whose
    visit gave no page. Duplicates are written without text and not indexed; their links are followed, because they may
    differ. Near duplicates are indexed by their identifiers of programs only.
    """

    def __init__(self, mark: MarkFn, finish: FinishFn, dead: beam.PCollection) -> None:
        super().__init__()
        self._mark, self._finish, self._dead = mark, finish, beam.pvalue.AsList(dead)

    def expand(self, found: "dict[str, beam.PCollection[Batch]]") -> "Finished":
        parts = (
            found
            | "ByShard" >> beam.CoGroupByKey()
            | "Mark" >> beam.ParDo(self._mark, self._dead)
            | "SpreadParts" >> beam.Reshuffle()
        )
        return Finished(*(parts | "Finish" >> beam.ParDo(self._finish).with_outputs(*Finished._fields)))


def index_shard(
    root: str, round_: int, number: int, documents: pa.Table, korean_morphemes: bool, text: int = SEGMENT_TEXT
) -> list[TableFile]:
    """Write the documents of a shard that searches may find, `in_order`, as segments with so many bytes of text.

    Returns the folders of the segments and their files.
    """
    sizes = pc.fill_null(pc.binary_length(documents["text"]), 0).to_pylist()
    written: list[TableFile] = []
    for start, rows in cuts(sizes, text):
        folder = new_path("index", round_, f"shard-{number:04d}", suffix="")
        part = reduce_near_duplicates(documents.slice(start, rows))
        files = write_segment(root, folder, part, korean_morphemes)
        release_freed(part.nbytes)
        written += [TableFile("index", folder, rows, 0, {}), *files]
    return written


def removals_of_pages(pages: pa.Table, index_scope: IndexScope = WHOLE) -> pa.Table:
    """REMOVALS of the documents: REPLACED if the new version is indexed, else the reason why it is not."""
    pages = pages.filter(pages["is_document"])
    reason = pc.case_when(
        pc.make_struct(
            pc.is_valid(pages["duplicate_of"]),
            is_folded(pages),
            _has_reason(pages, SOFT_404),
            pc.fill_null(pages["noindex"], False),
            is_reserved_from_search(pages),
            index_scope.mask(pages["url"]),
        ),
        *map(
            pa.scalar, ("duplicate", "near_duplicate", SOFT_404, Outcome.DENIED_META.value, DENIED_SEARCH, INDEX_SCOPE)
        ),
        pa.scalar(REPLACED),
    )
    return pa.Table.from_arrays([pages["url_key"], reason], schema=REMOVALS)


def is_reserved_from_search(documents: pa.Table) -> pa.ChunkedArray:
    """Whether the author of each document reserves it from search."""
    return pc.fill_null(pc.invert(documents["search"]), False)


def _has_reason(pages: pa.Table, reason: str) -> pa.Array:
    return pa.array([reason in (reasons or ()) for reasons in pages["quality_reasons"].to_pylist()], pa.bool_())


def _with_fact(facts: pa.MapArray, name: str) -> int:
    count: int = pc.sum(pc.is_valid(pc.map_lookup(facts, name, "first"))).as_py()
    return count


def _counts(documents: pa.Table) -> dict[str, int]:
    facts = documents["facts"].combine_chunks()
    return {
        PARSE_ERRORS: _with_fact(facts, PARSE_ERROR),
        EXTRACT_ERRORS: _with_fact(facts, EXTRACT_ERROR),
        "duplicates": pc.sum(pc.is_valid(documents["duplicate_of"])).as_py(),
        SOFT_404: pc.sum(_has_reason(documents, SOFT_404)).as_py(),
        "near_duplicates": pc.sum(pc.is_valid(documents["near_duplicate_of"])).as_py(),
        "copies": pc.sum(pc.is_valid(documents["same_content_as"])).as_py(),
        "denied_meta": pc.sum(pc.fill_null(documents["noindex"], False)).as_py(),
        DENIED_SEARCH: pc.sum(is_reserved_from_search(documents)).as_py(),
        RSL_PAGES: documents.num_rows - documents["rsl"].null_count,
    }
