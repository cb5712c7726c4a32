"""Learn rules of aliases from the contents of a round, and let what is known of one class of URLs meet (SPEC E6)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from transforms.alias_evidence import Member, Pair, Row, choose, judge, weigh
from transforms.alias_rules import Rule, Rules, explain_pair
from transforms.alias_states import ALIAS, rule_names, stands_for
from transforms.contents import PAIRS
from transforms.documents import CANDIDATES
from transforms.files import WriteRows
from transforms.history import Batch, CollectKeys, ReadMatching, split, split_by
from transforms.keys import partitions
from transforms.tables import (
    ALIASES,
    KEY,
    URLS,
    TableFile,
    conform,
    from_ipc,
    open_parquet,
    read_table,
    statistics,
    to_ipc,
)
from transforms.urls import url_key

_MEMBERS = pa.schema(
    [
        ("class_key", KEY),  # of the normal form under the rule
        *((name, pa.string()) for name in Rule._fields),
        ("url", pa.string()),
        ("rest", KEY),
        ("digest", KEY),
        ("round", pa.int32()),
    ]
)


class Known(NamedTuple):
    """The rules as earlier rounds left them."""

    rows: dict[Rule, Row]
    used: Rules
    live: Rules  # used, or proposed

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Known":
        newest = {_rule(row): row for row in sorted(rows, key=lambda row: row["round"])}
        return cls(newest, Rules(_in_state(newest, "used")), Rules(_in_state(newest, "used", "proposed")))


class InForce(NamedTuple):
    """The rules by which this round's URLs are held back, and the names of those that it has found wrong."""

    rules: Rules
    hosts: pa.Array
    dropped: frozenset[str]

    @classmethod
    def of(cls, known: Known, judged: Iterable[Row]) -> "InForce":
        now = Known.of([*known.rows.values(), *judged])
        dropped = _in_state(known.rows, "used") - _in_state(now.rows, "used")
        hosts = pa.array(sorted(now.used.hosts), pa.string())
        return cls(now.used, hosts, frozenset(rule.name for rule in dropped))


def _rule(row: Row) -> Rule:
    return Rule(row["origin"], row["kind"], row["detail"])


def _in_state(rows: dict[Rule, Row], *states: str) -> set[Rule]:
    return {rule for rule, row in rows.items() if row["state"] in states}


class Tracked(NamedTuple):
    """The rules that evidence is sought for, and those in use."""

    rules: Rules
    used: Rules

    @classmethod
    def of(cls, known: Known, suggested: Iterable[tuple[Rule, bytes]]) -> "Tracked":
        return cls(Rules(choose(known.rows, suggested)), known.used)


def members(tracked: Tracked, urls: Iterable[tuple[str, bytes, int]]) -> Iterator[Row]:
    """Rows of members for (URL, digest of its content, round): one for each rule that concerns the URL."""
    for url, digest, round_ in urls:
        for rule in {*tracked.rules.of(url), *tracked.rules.of(tracked.used.normal(url))}:
            class_key = url_key(tracked.used.normal(url, plus=rule))
            rest = url_key(tracked.used.normal(url, minus=rule))
            row = {"class_key": class_key, "url": url, "rest": rest, "digest": digest, "round": round_}
            yield rule._asdict() | row


def weigh_members(rows: Iterable[Row], round_: int) -> dict[Rule, set[Pair]]:
    """What the members of classes say about each rule."""
    classes: dict[tuple[Rule, bytes], list[Member]] = {}
    for row in rows:
        classes.setdefault((_rule(row), row["class_key"]), []).append(Member(*(row[name] for name in Member._fields)))
    found: dict[Rule, set[Pair]] = {}
    for (rule, _), some in classes.items():
        if pair := weigh(some, round_):
            found.setdefault(rule, set()).add(pair)
    return found


def forms(batch: Batch, known: Known) -> Iterator[Batch]:
    """The keys of other URLs that may be one with those of a batch."""
    if rows := _concerned(batch[1], known.live, ["url"]):
        found = sorted({form for row in rows for form in known.live.forms(row["url"])})
        yield 0, to_ipc(pa.table({"url_key": pa.array(map(url_key, found), KEY)}))


