"""Learns alias rules from the contents of a round, and partitions the rows of urls by class (SPEC E6)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..duplicates.exact import PAIRS
from ..storage.batches import Batch, from_ipc, split, split_by, to_ipc
from ..storage.bloom import partitions, shard
from ..storage.exchange import CANDIDATES
from ..storage.schemas import KEY, URLS
from ..storage.semi_join import CollectKeys, ReadMatching
from ..storage.table_files import TableFile, conform, open_parquet, statistics
from ..storage.writers import WriteRows
from ..urls.canonical import host, url_key
from .apply import ALIAS, rule_names, stands_for
from .evidence import Member, Pair, Row, choose, judge, weigh
from .learned_rules import InForce, KnownRules, rule_of
from .rules import Rule, Rules, explain_pair

CONTENTS_OF_URLS = pa.schema([("url", pa.string()), ("host", pa.string()), ("digest", KEY), ("round", pa.int32())])
"""The content of a URL in a round."""

_MEMBERS = pa.schema(
    [
        *((name, pa.string()) for name in Rule._fields),
        ("class_key", KEY),  # of the normal form under the rule
        *(("url", pa.string()), ("rest", KEY), ("digest", KEY), ("round", pa.int32())),
    ]
)


class Tracked(NamedTuple):
    """The rules for which evidence is collected, and those in use."""

    rules: Rules
    used: Rules

    @classmethod
    def of(cls, known: KnownRules, suggested: Iterable[tuple[Rule, bytes]]) -> "Tracked":
        return cls(Rules(choose(known.rows, suggested)), known.used)


def now_seen(batch: Batch, round_: int) -> bytes:
    """CONTENTS_OF_URLS of a batch of CONTENTS."""
    table = pa.ipc.open_stream(batch[1]).read_all()
    return to_ipc(
        conform(table.append_column("round", pa.array([round_] * table.num_rows, pa.int32())), CONTENTS_OF_URLS)
    )


def seen_before(batch: Batch) -> bytes:
    """CONTENTS_OF_URLS of a batch of URLS. The row of a normal form has the content of its representative."""
    table = pa.ipc.open_stream(batch[1]).read_all()
    table = table.filter(pc.and_(pc.is_valid(table["digest"]), pc.is_in(table["state"], pa.array(["fetched", ALIAS]))))
    rows = table.select([*CONTENTS_OF_URLS.names, "state", "reason"]).to_pylist()
    for row in rows:
        if row["state"] == ALIAS:
            row["url"] = stands_for(row["reason"])
            row["host"] = host(row["url"])
    return to_ipc(pa.Table.from_pylist(rows, schema=CONTENTS_OF_URLS))


def keepers(pairs: bytes) -> bytes:
    """CONTENTS_OF_URLS of the documents that own a content in PAIRS: the only source for owners of earlier rounds."""
    known = {(row["other_url"], row["digest"]) for row in from_ipc([pairs], PAIRS).to_pylist()}
    rows = [{"url": url, "host": host(url), "digest": digest, "round": 0} for url, digest in sorted(known)]
    return to_ipc(pa.Table.from_pylist(rows, schema=CONTENTS_OF_URLS))


def members(contents: bytes, tracked: Tracked, count: int) -> Iterator[Batch]:
    """A row for each rule that applies to a URL, by the number of the rule's origin."""
    rows = []
    for row in _concerned(contents, tracked.rules):
        url = row["url"]
        for rule in {*tracked.rules.of(url), *tracked.rules.of(tracked.used.normal(url))}:
            class_key = url_key(tracked.used.normal(url, plus=rule))
            rest = url_key(tracked.used.normal(url, minus=rule))
            rows.append(rule._asdict() | row | {"class_key": class_key, "rest": rest})
    numbers = [shard(row["origin"], count) for row in rows]
    yield from ((n, to_ipc(part)) for n, part in split_by(pa.Table.from_pylist(rows, schema=_MEMBERS), numbers))


