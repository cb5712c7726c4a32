"""Exact duplicates: documents with the same content digest as another document of this or an earlier round."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import CONTENTS
from ..batches.partitions import Partition, StageFn, tagged
from ..batches.stage_progress import StageProgress
from ..batches.writers import closed
from ..indexing.tombstones import is_taken_back
from ..outcomes import Outcome
from ..tables.batches import Batch, batches_by, from_ipc, to_ipc
from ..tables.newest import newest
from ..tables.schemas import DIGESTS, KEY
from ..tables.table_files import TableFile, TableWriter
from ..urls.canonical import owner as owner_of

DUPLICATES = pa.schema([("url_key", KEY), ("duplicate_of", KEY), ("shard", pa.int32())])
COPIES = pa.schema([("url_key", KEY), ("same_content_as", KEY), ("shard", pa.int32())])
"""Documents with the same content as a document of another site, or that only other sites link; both are indexed."""

PAIRS = pa.schema(
    [
        *(("url", pa.string()), ("foreign", pa.bool_())),  # foreign: only other sites link the URL
        *(("other_url", pa.string()), ("other_foreign", pa.bool_())),
        ("digest", KEY),
    ]
)
"""Pairs of URLs with the same content: a duplicate or a copy, and the document that it duplicates or copies."""

RELEASED = pa.schema(
    [
        *(("digest", KEY), ("url_key", KEY), ("url", pa.string()), ("depth", pa.int32())),
        ("is_gone", pa.bool_()),  # the page has no new content
    ]
)
"""Contents that a visit has found replaced or gone."""


def released_contents(facts: pa.Table) -> pa.Table:
    """RELEASED of visits (`parsing.FACTS`): contents that another document may then own."""
    is_other = pc.fill_null(pc.not_equal(facts["digest"], facts["digest_before"]), True)
    is_gone = is_taken_back(facts)
    is_left = pc.or_(is_gone, pc.and_(pc.equal(facts["outcome"], Outcome.FETCHED), is_other))
    columns = [facts[name] for name in ("digest_before", "url_key", "url", "depth")]
    found = pa.Table.from_arrays([*columns, is_gone], schema=RELEASED)
    return found.filter(pc.and_(is_left, pc.is_valid(facts["digest_before"])))


def precedence(content: dict[str, Any]) -> tuple[bool, bool, int, int, str]:
    """Sort key of the documents of a site and a round with one content; the smallest owns it.

    Documents that name another page as canonical come last, before them those that only other sites link; then depth,
    length of the URL, URL.
    """
    is_foreign = bool(content.get("foreign"))
    return (content["yields"], is_foreign, content["depth"], len(content["url"]), content["url"])


class Contents(NamedTuple):
    """The result of `judge_contents`, as rows."""

    duplicates: list[dict[str, Any]]  # contents with `duplicate_of`, and `other_url`, `other_foreign` of that document
    copies: list[dict[str, Any]]  # contents with `same_content_as`, and the same
    changed: list[dict[str, Any]]  # rows of digests: contents that are new, or have no owner any more


def judge_contents(
    contents: list[dict[str, Any]], earlier: list[dict[str, Any]], left: Iterable[dict[str, Any]] = ()
) -> Contents:
    """Finds the duplicates of a round and the documents that they duplicate.

    Each content has one owner per site, or folder of a user (`canonical.owner`). A document is a duplicate of the
    owner of its content in its own site, or of a document of another site that it names as its canonical page. No
    other evidence makes it a duplicate of another site's page, because a site that copies pages could forge it. A page
    that its site links takes a content over from one that only other sites link, which could be any spelling of its
    URL; both are indexed, as copies.

    `earlier` may contain other digests and several rows of a digest, of which the newest counts; `left` are RELEASED.
    A document is never a duplicate of itself, although its own digest may be known from an earlier visit.
    """
    gone = {(row["digest"], row["url_key"]) for row in left}
    keepers = newest(earlier, _key)
    known = {key: row for key, row in keepers.items() if row["url_key"] and (key[0], row["url_key"]) not in gone}
    owners, found = dict(known), Contents([], [], [])
    with_content = {(row["digest"], row["url_key"]): row for row in (*contents, *known.values())}
    for content in sorted(contents, key=precedence):
        named = with_content.get((content["digest"], content.get("canonical_key")))
        if named and _key(named) != _key(content) and not named.get("canonical_key"):
            found.duplicates.append(_beside(content, "duplicate_of", named))
            continue
        key = _key(content)
        first = owners.setdefault(key, content)
        if first.get("foreign") and not content.get("foreign") and first["url_key"] != content["url_key"]:
            owners[key] = content
            found.copies.append(_beside(content, "same_content_as", first))
            found.changed.append(content | {"site": key[1]})
        elif first["url_key"] != content["url_key"]:
            found.duplicates.append(_beside(content, "duplicate_of", first))
        elif key not in known:
            found.changed.append(content | {"site": key[1]})
    taken_over = {row["url_key"] for row in found.copies}
    found.copies.extend(row for row in _copies(contents, owners) if row["url_key"] not in taken_over)
    no_owner = {"url_key": None, "url": None, "depth": None}
    found.changed.extend(
        row | no_owner | {"site": key[1], "foreign": None}
        for key, row in keepers.items()
        if row["url_key"] and key not in owners
    )
    return found


def _key(row: dict[str, Any]) -> tuple[bytes, str]:
    """(digest, owner) of a row of CONTENTS or DIGESTS."""
    return row["digest"], row["site"] if "site" in row else owner_of(row["host"], row["url"])


def _beside(content: dict[str, Any], relation: str, other: Mapping[str, Any]) -> dict[str, Any]:
    return content | {relation: other["url_key"], "other_url": other["url"], "other_foreign": other.get("foreign")}


def _copies(
    contents: Iterable[dict[str, Any]], owners: Mapping[tuple[bytes, str], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The contents owned in their site that a document of another site had first."""
    by_digest: dict[bytes, list[dict[str, Any]]] = {}
    for owner in owners.values():
        by_digest.setdefault(owner["digest"], []).append(owner)
    for content in contents:
        sharing = by_digest.get(content["digest"], ())
        if len(sharing) > 1 and owners.get(_key(content), content)["url_key"] == content["url_key"]:
            first = min(sharing, key=lambda row: (row.get("round", math.inf), row["depth"], row["url"]))
            if _key(first) != _key(content):
                yield _beside(content, "same_content_as", first)


