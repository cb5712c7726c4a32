"""Learns alias rules from the contents of a round, and partitions the rows of urls by class (docs/aliases.md)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import CANDIDATES
from ..batches.partitions import Partition, StageFn, tagged
from ..batches.stage_progress import StageProgress
from ..batches.writers import write_rows
from ..duplicates.exact import PAIRS
from ..tables.batches import Batch, batches_by, from_ipc, read_ipc, split, to_ipc
from ..tables.bloom import partitions, shard
from ..tables.schemas import KEY, URLS, Row
from ..tables.table_files import TableFile, conform, open_parquet, statistics, with_columns
from ..urls.canonical import host, url_key
from .apply import ALIAS, is_free, stands_for
from .evidence import ENOUGH, ENOUGH_MORE, Member, Pair, choose, weigh, with_pairs
from .learned_rules import InForce, KnownRules, RulesInForce
from .rules import Rule, Rules, Stratum, explain_pair
from .sample import Count
from .scopes import scope_of

CONTENTS_OF_URLS = pa.schema(
    [
        *(("url", pa.string()), ("host", pa.string()), ("digest", KEY), ("round", pa.int32())),
        ("foreign", pa.bool_()),  # only other sites link the URL
    ]
)
"""The content of a URL in a round."""

_MEMBERS = pa.schema(
    [
        *((name, pa.string()) for name in Rule._fields),
        ("class_key", KEY),  # of the normal form under the rule
        *(("url", pa.string()), ("rest", KEY), ("digest", KEY), ("round", pa.int32()), ("scope", pa.string())),
        ("foreign", pa.bool_()),
    ]
)


class Tracked(NamedTuple):
    """The rules for which evidence is collected, and those in use."""

    rules: Rules
    used: Rules

    @classmethod
    def of(cls, known: KnownRules, suggested: Iterable[tuple[Rule, bytes]]) -> "Tracked":
        return cls(Rules(choose(known.rows, suggested)), known.used)


def now_seen(batch: Batch, round_: int) -> Iterator[Batch]:
    """CONTENTS_OF_URLS of a batch of CONTENTS."""
    table = read_ipc(batch[1])
    table = table.append_column("round", pa.array([round_] * table.num_rows, pa.int32()))
    yield batch[0], to_ipc(conform(table, CONTENTS_OF_URLS))


def seen_before(batch: Batch) -> Iterator[Batch]:
    """CONTENTS_OF_URLS of a batch of URLS. The row of a normal form has the content of its representative."""
    table = read_ipc(batch[1], [*CONTENTS_OF_URLS.names, "state", "reason"])
    table = table.filter(pc.and_(pc.is_valid(table["digest"]), pc.is_in(table["state"], pa.array(["fetched", ALIAS]))))
    is_alias = pc.equal(table["state"], ALIAS).combine_chunks()
    firsts = list(map(stands_for, table["reason"].filter(is_alias).to_pylist()))
    values = {"url": pa.array(firsts, pa.string()), "host": pa.array(map(host, firsts), pa.string())}
    replaced = {name: pc.replace_with_mask(table[name], is_alias, column) for name, column in values.items()}
    yield batch[0], to_ipc(conform(with_columns(table, **replaced), CONTENTS_OF_URLS))


def keepers(pairs: Batch) -> Iterator[Batch]:
    """CONTENTS_OF_URLS of the documents that own a content in PAIRS: the only source for owners of earlier rounds."""
    known = {(row["other_url"], row["digest"]): row["other_foreign"] for row in from_ipc([pairs[1]], PAIRS).to_pylist()}
    rows = [
        {"url": url, "host": host(url), "digest": digest, "round": 0, "foreign": foreign}
        for (url, digest), foreign in sorted(known.items())
    ]
    yield pairs[0], to_ipc(pa.Table.from_pylist(rows, schema=CONTENTS_OF_URLS))


def members(contents: bytes, tracked: Tracked, count: int) -> Iterator[Batch]:
    """A row for each rule that applies to a URL, by the number of the rule's origin."""
    rows = []
    for row in _concerned(contents, tracked.rules):
        url = row["url"]
        for rule in {*tracked.rules.of(url), *tracked.rules.of(tracked.used.normal(url))}:
            rest = url_key(tracked.used.normal(url, minus=rule))
            rows.append(rule._asdict() | row | _class_of(url, rule, tracked.used) | {"rest": rest})
    yield from batches_by(pa.Table.from_pylist(rows, schema=_MEMBERS), [shard(row["origin"], count) for row in rows])


def _class_of(url: str, rule: Rule, used: Rules) -> Row:
    """The key of a URL's normal form with a rule, and the scope in which the rule changes the URL, if it does."""
    form, scope = url, None
    for applied, form in used.steps(url, plus=rule):
        if applied == rule:
            scope = scope_of(form)
    return {"class_key": url_key(form), "scope": scope}


