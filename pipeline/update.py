"""The update step of a round: visits in; documents, links, URL states, the next frontier and the index out.

Pure computation over files: no network access, repeatable.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from ..transforms.aliases.learn import LearnAliases, ReadHeldAliases, joined_keys, with_forms
from ..transforms.aliases.learned_rules import KnownRules
from ..transforms.documents.finish_pages import FinishPages, add_rejections, dead_keys
from ..transforms.documents.parse_visits import ParseVisits
from ..transforms.duplicates.exact import JudgeContents, released_by_digest
from ..transforms.duplicates.near import FindNearDuplicates
from ..transforms.duplicates.near_rows import gone_rows
from ..transforms.frontier.advance_urls import AdvanceUrls, ReadMatchingWaiting, ScanTrapped
from ..transforms.indexing.write_tombstones import WriteTombstones
from ..transforms.politeness.host_stats import add_turn, answered_at, newest_row
from ..transforms.settings import Settings
from ..transforms.sitemaps.follow import FollowSitemaps
from ..transforms.storage.key_scan import Wanted, matching_rows
from ..transforms.storage.schemas import DIGESTS, HOSTS, SEEDS, URLS, HostRow
from ..transforms.storage.semi_join import CollectHosts, CollectKeys, ReadMatching
from ..transforms.storage.table_files import read_table
from ..transforms.storage.waiting import Waiting
from ..transforms.storage.writers import ReportFiles, WriteRows
from ..transforms.traps.watch_yields import (
    WatchedYields,
    WatchYields,
    hosts_of,
    hosts_with_traps,
    trap_queue_rows,
    trap_rows,
    trap_samples_rows,
)

_LINKS_PER_VISIT = 40  # distinct targets that the visit of a page adds to a round, roughly
_ROWS_PER_PARTITION = 100_000
_ROWS_PER_FRONTIER_FILE = 500_000
_PAGES_PER_SHARD = 5_000  # inverting needs about 50 bytes of memory per word
_SMALL = 200  # visits


@dataclasses.dataclass(frozen=True)
class UpdateStep:
    """The inputs and outputs of one update step; paths are below the crawl directory."""

    root: str
    round: int
    settings: Settings
    robot: str  # the name that page directives may address
    aliases: KnownRules | None  # None: alias detection is off
    visits: Sequence[str]
    visit_rows: int
    sitemap_entries: int  # upper bound, in the visited sitemaps
    turns: Sequence[str]
    robots: Sequence[str]  # of this round
    workers: int
    waiting: Waiting
    urls: Sequence[str]
    digests: Sequence[str]
    near: Sequence[str]
    hosts: Sequence[str]
    trap_files: Sequence[str]
    trap_samples: Sequence[str]
    trap_queues: Sequence[str]
    seeds: Sequence[str]
    report: str

    @property
    def partitions(self) -> int:
        """Partitions of the key space: enough to use all workers, and few enough that small rounds write few files."""
        return _share(self.links, _ROWS_PER_PARTITION, self._least)

    @property
    def links(self) -> int:
        """Estimate of the round's distinct link targets; it sizes filters and partitions."""
        return self.visit_rows * _LINKS_PER_VISIT + self.sitemap_entries

    @property
    def shards(self) -> int:
        """Shards of the hosts: one index segment each."""
        return _share(self.visit_rows, _PAGES_PER_SHARD, self._least)

    @property
    def frontier_shards(self) -> int:
        """Files of the frontier that the step writes."""
        return _share(self.links, _ROWS_PER_FRONTIER_FILE, 1)

    @property
    def _least(self) -> int:
        return 1 if self.visit_rows < _SMALL else self.workers


