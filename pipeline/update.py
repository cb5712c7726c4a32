"""The update step of a round: visits in; documents, links, URL states, the next frontier and the index out.

Pure computation over files: no network access, repeatable. Stages send one another batches of rows (`tables.batches`).
Their key is a number: the partition of url_key where URLs meet, of the digest where contents do, of the band where
signatures do, and the shard of the site where its pages do. Rows of a round meet those of earlier rounds in a
CoGroupByKey, after the latter are reduced to the keys of the round (`semi_join`).
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import apache_beam as beam

from ..transforms.aliases.learn import (
    ByClassFn,
    FreeAliases,
    Freed,
    LearnAliases,
    Learned,
    joined_keys,
    keepers,
    now_seen,
    seen_before,
    suggest,
    with_forms,
    write_alias_counts,
)
from ..transforms.aliases.learned_rules import KnownRules
from ..transforms.batches.semi_join import CollectKeys, CollectSet, ReadMatching
from ..transforms.batches.writers import ByPartition, ReportFiles, write_partition
from ..transforms.documents.external import AdmitExternal
from ..transforms.documents.finish_pages import Finished, FinishFn, FinishPages
from ..transforms.documents.found_links import permitted
from ..transforms.documents.mark_pages import MarkFn
from ..transforms.documents.parse_visits import Parsed, ParseFn, ParseVisits, Taken
from ..transforms.documents.rejections import WriteRejections
from ..transforms.duplicates.exact import JudgeContents, Judged
from ..transforms.duplicates.near import Decided, DecideFn, FindNearDuplicates, read_earlier
from ..transforms.frontier.advance_urls import (
    Advanced,
    AdvanceFn,
    AdvanceUrls,
    ReadMatchingWaiting,
    ScanTrapped,
    ScanTrappedFn,
    WriteFrontier,
    WritePlan,
    write_left,
    write_queues,
)
from ..transforms.indexing.write_tombstones import had_content, removals_by_key, write_tombstones
from ..transforms.observers.registry import open_observers
from ..transforms.politeness.add_host_turns import AddHostTurns
from ..transforms.sitemaps.follow import FollowSitemaps
from ..transforms.tables.schemas import DIGESTS, URLS
from ..transforms.traps.watch_yields import JudgeTemplates, Watched, WatchFn
from .update_step import UpdateStep


def build(pipeline: beam.Pipeline, step: UpdateStep) -> None:
    """Parse; dedup content; write documents, links and index; dedup URLs; write their states and the next frontier."""
    root, round_, settings = step.root, step.round, step.settings
    parsed = pipeline | "ParseVisits" >> ParseVisits(root, step.visits, step.parsed_bytes, _parser(step))
    followed = pipeline | "FollowSitemaps" >> _sitemaps(step)
    hosts = pipeline | "AddHostTurns" >> AddHostTurns(root, round_, step.turns, step.hosts, step.partitions)
    judged = _judge_contents(pipeline, step, parsed)
    near = _find_near_duplicates(pipeline, step, parsed, judged)
    watched = _judge_templates(step, parsed, judged, near)
    finished = _finish_pages(step, parsed, judged, near, watched)
    scan = ScanTrappedFn(root, step.waiting.left, step.partitions, settings.traps, step.stage("ScanTrapped"))
    scanned = pipeline | "ScanTrapped" >> ScanTrapped(step.waiting, scan, watched.trapped)
    probes = watched.probes | "PermitProbes" >> beam.FlatMap(permitted, step.scope, step.partitions)

    files = [hosts, judged.files, watched.files, finished.files]
    candidates = [parsed.requisites, followed.candidates, finished.candidates, probes]
    if step.external is not None:
        admit = AdmitExternal(root, round_, *step.external, step.partitions)
        admitted = parsed.external | "AdmitExternal" >> admit
        candidates.append(admitted.candidates)
        files.append(admitted.files)
    urls = (parsed.facts, *candidates, scanned.held) | "UrlsOfRound" >> beam.Flatten()
    keys = _collect_urls("CollectUrls", urls | "WithForms" >> beam.FlatMap(with_forms, known=rules_of(step)))
    earlier = pipeline | "UrlsFiles" >> beam.Create(step.urls) | "ReadUrls" >> _read_urls(step, keys)
    learned = _learn_aliases(step, parsed, judged, earlier)
    found = _urls_of_aliases(pipeline, step, candidates, keys, earlier, learned)
    sides = {
        "candidates": found.candidates,
        "facts": parsed.facts,
        "earlier": found.earlier,
        "frontier": found.waiting,
        "near": near.by_url,
    }
    by_class = ByClassFn(rules_of(step), step.partitions)
    advanced = sides | "AdvanceUrls" >> AdvanceUrls(_advance(step), by_class, learned.judged, watched.trapped)

    tombstones = {
        "visits": parsed.facts | "RemovalsOfVisits" >> beam.FlatMap(removals_by_key),
        "documents": finished.removals,
        "earlier": earlier | "HadContent" >> beam.FlatMap(had_content),
    }
    rejections = (parsed.rejections, followed.rejections, finished.rejections) | "Rejections" >> beam.Flatten()
    files += [
        learned.files,
        advanced.files,
        parsed.alerts | "WriteAlerts" >> ByPartition(write_partition, root, "alerts", round_, "kind"),
        parsed.gone | "WriteGone" >> ByPartition(write_partition, root, "near", round_),
        tombstones | "WriteTombstones" >> ByPartition(write_tombstones, root, round_),
        rejections | "WriteRejections" >> WriteRejections(root, round_),
        *_write_frontier(step, advanced, scanned.queues),
    ]
    files | "Files" >> beam.Flatten() | "ReportFiles" >> ReportFiles(step.report)


def rules_of(step: UpdateStep) -> KnownRules:
    """The alias rules before the round; none if alias detection is off."""
    return step.aliases or KnownRules.of([])


def _parser(step: UpdateStep) -> ParseFn:
    settings = step.settings
    near, requisites, detect = settings.documents.near_duplicates, settings.fetch.requisites, settings.traps.detect
    taken = Taken(near, requisites, detect, step.index_scope, settings.extract, settings.main, step.external)
    observers, progress = partial(open_observers, settings), step.stage("ParseVisits")
    return ParseFn(step.scope, taken, observers, step.robot, step.shards, step.partitions, step.round, progress)


def _sitemaps(step: UpdateStep) -> FollowSitemaps:
    settings = step.settings
    files = [*(("visits", path) for path in step.visits), *(("robots", path) for path in step.robots)]
    return FollowSitemaps(step.scope, settings.sitemaps, settings.usage.tdmrep, files, step.shards, step.partitions)


def _judge_contents(pipeline: beam.Pipeline, step: UpdateStep, parsed: Parsed) -> Judged:
    """The contents of the round meet those of all earlier rounds."""
    digests = (parsed.contents, parsed.released) | "Digests" >> beam.Flatten()
    keys = digests | "CollectDigests" >> CollectKeys("digest", "digest")
    read = ReadMatching(step.root, DIGESTS, "digest", step.partitions, keys)
    earlier = pipeline | "DigestsFiles" >> beam.Create(step.digests) | "ReadDigests" >> read
    contents = {"new": parsed.contents, "earlier": earlier, "released": parsed.released}
    return contents | "JudgeContents" >> JudgeContents(step.root, step.round, step.stage("JudgeContents"))


def _find_near_duplicates(pipeline: beam.Pipeline, step: UpdateStep, parsed: Parsed, judged: Judged) -> Decided:
    """The documents of the round meet similar ones of all rounds."""
    bands = parsed.bands | "CollectBands" >> CollectKeys("band", None)
    sites = parsed.sites | "CollectSites" >> CollectSet()
    bands_and_sites = beam.pvalue.AsSingleton(bands), beam.pvalue.AsSingleton(sites)
    read = beam.FlatMap(read_earlier, *bands_and_sites, step.root, step.partitions, step.shards)
    paths = pipeline | "NearFiles" >> beam.Create(step.near)
    earlier = paths | "ReadNear" >> read.with_outputs("earlier", "rounds")
    found = {
        "new": parsed.bands,
        "earlier": earlier.earlier,
        "rounds": earlier.rounds,
        "duplicates": judged.duplicates,
        "changed": parsed.changed,
    }
    similarity, progress = step.settings.documents.similarity, step.stage("FindNearDuplicates")
    decide = DecideFn(step.round, similarity, step.partitions, progress)
    return found | "FindNearDuplicates" >> FindNearDuplicates(step.round, similarity, decide)


def _judge_templates(step: UpdateStep, parsed: Parsed, judged: Judged, near: Decided) -> Watched:
    """What the pages of each template have yielded, in this round and before."""
    watch = WatchFn(step.root, step.round, step.settings.traps, step.secret)
    files = {"traps": step.trap_files, "samples": step.trap_samples, "queues": step.trap_queues}
    found = {"yields": parsed.yields, "duplicates": judged.duplicates, "near": near.by_shard}
    return found | "JudgeTemplates" >> JudgeTemplates(step.root, files, step.shards, watch)


def _finish_pages(step: UpdateStep, parsed: Parsed, judged: Judged, near: Decided, watched: Watched) -> Finished:
    """Writes documents, links and the index; pages meet what was judged of them, by shard of their site."""
    settings = step.settings
    finish = FinishFn(
        step.root,
        step.round,
        settings.documents.korean_morphemes,
        step.partitions,
        settings.priority.scorers,
        step.index_scope,
        step.parts.segment_text,
        step.stage("FinishPages"),
        step.shards,
    )
    found = {
        "pages": parsed.pages,
        "stale": watched.stale,
        "duplicates": judged.duplicates,
        "copies": judged.copies,
        "near": near.by_shard,
    }
    return found | "FinishPages" >> FinishPages(MarkFn(step.parts.workers), finish, parsed.dead)


def _collect_urls(label: str, urls: beam.PCollection) -> beam.PCollection:
    """The keys of URLs, by which earlier rows are read."""
    return urls | label >> CollectKeys("url_key", "host")


def _read_urls(step: UpdateStep, keys: beam.PCollection) -> ReadMatching:
    return ReadMatching(step.root, URLS, "url_key", step.partitions, keys)


def _learn_aliases(step: UpdateStep, parsed: Parsed, judged: Judged, earlier: beam.PCollection) -> Learned:
    """Alias rules meet the contents of URLs, of this round and of earlier ones."""
    known = rules_of(step)
    pairs = judged.pairs if step.aliases is not None else judged.pairs | "NoPairs" >> beam.Filter(_never)
    contents = (
        parsed.contents | "NowSeen" >> beam.FlatMap(now_seen, step.round),
        earlier | "SeenBefore" >> beam.FlatMap(seen_before),
        pairs | "Keepers" >> beam.FlatMap(keepers),
    ) | "ContentsOfUrls" >> beam.Flatten()
    suggested = pairs | "Suggest" >> beam.FlatMap(suggest, known)
    progress = step.stage("LearnAliases")
    return contents | "LearnAliases" >> LearnAliases(step.root, step.round, known, step.partitions, suggested, progress)


def _never(_: object) -> bool:
    return False


class _Urls(NamedTuple):
    """The URLs of a round, and what earlier rounds know about them."""

    candidates: beam.PCollection  # CANDIDATES
    earlier: beam.PCollection  # URLS
    waiting: beam.PCollection  # MATCHED


def _urls_of_aliases(
    pipeline: beam.Pipeline,
    step: UpdateStep,
    candidates: Sequence[beam.PCollection],
    keys: beam.PCollection,
    earlier: beam.PCollection,
    learned: Learned,
) -> _Urls:
    """The new URLs meet those of all earlier rounds; with alias rules in use, also the URLs that represent aliases."""
    root, left, partitions, known = step.root, step.waiting, step.partitions, rules_of(step)
    if not known.used:
        waiting = pipeline | "ReadFrontier" >> ReadMatchingWaiting(root, left, partitions, keys)
        return _Urls(candidates | "Candidates" >> beam.Flatten(), earlier, waiting)
    paths = pipeline | "UrlsFilesAgain" >> beam.Create(step.urls) | "SpreadUrlsFiles" >> beam.Reshuffle()
    freed: Freed = paths | "FreeAliases" >> FreeAliases(root, known, partitions, learned.judged)
    joined = _collect_urls("CollectJoined", earlier | "Joined" >> beam.FlatMap(joined_keys))
    forms = freed.held | "FormsOfFreed" >> beam.FlatMap(with_forms, known=known)
    held = _collect_urls("CollectFreed", forms)
    more = pipeline | "UrlsFilesOfFreed" >> beam.Create(step.urls) | "ReadFreed" >> _read_urls(step, held)
    waiting = pipeline | "ReadFrontier" >> ReadMatchingWaiting(root, left, partitions, keys, joined)
    return _Urls(
        (*candidates, freed.candidates) | "Candidates" >> beam.Flatten(),
        (earlier, more) | "EarlierUrls" >> beam.Flatten(),
        waiting,
    )


def _advance(step: UpdateStep) -> AdvanceFn:
    settings, known = step.settings, rules_of(step)
    shards, depth, progress = step.frontier_shards, settings.scope.depth, step.stage("AdvanceUrls")
    limits, traps, plan, secret = settings.limits, settings.traps, step.plan, step.secret
    return AdvanceFn(step.root, step.round, limits, traps, shards, known, plan, secret, depth, step.follows, progress)


def _write_frontier(step: UpdateStep, advanced: Advanced, scanned: beam.PCollection) -> list[beam.PCollection]:
    """Write the next frontier and the tables that have one file a round."""
    root, round_ = step.root, step.round
    queues = (advanced.queues, scanned) | "Queues" >> beam.Flatten()
    files = [
        advanced.written | "WriteFrontier" >> WriteFrontier(root, round_ + 1, step.stage("WriteFrontier")),
        advanced.left | "WriteLeft" >> ByPartition(write_left, root, round_),
        queues | "AllQueues" >> beam.combiners.ToList() | "WriteQueues" >> beam.FlatMap(write_queues, root, round_),
        advanced.aliases
        | "AllAliases" >> beam.combiners.ToList()
        | "WriteAliasCounts" >> beam.FlatMap(write_alias_counts, root, round_, rules_of(step).counts),
    ]
    if step.plan is not None:
        files.append(advanced | "WritePlan" >> WritePlan(root, round_, step.plan))
    return files