def judge_members(rows: Iterable[Row], known: KnownRules, round_: int) -> Iterator[Row]:
    """The new rows of table aliases for the rules of these members."""
    classes: dict[tuple[Rule, bytes], list[Member]] = {}
    for row in rows:
        rule = Rule(*(row[name] for name in Rule._fields))
        member = Member(*(row[name] for name in Member._fields))
        classes.setdefault((rule, row["class_key"]), []).append(member)
    pairs_of: dict[Stratum, list[Pair]] = {}
    for (rule, _), some in classes.items():
        for scope in {member.scope for member in some if member.scope is not None}:
            if pair := weigh(some, round_, scope):
                pairs_of.setdefault((rule, scope), []).append(pair)
    for stratum, pairs in sorted(pairs_of.items()):
        enough = ENOUGH_MORE if known.used.is_trusted(*stratum) else ENOUGH
        if changed := with_pairs(stratum, known.rows.get(stratum), pairs, round_, enough):
            yield changed


def with_forms(batch: Batch, known: KnownRules) -> Iterator[Batch]:
    """The keys and hosts of the URLs in a batch (columns url_key, url, host), and of URLs that may be equivalent."""
    yield batch[0], to_ipc(read_ipc(batch[1], ["url_key", "host"]))
    if rows := _concerned(batch[1], known.live):
        forms = sorted({form for row in rows for form in known.forms(row["url"])})
        keys, hosts = pa.array(map(url_key, forms), KEY), pa.array(map(host, forms), pa.string())
        yield batch[0], to_ipc(pa.table({"url_key": keys, "host": hosts}))


def joined_keys(batch: Batch) -> Iterator[Batch]:
    """The keys and hosts of the URLs that represent the aliases in a batch of URLS."""
    table = read_ipc(batch[1])
    joined = table.filter(pc.and_(pc.equal(table["state"], ALIAS), pc.is_valid(table["joined_to"])))
    hosts = [host(stands_for(reason)) for reason in joined["reason"].to_pylist()]
    yield batch[0], to_ipc(pa.table({"url_key": joined["joined_to"], "host": pa.array(hosts, pa.string())}))


def suggest(batch: Batch, known: KnownRules) -> Iterator[tuple[Rule, bytes]]:
    """The rules that explain pairs of URLs with the same content, with its digest; both are linked by their site."""
    rows = [row for row in from_ipc([batch[1]], PAIRS).to_pylist() if not (row["foreign"] or row["other_foreign"])]
    rules = [explain_pair(known.used.normal(row["url"]), known.used.normal(row["other_url"])) for row in rows]
    yield from ((rule, row["digest"]) for rule, row in zip(rules, rows, strict=True) if rule)


def by_class(batch: Batch, in_force: InForce, count: int) -> Iterator[Batch]:
    """The rows of a batch (columns url and host) by the partition of their URLs' normal forms."""
    if not in_force.rules:
        yield batch
        return
    number, data = batch
    table = read_ipc(data)
    is_concerned = pc.is_in(table["host"], in_force.hosts)
    concerned = table.filter(is_concerned)
    if not concerned.num_rows:
        yield batch
        return
    if concerned.num_rows < table.num_rows:
        yield number, to_ipc(table.filter(pc.invert(is_concerned)))
    keys = pa.array([url_key(in_force.rules.normal(url)) for url in concerned["url"].to_pylist()], KEY)
    yield from batches_by(concerned, partitions(keys, count))


def freed_rows(path: str, in_force: InForce, root: str) -> Iterator[pa.Table]:
    """The aliases of a urls file that no rule holds back any more, on the hosts where a rule was dropped."""
    if not in_force.freed:
        return
    hosts = pa.array(sorted(in_force.freed), pa.string())
    for aliases in alias_rows(root, path):
        rows = aliases.filter(pc.is_in(aliases["host"], hosts))
        free = [is_free(row, in_force.rules) for row in rows.select(["url", "reason"]).to_pylist()]
        yield rows.filter(pa.array(free, pa.bool_()))