class Judged(NamedTuple):
    """The contents of a round, judged."""

    duplicates: "beam.PCollection[Batch]"  # DUPLICATES, by shard
    copies: "beam.PCollection[Batch]"  # COPIES, by shard
    pairs: "beam.PCollection[Batch]"  # PAIRS
    files: "beam.PCollection[TableFile]"


class JudgeFn(StageFn):
    """Takes a partition of the digests: CONTENTS (`new`), DIGESTS (`earlier`) and RELEASED."""

    def __init__(self, root: str, round_: int, progress: StageProgress | None = None) -> None:
        super().__init__(progress)
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        sides = partition[1]
        schemas = {"new": CONTENTS, "earlier": DIGESTS, "released": RELEASED}
        judged = judge_contents(*(from_ipc(sides[name], schema).to_pylist() for name, schema in schemas.items()))
        rows = sorted(({**row, "round": self._round} for row in judged.changed), key=_key)
        writer = TableWriter(self._root, "digests", self._round)
        writer.write_rows([{name: row.get(name) for name in DIGESTS.names} for row in rows])
        yield from tagged("files", closed(writer))
        if pairs := judged.duplicates + judged.copies:
            yield TaggedOutput("pairs", (0, to_ipc(pa.Table.from_pylist(pairs, schema=PAIRS))))
        for tag, schema in (("duplicates", DUPLICATES), ("copies", COPIES)):
            table = pa.Table.from_pylist(getattr(judged, tag), schema=schema)
            yield from tagged(tag, batches_by(table, table["shard"].to_pylist()))


class JudgeContents(beam.PTransform):
    """Joins the digests of a round with those of all earlier rounds; writes the new ones.

    The first document of a site with a content owns it as long as it has that content. Order: documents that their own
    site links, earlier round, documents without another page as canonical, smaller depth, shorter URL, alphabetical
    order, so that runs are reproducible.
    """

    def __init__(self, root: str, round_: int, progress: StageProgress | None = None) -> None:
        super().__init__()
        self._fn = JudgeFn(root, round_, progress)

    def expand(self, contents: "dict[str, beam.PCollection[Batch]]") -> "Judged":
        by_digest = contents | "ByDigest" >> beam.CoGroupByKey()
        return Judged(*(by_digest | "Judge" >> beam.ParDo(self._fn).with_outputs(*Judged._fields)))
