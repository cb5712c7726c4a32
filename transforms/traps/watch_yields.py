"""Finds the pages of a round without news, and updates the templates of their URLs."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..duplicates.clusters import VERDICTS
from ..duplicates.exact import DUPLICATES
from ..exchange.batch_schemas import STALE, YIELDS, CandidateRow, YieldRow
from ..exchange.functions import Output, Partition, Side, StageFn, WriteFn
from ..exchange.summaries import Found, found
from ..outcomes import Outcome
from ..settings import Traps
from ..tables.batches import Batch, from_ipc, split_by, to_ipc
from ..tables.bloom import shard
from ..tables.key_scan import Wanted, matching_rows
from ..tables.schemas import TRAP_QUEUES, TRAP_SAMPLES, TRAPS, Row
from ..tables.sitemap_terms import PROBE
from ..tables.table_files import TableFile, TableWriter, open_parquet, read_table, statistics
from ..urls.canonical import url_key
from ..urls.templates import family
from . import judge, soft_404
from .allow_list import AllowList, compile_allow_list
from .draining import Queue
from .holds import TrappedHost
from .judge import Counts, Kind, Name, State, from_elsewhere, is_own, names_of, shape_of
from .novelty import Family, pack, unpack
from .page_words import PageWords
from .soft_404 import Suspicion, is_soft_404
from .stacks import is_stacked

_VARIED, _LARGE = 5, 1_000
"""Minimum pages of a host with many new words, or minimum pages, before pages count as without news: on a host where
all pages are similar or have few words, that is no evidence of a trap."""

_CHAIN = 2  # redirects in a row within a template; a renamed page takes one, its old address without a slash another


WHOLE: Name = ("", "")
ALL_FOREIGN: Name = ("", Kind.FOREIGN.value)
"""The names of the queues of all URLs of a host: of those that its own site links, and of the others."""

_REDIRECTED, _FAILED = Counts(redirected=1), Counts(failed=1)  # the results of a request that gave no page

_FOREIGN = "foreign "  # precedes the families of URLs that only other sites link, in table trap_samples


class Seen(NamedTuple):
    """What the pages of a host have shown so far."""

    words: frozenset[int] = frozenset()
    telling: int = 0  # pages with many new words
    pages: int = 0


NOTHING_SEEN = Seen()


class Watched(NamedTuple):
    """The result for a host in a round."""

    stale: list[bytes]  # keys of pages without news
    probes: list[CandidateRow]  # URLs that cannot exist, to be requested
    traps: list[Row]  # rows of table traps changed by the round
    trap_samples: list[Row]  # rows of table trap_samples
    trapped: TrappedHost | None  # None if no template is throttled or trapped
    reopened: int  # number of trapped templates that are open again
    seen: Seen


def watch_host(
    host: str, requests: Iterable[YieldRow], copies: Mapping[bytes, bytes], near: Mapping[bytes, bytes],
    traps: Iterable[Row], trap_samples: Iterable[Row], queues: Mapping[Name, Queue], is_allowed: AllowList,
    round_: int, key: bytes,
) -> Watched:  # fmt: skip
    """`watch` for the URLs that the host's own site links, and apart for those that only other sites link.

    The latter know what the former have shown, but not the reverse. `queues` has one for all URLs of each.
    """
    requests, traps, trap_samples = list(requests), list(traps), list(trap_samples)
    own = watch(
        host, [row for row in requests if not from_elsewhere(row)], copies, near, [row for row in traps if is_own(row)],
        [row for row in trap_samples if not row["template"].startswith(_FOREIGN)], queues, is_allowed, round_, key,
    )  # fmt: skip
    samples = [row for row in trap_samples if row["template"].startswith(_FOREIGN)]
    others = {WHOLE if name == ALL_FOREIGN else name: queue for name, queue in queues.items() if name != WHOLE}
    foreign = watch(
        host, [row for row in requests if from_elsewhere(row)], copies, near, [row for row in traps if not is_own(row)],
        [row | {"template": row["template"].removeprefix(_FOREIGN)} for row in samples], others, is_allowed, round_,
        key, own.seen,
    )  # fmt: skip
    apart = [row | {"template": _FOREIGN + row["template"], "forms": pack(())} for row in foreign.trap_samples]
    both = [one.trapped for one in (own, foreign) if one.trapped]
    rows = [row for one in both for row in one.rows]
    return Watched(
        own.stale + foreign.stale,
        own.probes + foreign.probes,
        own.traps + foreign.traps,
        own.trap_samples + [row for row in apart if row["words"] or row.get("answer")],
        TrappedHost(host, rows, own.trapped.forms if own.trapped else []) if both else None,
        own.reopened + foreign.reopened,
        own.seen,
    )


def watch(
    host: str, requests: Collection[YieldRow], copies: Mapping[bytes, bytes], near: Mapping[bytes, bytes],
    traps: Iterable[Row], trap_samples: Collection[Row], queues: Mapping[Name, Queue], is_allowed: AllowList,
    round_: int, key: bytes, site: Seen = NOTHING_SEEN,
) -> Watched:  # fmt: skip
    """Judges the templates of a host by its URLs that were requested for the first time, in the order of their visits.

    `copies` and `near` map keys of exact and near duplicates to those of the pages that they duplicate; `traps` and
    `trap_samples` are the host's rows before this round, and `queues` the known queues of its throttled templates at
    that time, `WHOLE` of the host. `key` makes URLs that cannot exist. What the `site` has shown besides is no news.
    """
    earlier = judge.Known(traps)
    known = dict(earlier.rows)
    words: dict[str, list[bytes]] = {}
    for row in trap_samples:
        words.setdefault(row["template"], []).extend(row["words"])
    families = {group: Family(seen) for group, seen in words.items()}
    forms = {form for row in trap_samples for form in unpack(row["forms"])}
    all_words = set(site.words).union(*(family_.seen for family_ in families.values()))
    telling = site.telling + sum(row["telling"] or 0 for row in trap_samples)
    seen = site.pages + sum(int(row["pages"]) for row in known.values() if not judge.is_shared(row["template"]))
    stale: list[bytes] = []
    tallies = Counter[tuple[tuple[Name, ...], Counts]]()  # of equal requests, by their names and results
    redirects: dict[str, Counter[str]] = {}  # by template
    samples, new_forms, new_telling = dict[Name, list[str]](), dict[str, list[int]](), Counter[str]()
    is_idle = True
    asked = soft_404.answers_of(trap_samples)
    answers = _answers(requests)
    asked |= answers
    suspicions: dict[str, Suspicion] = {}
    for request in sorted(requests, key=_order):
        if request["kind"] is not None:
            continue
        shape = shape_of(request["url"], request["referrer"], request["foreign"])
        kind = judge.kind_of(shape, bool(request["links_without_news"]), forms, earlier)
        names = names_of(shape, kind, known)
        group = family(shape.template)
        if shape.form is not None and shape.form not in forms:
            forms.add(shape.form)
            new_forms.setdefault(group, []).append(shape.form)
        is_redirect, is_inside = request["outcome"] == Outcome.REDIRECTED, shape.referrer == shape.template
        came = _REDIRECTED if is_redirect else _FAILED
        if request["words"] is not None:
            seen += 1
            found = PageWords(request["title_words"] or b"", request["words"], request["own_words"] or b"")
            if group not in families:
                families[group] = Family()
            added = families[group].take(found, frozenset() if kind is Kind.PLAIN else all_words)
            all_words |= added.words
            new_telling[group] += added.is_telling
            telling += added.is_telling
            like = copies.get(request["url_key"]) or near.get(request["url_key"])
            is_copy = request["url_key"] in copies or (like is not None and is_stacked(request["url"], like))
            is_series = kind is not Kind.PLAIN
            is_copy = is_copy or is_soft_404(asked.get(group), request, is_series=is_series)
            is_uniform = telling < _VARIED and seen < _LARGE
            is_told = added.has_new_title or (added.is_news and request["url_key"] not in near)
            is_news = not is_copy and (is_told or is_uniform)
            is_fresh = is_news or (kind is Kind.PLAIN and not is_copy)
            if is_fresh and not is_uniform and group not in asked:
                is_named = added.is_named or not is_news
                if group not in suspicions:
                    suspicions[group] = Suspicion()
                suspicions[group].add(request, is_named=is_named, is_series=is_series)
            came = Counts(pages=1, fresh=int(is_fresh), news=int(is_news), different=int(not is_copy))
            if not is_fresh and not is_allowed(request["url"]):
                stale.append(request["url_key"])
        if shape.referrer and request["redirects"]:
            is_chained = is_redirect and is_inside and request["redirects"] >= _CHAIN
            is_reached = came.fresh or (is_redirect and not is_inside)
            redirects.setdefault(shape.referrer, Counter()).update(chained=is_chained, reached=bool(is_reached))
        if request["outcome"] == Outcome.UNWANTED_TYPE and shape.extension:
            names = list(dict.fromkeys([*names, judge.type_name(shape)]))
        is_idle = is_idle and any(name in known and known[name]["state"] != State.OPEN for name in names)
        if is_allowed(request["url"]):
            continue
        tallies[tuple(names), came] += 1
        if not came.fresh:
            for name in names:
                samples.setdefault(name, []).append(request["url"])
    counts = _totals(tallies)
    for name in {*known, *counts}:
        if name[0] in redirects:
            counts[name] = counts.get(name, Counts())._replace(**redirects[name[0]])
    requested = len(requests)
    changed = {
        name: judge.judge(
            known.get(name) or judge.new_row(host, name),
            came,
            queues.get(WHOLE),
            samples.get(name, ()),
            round_,
            queues.get(name),
            requested,
        )
        for name, came in sorted(counts.items())
    }
    reopened = sum(
        row["state"] == State.OPEN and name in known and known[name]["state"] == State.TRAPPED
        for name, row in changed.items()
    )
    known |= changed
    is_idle = is_idle and bool(counts) and not any(came.fresh for came in counts.values())
    for name, row in known.items():
        after = judge.end(row, is_idle, round_) if is_idle or not counts else judge.wake(row, round_)
        if row["state"] != State.OPEN and after != row:
            changed[name] = after
    known |= changed
    suspected = [group for group, suspicion in suspicions.items() if suspicion][: soft_404.ASKED_AT_ONCE]
    answers |= {group: soft_404.Known(soft_404.Answer.ASKED) for group in suspected}
    probes = [row for group in suspected for row in _probes(suspicions[group].sample, key)]
    groups = sorted({*new_forms, *answers, *(group for group, family_ in families.items() if family_.added)})
    rows = [
        {"host": host, "template": group, "round": round_, "telling": new_telling[group]}
        | {"words": [pack(families[group].added)] if group in families else []}
        | {"forms": pack(new_forms.get(group, ()))}
        | ({"answer": answers[group].answer, "answer_words": pack(answers[group].words)} if group in answers else {})
        for group in groups
    ]
    has_traps = any(row["state"] != State.OPEN for row in known.values())
    trapped = TrappedHost(host, list(known.values()), sorted(forms)) if has_traps else None
    shown = Seen(frozenset(all_words), telling, seen)
    return Watched(stale, probes, list(changed.values()), rows, trapped, reopened, shown)


def _totals(tallies: Mapping[tuple[tuple[Name, ...], Counts], int]) -> dict[Name, Counts]:
    """The results of all requests by name."""
    totals: dict[Name, Counts] = {}
    for (names, came), number in tallies.items():
        for name in names:
            before = totals.get(name, Counts())
            totals[name] = Counts(*(total + number * one for total, one in zip(before, came, strict=True)))
    return totals


def _answers(requests: Iterable[YieldRow]) -> dict[str, soft_404.Known]:
    """What the answers of a round to URLs that cannot exist tell, by the family that they were asked for."""
    found: dict[str, list[YieldRow]] = {}
    for request in requests:
        if request["kind"] == PROBE and request["referrer"]:
            found.setdefault(family(shape_of(request["referrer"]).template), []).append(request)
    return {group: soft_404.learn(answers) for group, answers in found.items()}


def _probes(sample: YieldRow | None, key: bytes) -> Iterator[CandidateRow]:
    """The candidates of the URLs that cannot exist beside a page."""
    if sample is None:
        return
    for url in soft_404.impossible_urls(sample["url"], key):
        yield CandidateRow(
            url_key=url_key(url), url=url, host=sample["host"], depth=sample["depth"], redirects=0,
            score=sample["priority"], referrer=sample["url"], kind=PROBE,
            foreign=sample["foreign"],
        )  # fmt: skip


def queues_of(rows: Iterable[Row], round_: int) -> dict[Name, Queue]:
    """The queues of a host after a round, of its rows of table trap_queues: by template and kind, and `WHOLE`."""
    found: dict[Name, Queue] = {}
    for row in rows:
        if row["round"] == round_:
            known = found.get(name := (row["template"], row["kind"]), Queue(0, 0))
            found[name] = Queue(known.waiting + row["waiting"], known.held + row["held"])
    return found


def _order(request: YieldRow) -> tuple[int, float, str]:
    """Sort key in the order of visits, as `frontier.order`."""
    return (request["depth"], -request["priority"], request["url"])


class WatchFn(WriteFn):
    """Finds the pages of a round without news, and judges templates by them; writes traps and trap_samples.

    Takes a shard of hosts.
    """

    yields, duplicates, near = Side(YIELDS), Side(DUPLICATES), Side(VERDICTS)
    traps, trap_samples, trap_queues = Side(TRAPS), Side(TRAP_SAMPLES), Side(TRAP_QUEUES)
    stale = Output(STALE)
    trapped = Output(tuple)  # `TrappedHost` as a tuple, of each host with throttled or trapped templates
    probes = Output(list[CandidateRow])

    def __init__(self, root: str, round_: int, settings: Traps, key: bytes) -> None:
        self._root, self._round, self._allow, self._key = root, round_, settings.allow, key

    def process(self, partition: Partition) -> Iterator[TaggedOutput]:
        number, sides = partition
        is_allowed = compile_allow_list(self._allow)
        copies = _originals(self.duplicates.table(sides), "duplicate_of")
        near = _originals(self.near.table(sides), "near_duplicate_of")
        requests = _by_host(self.yields.table(sides).to_pylist())
        tables = (self.traps, self.trap_samples, self.trap_queues)
        traps, trap_samples, queues = (_by_host(side.table(sides).to_pylist()) for side in tables)
        stale, rows, reopened = list[bytes](), dict[str, list[Row]](traps=[], trap_samples=[]), 0
        for host in sorted(requests.keys() | traps.keys()):
            sides_ = (traps.get(host, ()), trap_samples.get(host, ()), queues_of(queues.get(host, ()), self._round - 1))
            last = (is_allowed, self._round, self._key)
            watched = watch_host(host, requests.get(host, ()), copies, near, *sides_, *last)
            stale += watched.stale
            if watched.probes:
                yield self.probes.at(number, watched.probes)
            rows["traps"] += watched.traps
            rows["trap_samples"] += watched.trap_samples
            reopened += watched.reopened
            if watched.trapped:
                yield self.trapped.once(tuple(watched.trapped))
        for table, part in rows.items():
            counts = {REOPENED: reopened} if reopened and table == "traps" else None
            yield from self.files.if_any(self._write(table, part, counts))
        yield self.stale.at(number, pa.table({"url_key": stale}, schema=STALE))

    def _write(self, table: str, rows: list[Row], counts: dict[str, int] | None) -> TableFile | None:
        writer = TableWriter(self._root, table, self._round)
        writer.write_rows(rows, counts)
        return writer.close()


REOPENED = "reopened"
"""The counter of templates that were trapped and are open again."""


def _originals(rows: pa.Table, column: str) -> dict[bytes, bytes]:
    """The keys in a column by `url_key`."""
    return dict(zip(rows["url_key"].to_pylist(), rows[column].to_pylist(), strict=True))


def _by_host(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["host"], []).append(row)
    return found


def hosts_with_traps(path: str, root: str) -> Iterator[str]:
    """The hosts of a traps file with throttled or trapped templates; newer files may say otherwise."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            states = statistics(file, group, "state")
            if states is None or not states.has_min_max or states.min != State.OPEN or states.max != State.OPEN:
                rows = file.read_row_group(group, ["host", "state"], use_threads=False)
                yield from pc.unique(rows.filter(pc.not_equal(rows["state"], State.OPEN.value))["host"]).to_pylist()