def alias_rows(root: str, path: str) -> Iterator[pa.Table]:
    """The rows of a urls file in state `alias`; of the row groups, only those that may have any are read."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            states = statistics(file, group, "state")
            if states is None or not states.has_min_max or states.min <= ALIAS <= states.max:
                rows = conform(file.read_row_group(group), URLS)
                yield rows.filter(pc.equal(rows["state"], ALIAS))


def _concerned(batch: bytes, rules: Rules) -> list[Row]:
    if not rules:
        return []
    table = read_ipc(batch)
    return list(table.filter(pc.is_in(table["host"], pa.array(sorted(rules.hosts), pa.string()))).to_pylist())


class _MembersFn(beam.DoFn):
    """Takes CONTENTS_OF_URLS; yields `members` for the rules that are known or suggested by the round."""

    def __init__(self, known: KnownRules, partitions: int) -> None:
        self._known, self._partitions = known, partitions
        self._tracked: Tracked | None = None

    def process(self, contents: Batch, suggested: list[tuple[Rule, bytes]]) -> Iterator[Batch]:
        if self._tracked is None:
            self._tracked = Tracked.of(self._known, suggested)
        yield from members(contents[1], self._tracked, self._partitions)


class Learned(NamedTuple):
    """The alias rules that change in a round."""

    judged: "beam.PCollection[Row]"  # of table aliases
    files: "beam.PCollection[TableFile]"


class _JudgeFn(StageFn):
    def __init__(self, root: str, round_: int, known: KnownRules, progress: StageProgress | None) -> None:
        super().__init__(progress)
        self._root, self._round, self._known = root, round_, known

    def process(self, partition: Partition) -> "Iterator[TaggedOutput]":
        rows = from_ipc(partition[1]["members"], _MEMBERS).to_pylist()
        judged = list(judge_members(rows, self._known, self._round))
        yield from tagged("judged", judged)
        yield from tagged("files", write_rows(self._root, "aliases", self._round, judged, "state"))


class LearnAliases(beam.PTransform):
    """Judges alias rules, known and suggested ones, by CONTENTS_OF_URLS; writes those that change.

    `suggested` are rules with the digests of the pairs that suggest them.
    """

    def __init__(
        self,
        root: str,
        round_: int,
        known: KnownRules,
        partitions: int,
        suggested: beam.PCollection,
        progress: StageProgress | None = None,
    ) -> None:
        super().__init__()
        self._members, self._suggested = _MembersFn(known, partitions), suggested
        self._judge = _JudgeFn(root, round_, known, progress)

    def expand(self, contents: "beam.PCollection[Batch]") -> "Learned":
        found = contents | "Members" >> beam.ParDo(self._members, beam.pvalue.AsList(self._suggested))
        by_origin = {"members": found} | "ByOrigin" >> beam.CoGroupByKey()
        return Learned(*(by_origin | "Judge" >> beam.ParDo(self._judge).with_outputs(*Learned._fields)))


def write_alias_counts(
    taken: list[tuple[Stratum, Count]], root: str, round_: int, known: Mapping[Stratum, Count]
) -> Iterator[TableFile]:
    """Write the sums of the counts of a round and of earlier rounds as alias_counts."""
    sums: dict[Stratum, Count] = {}
    for stratum, count in taken:
        sums[stratum] = sums.get(stratum, known.get(stratum, Count())).plus(count)
    rows = [
        rule._asdict() | {"template": scope, "round": round_} | count._asdict()
        for (rule, scope), count in sorted(sums.items())
    ]
    yield from write_rows(root, "alias_counts", round_, rows)


class ByClassFn(beam.DoFn):
    """Takes batches of rows with URLs; moves them to the partitions of their URLs' normal forms."""

    def __init__(self, known: KnownRules, partitions: int) -> None:
        self._partitions, self._in_force = partitions, RulesInForce(known)

    def process(self, batch: Batch, judged: list[Row]) -> Iterator[Batch]:
        yield from by_class(batch, self._in_force.after(judged), self._partitions)


class Freed(NamedTuple):
    """The aliases that no rule holds back any more."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES by url_key
    held: "beam.PCollection[Batch]"  # URLS by url_key: the rows of the aliases


def _free(path: str, judged: list[Row], root: str, in_force: RulesInForce, partitions: int) -> "Iterator[TaggedOutput]":
    for rows in freed_rows(path, in_force.after(judged), root):
        yield from tagged("candidates", split(_as_candidates(rows), "url_key", partitions))
        yield from tagged("held", split(rows, "url_key", partitions))


class FreeAliases(beam.PTransform):
    """Finds in files of urls the aliases that a round's drops of rules set free; opens none if no rule was dropped."""

    def __init__(self, root: str, known: KnownRules, partitions: int, judged: beam.PCollection) -> None:
        super().__init__()
        self._free = beam.FlatMap(_free, beam.pvalue.AsList(judged), root, RulesInForce(known), partitions)

    def expand(self, paths: "beam.PCollection[str]") -> "Freed":
        return Freed(*(paths | "Free" >> self._free.with_outputs(*Freed._fields)))


def _as_candidates(rows: pa.Table) -> pa.Table:
    """Candidates for aliases with an inbound link; an alias without one is only the normal form of other URLs."""
    linked = rows.filter(pc.is_valid(rows["discovered_from"]))
    table = with_columns(linked, redirects=pc.fill_null(linked["redirects"], 0))
    return conform(table.append_column("referrer", linked["discovered_from"]), CANDIDATES)