def _share(rows: int, most: int, least: int) -> int:
    return min(256, max(least, -(-rows // most)))


def build(pipeline: beam.Pipeline, step: UpdateStep) -> None:
    """Parse; dedup content; write documents, links and index; dedup URLs; write their states and the next frontier."""
    root, round_, partitions = step.root, step.round, step.partitions
    aliases = step.aliases or KnownRules.of([])
    seed_hosts = (
        _files(pipeline, "Seeds", step.seeds)
        | "SeedHosts" >> beam.FlatMap(_hosts_of_seeds, root)
        | "Distinct" >> beam.Distinct()
    )
    parsed = _files(pipeline, "Visits", step.visits) | "ParseVisits" >> ParseVisits(
        root, step.settings, step.robot, step.shards, partitions, seed_hosts
    )
    sitemaps = (
        pipeline
        | "RobotsAndVisits" >> beam.Create([("robots", p) for p in step.robots] + [("visits", p) for p in step.visits])
        | "FollowSitemaps"
        >> FollowSitemaps(
            root,
            step.settings.scope,
            step.settings.sitemaps,
            tuple(step.settings.documents.kinds),
            partitions,
            seed_hosts,
        )
    )

    released = parsed.facts | "Released" >> beam.FlatMap(released_by_digest, partitions)
    contents = (parsed.contents, released) | "NewAndReleased" >> beam.Flatten()
    digests = contents | "Digests" >> CollectKeys(step.visit_rows, "digest", "digest")
    earlier_digests = _files(pipeline, "Digests", step.digests) | "EarlierDigests" >> ReadMatching(
        root, DIGESTS, "digest", partitions, digests
    )
    judged = {
        "new": parsed.contents,
        "earlier": earlier_digests,
        "released": released,
    } | "JudgeContents" >> JudgeContents(root, round_)

    near = {
        "documents": parsed.near,
        "duplicates": judged.shard_to_duplicates,
        "released": released,
    } | "FindNearDuplicates" >> FindNearDuplicates(
        root, round_, step.settings.documents.similarity, step.near, partitions, step.visit_rows
    )

    watched = _watch(pipeline, step, parsed.shard_to_yields, judged.shard_to_duplicates, near.by_shard)
    unrepresented = (
        released | "Gone" >> beam.FlatMap(gone_rows, round_) | "WriteGone" >> WriteRows(root, "near", round_)
    )
    dead = parsed.facts | "Dead" >> beam.FlatMap(dead_keys)
    finished = {
        "pages": parsed.shard_to_pages,
        "duplicates": judged.shard_to_duplicates,
        "copies": judged.shard_to_copies,
        "stale": watched.shard_to_stale,
        "near": near.by_shard,
    } | "FinishPages" >> FinishPages(root, round_, step.settings.documents.korean_morphemes, partitions, dead)

    candidates = (finished.candidates, sitemaps.candidates) | "Candidates" >> beam.Flatten()
    trapped = pipeline | "ScanTrapped" >> ScanTrapped(
        root, step.waiting, partitions, step.settings.traps, watched.trapped
    )
    keys = (
        (candidates, parsed.facts, trapped.held)
        | "FoundAndVisited" >> beam.Flatten()
        | "WithForms" >> beam.FlatMap(with_forms, aliases)
        | "Keys" >> CollectKeys(step.links, "url_key", "host")
    )
    earlier_urls = _files(pipeline, "Urls", step.urls) | "EarlierUrls" >> ReadMatching(
        root, URLS, "url_key", partitions, keys
    )
    tombstones = {
        "facts": parsed.facts,
        "removals": finished.removals,
        "earlier": earlier_urls,
    } | "WriteTombstones" >> WriteTombstones(root, round_, partitions)
    learned = {
        "pairs": pipeline | "NoPairs" >> beam.Create([]) if step.aliases is None else judged.pairs,
        "contents": parsed.contents,
        "earlier": earlier_urls,
    } | "LearnAliases" >> LearnAliases(root, round_, partitions, aliases)
    due_keys = [keys]
    if aliases.used:
        joined = earlier_urls | "JoinedTo" >> beam.Map(joined_keys)
        due_keys.append(joined | "JoinedKeys" >> CollectKeys(step.links, "url_key", "host"))
        held = pipeline | "ReadHeld" >> ReadHeldAliases(root, step.urls, partitions, step.links, learned.in_force)
        candidates = (candidates, held.candidates) | "FoundAndHeld" >> beam.Flatten()
        earlier_urls = (earlier_urls, held.earlier) | "EarlierAndHeld" >> beam.Flatten()
    frontier = pipeline | "ReadFrontier" >> ReadMatchingWaiting(root, step.waiting, partitions, *due_keys)
    states = {
        "candidates": candidates,
        "facts": parsed.facts,
        "earlier": earlier_urls,
        "frontier": frontier,
        "near": near.by_url,
    } | "AdvanceUrls" >> AdvanceUrls(
        root,
        round_,
        step.settings,
        partitions,
        step.frontier_shards,
        learned.in_force,
        watched.trapped,
        trapped.queues,
    )

    turns = _files(pipeline, "Turns", step.turns) | "ReadTurns" >> beam.FlatMap(_turns_by_host, root)
    asked = beam.pvalue.AsSingleton(turns | "Asked" >> beam.Keys() | "AskedHosts" >> CollectHosts())
    earlier_hosts = _files(pipeline, "Hosts", step.hosts) | "EarlierHosts" >> beam.FlatMap(_hosts_of, root, asked)
    hosts = (
        {"turns": turns, "earlier": earlier_hosts}
        | "GroupHosts" >> beam.CoGroupByKey()
        | "AddHosts" >> beam.FlatMap(_add_hosts)
        | "WriteHosts" >> WriteRows(root, "hosts", round_)
    )
    rejections = (
        (finished.rejections, sitemaps.rejections)
        | "Rejections" >> beam.Flatten()
        | "AddRejections" >> beam.CombinePerKey(add_rejections)
        | "RejectionRows" >> beam.Map(_rejection_row, round_)
        | "WriteRejections" >> WriteRows(root, "rejections", round_, "reason", weight="count")
    )
    alerts = parsed.alerts | "WriteAlerts" >> WriteRows(root, "alerts", round_, "kind")
    written = (judged.files, watched.files, finished.files, learned.files, states, hosts, rejections, alerts)
    files = (*written, unrepresented, tombstones) | "Files" >> beam.Flatten()
    files | "Report" >> ReportFiles(step.report)


def _watch(
    pipeline: beam.Pipeline,
    step: UpdateStep,
    yields: beam.PCollection,
    duplicates: beam.PCollection,
    near: beam.PCollection,
) -> WatchedYields:
    """Judge templates for traps, from the round's pages and the stored trap rows of their hosts."""
    hosts = yields | "YieldHosts" >> beam.FlatMap(hosts_of)
    with_traps = _files(pipeline, "TrapFiles", step.trap_files) | "HostsWithTraps" >> beam.FlatMap(
        hosts_with_traps, step.root
    )
    wanted = beam.pvalue.AsSingleton(hosts | "WantedHosts" >> CollectHosts())
    concerned = (hosts, with_traps) | "YieldsAndTraps" >> beam.Flatten() | "ConcernedHosts" >> CollectHosts()
    traps = _files(pipeline, "Traps", step.trap_files) | "EarlierTraps" >> beam.FlatMap(
        trap_rows, step.root, step.shards, beam.pvalue.AsSingleton(concerned)
    )
    trap_queues = _files(pipeline, "TrapQueues", step.trap_queues) | "LastTrapQueues" >> beam.FlatMap(
        trap_queue_rows, step.root, step.shards
    )
    trap_samples = _files(pipeline, "TrapSamples", step.trap_samples) | "EarlierTrapSamples" >> beam.FlatMap(
        trap_samples_rows, step.root, step.shards, wanted
    )
    observed = {"yields": yields, "duplicates": duplicates, "near": near}
    earlier = {"traps": traps, "trap_samples": trap_samples, "trap_queues": trap_queues}
    return {**observed, **earlier} | "WatchYields" >> WatchYields(step.root, step.round, step.settings.traps)


def _files(pipeline: beam.Pipeline, name: str, paths: Sequence[str]) -> beam.PCollection[str]:
    return pipeline | f"{name}Files" >> beam.Create(paths)


def _hosts_of_seeds(path: str, root: str) -> Iterator[str]:
    yield from set(read_table(root, [path], SEEDS, ["host"])["host"].to_pylist())


def _turns_by_host(path: str, root: str) -> Iterator[tuple[str, dict]]:
    for row in read_table(root, [path], HOSTS).to_pylist():
        yield row["host"], row


def _hosts_of(path: str, root: str, hosts: Wanted) -> Iterator[tuple[str, dict]]:
    for rows in matching_rows(root, path, HOSTS, hosts):
        yield from ((row["host"], row) for row in rows.to_pylist())


def _add_hosts(host: tuple[str, dict[str, Any]]) -> Iterator[HostRow]:
    """Yield the new row of a host that had a turn in this round; other hosts keep theirs."""
    row = newest_row(list(host[1]["earlier"])) or HostRow()
    # A turn has a row in each durable piece; the state of the last response is valid.
    turns = sorted(host[1]["turns"], key=answered_at)
    for turn in turns:
        row = add_turn(row, turn)
    if turns:
        yield row


def _rejection_row(item: tuple[tuple[str, str], tuple[int, list[str]]], round_: int) -> dict:
    (reason, host), (count, samples) = item
    return {"reason": reason, "host": host, "round": round_, "count": count, "samples": samples}