def judge_members(rows: Iterable[Row], known: KnownRules, round_: int) -> Iterator[Row]:
    """The new rows of table aliases for the rules of these members."""
    classes: dict[tuple[Rule, bytes], list[Member]] = {}
    for row in rows:
        classes.setdefault((rule_of(row), row["class_key"]), []).append(Member(*(row[name] for name in Member._fields)))
    found: dict[Rule, list[Pair]] = {}
    for (rule, _), some in classes.items():
        if pair := weigh(some, round_):
            found.setdefault(rule, []).append(pair)
    for rule, pairs in sorted(found.items()):
        if changed := judge(rule, known.rows.get(rule), pairs, round_):
            yield changed


def with_forms(batch: Batch, known: KnownRules) -> Iterator[Batch]:
    """The batch, and the keys of URLs that may be equivalent to those in it (columns url_key, url and host)."""
    yield batch
    if rows := _concerned(batch[1], known.live):
        found = sorted({form for row in rows for form in known.live.forms(row["url"])})
        keys, hosts = pa.array(map(url_key, found), KEY), pa.array(map(host, found), pa.string())
        yield batch[0], to_ipc(pa.table({"url_key": keys, "host": hosts}))


def joined_keys(batch: Batch) -> Batch:
    """The keys and hosts of the URLs that represent the aliases in a batch of URLS."""
    table = pa.ipc.open_stream(batch[1]).read_all()
    joined = table.filter(pc.and_(pc.equal(table["state"], ALIAS), pc.is_valid(table["joined_to"])))
    hosts = [host(stands_for(reason)) for reason in joined["reason"].to_pylist()]
    return batch[0], to_ipc(pa.table({"url_key": joined["joined_to"], "host": pa.array(hosts, pa.string())}))


def suggest(batch: bytes, known: KnownRules) -> Iterator[tuple[Rule, bytes]]:
    """The rules that explain pairs of URLs with the same content, with its digest."""
    for row in from_ipc([batch], PAIRS).to_pylist():
        if rule := explain_pair(known.used.normal(row["url"]), known.used.normal(row["other_url"])):
            yield rule, row["digest"]


def by_class(batch: Batch, in_force: InForce, count: int) -> Iterator[Batch]:
    """The rows of a batch (columns url and host) by the partition of their URLs' normal forms."""
    if not in_force.rules:
        yield batch
        return
    number, data = batch
    table = pa.ipc.open_stream(data).read_all()
    is_concerned = pc.is_in(table["host"], in_force.hosts)
    concerned = table.filter(is_concerned)
    if not concerned.num_rows:
        yield batch
        return
    if concerned.num_rows < table.num_rows:
        yield number, to_ipc(table.filter(pc.invert(is_concerned)))
    keys = pa.array([url_key(in_force.rules.normal(url)) for url in concerned["url"].to_pylist()], KEY)
    yield from ((n, to_ipc(rows)) for n, rows in split_by(concerned, partitions(keys, count)))


def held_rows(path: str, in_force: InForce, root: str) -> Iterator[pa.Table]:
    """The rows of a urls file whose URL is an alias by a rule that was dropped."""
    if not in_force.dropped:
        return
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            states = statistics(file, group, "state")
            if states is None or not states.has_min_max or states.min <= ALIAS <= states.max:
                rows = conform(file.read_row_group(group), URLS)
                rows = rows.filter(pc.equal(rows["state"], ALIAS))
                is_free = [bool(rule_names(reason) & in_force.dropped) for reason in rows["reason"].to_pylist()]
                yield rows.filter(pa.array(is_free, pa.bool_()))


def _concerned(batch: bytes, rules: Rules) -> list[Row]:
    """The rows of hosts that have rules."""
    if not rules:
        return []
    table = pa.ipc.open_stream(batch).read_all()
    return list(table.filter(pc.is_in(table["host"], pa.array(sorted(rules.hosts), pa.string()))).to_pylist())


def _judge(shard_: tuple[int, Iterable[bytes]], known: KnownRules, round_: int) -> Iterator[Row]:
    yield from judge_members(from_ipc(shard_[1], _MEMBERS).to_pylist(), known, round_)


