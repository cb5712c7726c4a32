"""Exact duplicates: documents whose content digest is that of another document, of this or an earlier round."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..indexing.tombstones import is_taken_back
from ..outcomes import Outcome
from ..storage.batches import Batch, from_ipc, split, split_by, to_ipc
from ..storage.exchange import CONTENTS
from ..storage.schemas import DIGESTS, KEY
from ..storage.table_files import TableWriter

DUPLICATES = pa.schema([("url_key", KEY), ("duplicate_of", KEY), ("shard", pa.int32())])
PAIRS = pa.schema([("url", pa.string()), ("other_url", pa.string()), ("digest", KEY)])
"""Pairs of URLs with the same content: a duplicate, and the document that it duplicates."""


RELEASED = pa.schema(
    [
        *(("digest", KEY), ("url_key", KEY), ("url", pa.string()), ("depth", pa.int32())),
        ("is_gone", pa.bool_()),  # it has no other content either
    ]
)
"""Contents that pages had before a visit and no longer have."""


def released_contents(facts: pa.Table) -> pa.Table:
    """RELEASED of visits (`parsing.FACTS`): another document may then keep such a content."""
    is_other = pc.fill_null(pc.not_equal(facts["digest"], facts["digest_before"]), True)
    is_gone = is_taken_back(facts)
    is_left = pc.or_(is_gone, pc.and_(pc.equal(facts["outcome"], Outcome.FETCHED), is_other))
    columns = [facts[name] for name in ("digest_before", "url_key", "url", "depth")]
    found = pa.Table.from_arrays([*columns, is_gone], schema=RELEASED)
    return found.filter(pc.and_(is_left, pc.is_valid(facts["digest_before"])))


def precedence(content: dict[str, Any]) -> tuple[bool, int, int, str]:
    """Of several documents of a round with one content, the smallest keeps it.

    One that names another page as canonical comes last; then depth, length of the URL, alphabet.
    """
    return (content["yields"], content["depth"], len(content["url"]), content["url"])


def judge_contents(
    contents: list[dict[str, Any]], earlier: list[dict[str, Any]], left: Iterable[dict[str, Any]] = ()
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(rows of DUPLICATES and PAIRS, the contents that are new, or that nobody keeps any more: without url_key).

    `earlier` may hold digests that are not among the contents, and several rows of one, of which the newest counts;
    `left` are RELEASED. A document never is a duplicate of itself: its own digest may be known from an earlier visit.
    """
    newest = {row["digest"]: row for row in sorted(earlier, key=lambda row: row["round"])}
    gone = {(row["digest"], row["url_key"]) for row in left}
    known = {d: row for d, row in newest.items() if row["url_key"] and (d, row["url_key"]) not in gone}
    owner = dict(known)
    duplicates, new = [], []
    for content in sorted(contents, key=precedence):
        first = owner.setdefault(content["digest"], content)
        if first["url_key"] != content["url_key"]:
            duplicates.append(content | {"duplicate_of": first["url_key"], "other_url": first["url"]})
        elif content["digest"] not in known:
            new.append(content)
    nobody = {"url_key": None, "url": None, "depth": None}
    new += [row | nobody for digest, row in newest.items() if row["url_key"] and digest not in owner]
    return duplicates, new


def released_by_digest(facts: Batch, count: int) -> Iterator[Batch]:
    """The RELEASED of a batch of FACTS, by partition of the digest."""
    yield from split(released_contents(pa.ipc.open_stream(facts[1]).read_all()), "digest", count)


class _JudgeFn(beam.DoFn):
    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[Any]:
        _, sides = partition
        contents = from_ipc(sides["new"], CONTENTS).to_pylist()
        earlier, left = from_ipc(sides["earlier"], DIGESTS), from_ipc(sides["released"], RELEASED)
        duplicates, new = judge_contents(contents, earlier.to_pylist(), left.to_pylist())
        rows = sorted(({**row, "round": self._round} for row in new), key=lambda row: row["digest"])
        writer = TableWriter(self._root, "digests", self._round)
        writer.write_rows([{name: row[name] for name in DIGESTS.names} for row in rows])
        if file := writer.close():
            yield beam.pvalue.TaggedOutput("files", file)
        if duplicates:
            yield beam.pvalue.TaggedOutput("pairs", to_ipc(pa.Table.from_pylist(duplicates, schema=PAIRS)))
        table = pa.Table.from_pylist(duplicates, schema=DUPLICATES)
        for shard, part in split_by(table, table["shard"].to_pylist()):
            yield shard, to_ipc(part)


class Judged(NamedTuple):
    """What `JudgeContents` gives."""

    shard_to_duplicates: "beam.PCollection[Batch]"  # DUPLICATES
    pairs: "beam.PCollection[bytes]"  # PAIRS
    files: "beam.PCollection"


class JudgeContents(beam.PTransform):
    """CoGroupByKey of the round's digests with those of all earlier rounds; writes the new ones.

    Takes {"new": CONTENTS, "earlier": DIGESTS, "released": RELEASED} by partition of the digest. The first document
    with a content keeps it, as long as it has it: earlier round, then one that names no other page as canonical,
    smaller depth, shorter URL, alphabetical order, so that runs agree.
    """

    def __init__(self, root: str, round_: int) -> None:
        super().__init__()
        self._fn = _JudgeFn(root, round_)

    def expand(self, sides: "dict[str, beam.PCollection[Batch]]") -> "Judged":
        judged = (
            sides
            | "WithEarlier" >> beam.CoGroupByKey()
            | "Judge" >> beam.ParDo(self._fn).with_outputs("pairs", "files", main="duplicates")
        )
        return Judged(judged.duplicates, judged.pairs, judged.files)