def suggest(batch: bytes, known: Known) -> Iterator[tuple[Rule, bytes]]:
    """The rules that would explain pairs of URLs with one content, with its digest."""
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
    """The rows of a urls file that tell of a URL held back by a rule that was dropped."""
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


def _concerned(batch: bytes, rules: Rules, columns: list[str]) -> list[Row]:
    """Columns of the rows whose hosts have rules."""
    if not rules:
        return []
    table = pa.ipc.open_stream(batch).read_all()
    hosts = pa.array(sorted(rules.hosts), pa.string())
    return list(table.select(columns).filter(pc.is_in(table["host"], hosts)).to_pylist())


def _members_of_contents(batch: Batch, tracked: Tracked, round_: int, count: int) -> Iterator[Batch]:
    rows = _concerned(batch[1], tracked.rules, ["url", "digest"])
    yield from _split(tracked, ((row["url"], row["digest"], round_) for row in rows), count)


def _members_of_earlier(batch: Batch, tracked: Tracked, count: int) -> Iterator[Batch]:
    found = []
    for row in _concerned(batch[1], tracked.rules, ["url", "digest", "round", "state", "reason"]):
        if row["digest"] and row["state"] in ("fetched", ALIAS):
            url = stands_for(row["reason"]) if row["state"] == ALIAS else row["url"]
            found.append((url, row["digest"], row["round"]))
    yield from _split(tracked, found, count)


def _members_of_pairs(batch: bytes, tracked: Tracked, count: int) -> Iterator[Batch]:
    """Those who keep a content: nothing else tells which URL of an earlier round that is."""
    rows = from_ipc([batch], PAIRS).to_pylist()
    yield from _split(tracked, sorted({(row["other_url"], row["digest"], 0) for row in rows}), count)


def _split(tracked: Tracked, urls: Iterable[tuple[str, bytes, int]], count: int) -> Iterator[Batch]:
    if rows := list(members(tracked, urls)):
        yield from split(pa.Table.from_pylist(rows, schema=_MEMBERS), "class_key", count)


def _weigh(partition: tuple[int, Iterable[bytes]], round_: int) -> Iterator[tuple[tuple, list[tuple]]]:
    for rule, pairs in weigh_members(from_ipc(partition[1], _MEMBERS).to_pylist(), round_).items():
        yield tuple(rule), [tuple(pair) for pair in pairs]


def _judge(found: tuple[tuple, Iterable[list[tuple]]], known: Known, round_: int) -> Iterator[Row]:
    rule = Rule(*found[0])
    pairs = (Pair(*pair) for some in found[1] for pair in some)
    if row := judge(rule, known.rows.get(rule), pairs, round_):
        yield row


def _read_rows(path: str, root: str) -> Iterator[Row]:
    yield from read_table(root, [path], ALIASES).to_pylist()