class Learned(NamedTuple):
    """The outputs of `LearnAliases`."""

    in_force: "beam.PCollection[InForce]"  # one value
    files: "beam.PCollection[TableFile]"


class LearnAliases(beam.PTransform):
    """Evaluates the evidence of a round's contents for alias rules, and writes the rules that changed.

    Takes {"pairs": PAIRS, "contents": CONTENTS, "earlier": URLS}, the last two in batches; earlier rows of the
    contents' URLs and of their forms are required, other rows are ignored.
    """

    def __init__(self, root: str, round_: int, partitions: int, known: KnownRules) -> None:
        super().__init__()
        self._root, self._round, self._partitions, self._known = root, round_, partitions, known

    def expand(self, sides: "dict[str, beam.PCollection]") -> "Learned":
        pipeline, known = sides["pairs"].pipeline, self._known
        suggested = sides["pairs"] | "Suggest" >> beam.FlatMap(suggest, known)
        # Uses a side input only: if two steps read one PCollection, and one of them takes the output of the other as a
        # side input, the FnApiRunner deadlocks.
        tracked = (
            pipeline | "Known" >> beam.Create([known]) | "Track" >> beam.Map(Tracked.of, beam.pvalue.AsList(suggested))
        )
        contents = (
            sides["contents"] | "NowSeen" >> beam.Map(now_seen, self._round),
            sides["earlier"] | "SeenBefore" >> beam.Map(seen_before),
            sides["pairs"] | "Keepers" >> beam.Map(keepers),
        )
        judged = (
            contents
            | "ContentsOfUrls" >> beam.Flatten()
            | "Members" >> beam.FlatMap(members, beam.pvalue.AsSingleton(tracked), self._partitions)
            | "GroupByOrigin" >> beam.GroupByKey()
            | "Judge" >> beam.FlatMap(_judge, known, self._round)
        )
        in_force = (
            pipeline | "KnownYet" >> beam.Create([known]) | "Hold" >> beam.Map(InForce.of, beam.pvalue.AsList(judged))
        )
        return Learned(in_force, judged | "WriteAliases" >> WriteRows(self._root, "aliases", self._round, "state"))


class HeldAliases(NamedTuple):
    """The outputs of `ReadHeldAliases`."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES
    earlier: "beam.PCollection[Batch]"  # all rows of the same URLs


class ReadHeldAliases(beam.PTransform):
    """Candidates for the aliases in files of urls whose rules this round has dropped.

    Opens no file if no rule was dropped.
    """

    def __init__(
        self, root: str, paths: Sequence[str], partitions: int, expected: int, in_force: beam.PCollection
    ) -> None:
        super().__init__()
        self._root, self._paths, self._partitions, self._expected = root, paths, partitions, expected
        self._in_force = beam.pvalue.AsSingleton(in_force)

    def expand(self, pipeline: beam.Pipeline) -> "HeldAliases":
        rows = (
            pipeline
            | "Files" >> beam.Create(self._paths)
            | "HeldRows" >> beam.FlatMap(held_rows, self._in_force, self._root)
        )
        keys = (
            rows
            | "Split" >> beam.FlatMap(split, "url_key", self._partitions)
            | "Keys" >> CollectKeys(self._expected, "url_key", "host")
        )
        earlier = (
            pipeline
            | "FilesAgain" >> beam.Create(self._paths)
            | "Earlier" >> ReadMatching(self._root, URLS, "url_key", self._partitions, keys)
        )
        return HeldAliases(rows | "Candidates" >> beam.FlatMap(_as_candidates, self._partitions), earlier)


def _as_candidates(rows: pa.Table, count: int) -> Iterator[Batch]:
    """Candidates for aliases with an inbound link; an alias without one is only the normal form of other URLs."""
    linked = rows.filter(pc.is_valid(rows["discovered_from"]))
    redirects = pa.array([0] * linked.num_rows, pa.int32())
    table = linked.append_column("referrer", linked["discovered_from"]).append_column("redirects", redirects)
    yield from split(conform(table, CANDIDATES), "url_key", count)