class HostsWithTrapsFn(StageFn):
    """Takes the path of a traps file; yields `hosts_with_traps`."""

    hosts = Output(list[str])

    def __init__(self, root: str) -> None:
        self._root = root

    def process(self, path: str) -> Iterator[TaggedOutput]:
        yield from self.hosts.if_any(list(hosts_with_traps(path, self._root)))


class _ReadHostsFn(StageFn):
    """The rows of a table for the hosts in some parts of the summary, by shard of their host."""

    rows: Output
    _parts: tuple[str, ...]

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, summary: Found) -> Iterator[TaggedOutput]:
        hosts = sorted({host for part in self._parts for host in found(part, summary) or ()})
        for rows in matching_rows(self._root, path, self.rows.content, Wanted("host", hosts)):
            yield from self.rows.each(by_host(rows, self._shards))


class ReadTrapsFn(_ReadHostsFn):
    """The rows of traps for the hosts of the round and those with throttled or trapped templates."""

    rows, _parts = Output(TRAPS), ("hosts", "trap_hosts")


class ReadTrapSamplesFn(_ReadHostsFn):
    """The rows of trap_samples for the hosts of the round."""

    rows, _parts = Output(TRAP_SAMPLES), ("hosts",)


class ReadTrapQueuesFn(StageFn):
    """All rows of trap_queues, by shard of their host."""

    rows = Output(TRAP_QUEUES)

    def __init__(self, root: str, shards: int) -> None:
        self._root, self._shards = root, shards

    def process(self, path: str, *_: Found) -> Iterator[TaggedOutput]:
        rows = read_table(self._root, [path], TRAP_QUEUES)
        yield from self.rows.each(by_host(rows, self._shards))


def by_host(rows: pa.Table, shards: int) -> Iterator[Batch]:
    """Batches of rows by shard of their host."""
    for number, part in split_by(rows, [shard(host, shards) for host in rows["host"].to_pylist()]):
        yield number, to_ipc(part)


def hosts_of(batch: Batch) -> Iterator[tuple[int, set[str]]]:
    """The hosts of a batch of YIELDS."""
    yield batch[0], set(from_ipc([batch[1]], YIELDS)["host"].to_pylist())