class ReadAliases(beam.PTransform):
    """The rules in files of table aliases, as one value `Known`."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root

    def expand(self, paths: beam.PCollection[str]) -> beam.PCollection[Known]:
        return (
            paths
            | "ReadRows" >> beam.FlatMap(_read_rows, self._root)
            | "AllRows" >> beam.combiners.ToList()
            | "Known" >> beam.Map(Known.of)
        )


class Learned(NamedTuple):
    """What `LearnAliases` gives."""

    in_force: "beam.PCollection[InForce]"  # one value
    files: "beam.PCollection[TableFile]"


class LearnAliases(beam.PTransform):
    """Weigh what a round's contents say of rules, and write the rules that changed.

    Takes {"pairs": PAIRS, "contents": CONTENTS, "earlier": URLS}, the last two in batches; earlier rows of the
    contents' URLs and of their forms are needed, more does no harm.
    """

    def __init__(self, root: str, round_: int, partitions: int, known: beam.PCollection) -> None:
        super().__init__()
        self._root, self._round, self._partitions, self._known = root, round_, partitions, known

    def expand(self, sides: "dict[str, beam.PCollection]") -> "Learned":
        round_, count, known = self._round, self._partitions, beam.pvalue.AsSingleton(self._known)
        suggested = sides["pairs"] | "Suggest" >> beam.FlatMap(suggest, known)
        tracked = beam.pvalue.AsSingleton(_value(sides["pairs"], "Track", Tracked.of, known, suggested))
        found = (
            sides["contents"] | "OfContents" >> beam.FlatMap(_members_of_contents, tracked, round_, count),
            sides["earlier"] | "OfEarlier" >> beam.FlatMap(_members_of_earlier, tracked, count),
            sides["pairs"] | "OfPairs" >> beam.FlatMap(_members_of_pairs, tracked, count),
        )
        judged = (
            found
            | "Members" >> beam.Flatten()
            | "GroupByClass" >> beam.GroupByKey()
            | "Weigh" >> beam.FlatMap(_weigh, round_)
            | "GroupByRule" >> beam.GroupByKey()
            | "Judge" >> beam.FlatMap(_judge, known, round_)
        )
        in_force = _value(sides["pairs"], "InForce", InForce.of, known, judged)
        return Learned(in_force, judged | "WriteAliases" >> WriteRows(self._root, "aliases", round_, "state"))


def _value(beside: beam.PCollection, label: str, make: Callable[..., Any], known: Any, rows: beam.PCollection) -> Any:
    """One value of the known rules and some rows.

    It is made from side inputs alone: the FnApiRunner waits for ever where two steps read one PCollection, and one of
    them needs the other's output as a side input.
    """
    return (
        beside.pipeline
        | f"{label}Once" >> beam.Create([make])
        | label >> beam.Map(_call, known, beam.pvalue.AsList(rows))
    )


def _call(make: Callable[..., Any], known: Known, rows: list[Any]) -> Any:
    return make(known, rows)


class FindForms(beam.PTransform):
    """Keys of the URLs that may be one with those of some batches (columns url and host)."""

    def __init__(self, known: beam.PCollection) -> None:
        super().__init__()
        self._known = beam.pvalue.AsSingleton(known)

    def expand(self, batches: "beam.PCollection[Batch]") -> "beam.PCollection[Batch]":
        return batches | "Forms" >> beam.FlatMap(forms, self._known)


class Held(NamedTuple):
    """What `ReadHeld` gives."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES
    earlier: "beam.PCollection[Batch]"  # all rows of the same URLs


class ReadHeld(beam.PTransform):
    """The URLs in files of urls that were held back by rules which this round has found wrong: candidates again.

    Without such rules no file is opened.
    """

    def __init__(
        self, root: str, paths: Sequence[str], partitions: int, expected: int, in_force: beam.PCollection
    ) -> None:
        super().__init__()
        self._root, self._paths, self._partitions, self._expected = root, paths, partitions, expected
        self._in_force = beam.pvalue.AsSingleton(in_force)

    def expand(self, pipeline: beam.Pipeline) -> "Held":
        rows = (
            pipeline
            | "Files" >> beam.Create(self._paths)
            | "HeldRows" >> beam.FlatMap(held_rows, self._in_force, self._root)
        )
        keys = (
            rows
            | "Split" >> beam.FlatMap(split, "url_key", self._partitions)
            | "Keys" >> CollectKeys(self._expected, "url_key")
        )
        earlier = (
            pipeline
            | "FilesAgain" >> beam.Create(self._paths)
            | "Earlier" >> ReadMatching(self._root, URLS, "url_key", self._partitions, keys)
        )
        return Held(rows | "Candidates" >> beam.FlatMap(_as_candidates, self._partitions), earlier)


def _as_candidates(rows: pa.Table, count: int) -> Iterator[Batch]:
    """Held URLs that a link leads to; one that was never linked is but the normal form of others."""
    linked = rows.filter(pc.is_valid(rows["discovered_from"]))
    redirects = pa.array([0] * linked.num_rows, pa.int32())
    table = linked.append_column("referrer", linked["discovered_from"]).append_column("redirects", redirects)
    yield from split(conform(table, CANDIDATES), "url_key", count)
