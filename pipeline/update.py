"""The update step of a round: visits in; documents, links, URL states, the next frontier and the index out.

Pure computation over files: no network access, repeatable.
"""

from collections.abc import Mapping
from functools import partial

import apache_beam as beam

from ..transforms.aliases.learn import (
    ByClassFn,
    HeldAliasesFn,
    JudgeRulesFn,
    MembersFn,
    WriteCountsFn,
    joined_keys,
    keepers,
    now_seen,
    seen_before,
    suggest,
    with_forms,
)
from ..transforms.documents.external import AdmitExternalFn
from ..transforms.documents.parse_visits import ParseFn, Taken
from ..transforms.documents.rejections import WriteRejectionsFn
from ..transforms.duplicates.exact import JudgeFn
from ..transforms.duplicates.near import DecideFn, FindPairsFn, ReadEarlierFn
from ..transforms.exchange.functions import StageFn, WriteFn
from ..transforms.exchange.graph import DROPPED, Converted, Graph, Part, Routing, Source, Target
from ..transforms.exchange.semi_join import ReadDigestsFn, ReadUrlsFn
from ..transforms.exchange.writers import MarkFn, ReportFn, WriteAlertsFn, WriteGoneFn
from ..transforms.frontier.advance_urls import (
    AdvanceFn,
    ReadWaitingByNameFn,
    ScanTrappedFn,
    WriteFrontierFn,
    WriteLeftFn,
    WritePlanFn,
    WriteQueuesFn,
)
from ..transforms.indexing.write_tombstones import WriteTombstonesFn, had_content, removals_by_key
from ..transforms.observers.registry import open_observers
from ..transforms.politeness.add_host_turns import AddHostsFn, EarlierHostsFn, TurnsFn
from ..transforms.sitemaps.follow import FollowFn
from ..transforms.traps.watch_yields import (
    HostsWithTrapsFn,
    ReadTrapQueuesFn,
    ReadTrapSamplesFn,
    ReadTrapsFn,
    hosts_of,
)
from .update_exchanges import Exchanges, declare, rules_of
from .update_step import ROW_GROUPS, STAGES, UpdateStep, row_groups
from .watch_and_finish import WatchAndFinishFn

__all__ = ["STAGES", "UpdateStep", "build"]


def build(pipeline: beam.Pipeline, step: UpdateStep) -> None:
    """Parse; dedup content; write documents, links and index; dedup URLs; write their states and the next frontier.

    What the stages send to one another goes through few exchanges, in batches of several kinds, because a cluster
    pays for each shuffle and each vertex of the graph (docs/flink.md).
    """
    paths = [(kind, path) for kind, some in step.files.items() for path in some]
    files = Source(pipeline | "Files" >> beam.Create(paths, reshuffle=False), tuple(step.files))
    visits = files.elements | "SpreadFiles" >> beam.Reshuffle() | "ListRowGroups" >> beam.FlatMap(row_groups, step.root)
    known, partitions = rules_of(step), step.partitions
    with Graph(step.stage) as graph:
        to = declare(graph, step)
        graph.read("ParseVisits", Source(visits, ROW_GROUPS), _parsers(step), _parsed(step, to))
        round_keys = to.round_keys.as_singleton()
        graph.read("ReadEarlier", files, _readers_of_earlier_rounds(step), _EARLIER_ROWS, round_keys)
        graph.receive("JudgeContents", to.by_content, _judged_contents(step, to))
        graph.receive("FindNearDuplicates", to.near_duplicates, _NEAR_DUPLICATES)
        graph.receive("FinishPages", to.by_host, _finished_pages(step, to), round_keys)
        trapped = to.trapped.as_list()
        scan = ScanTrappedFn(step.root, step.waiting.left, partitions, step.settings.traps)
        graph.read("ScanTrapped", files, {"frontier": scan}, _rows_of_traps(step, to), trapped)
        url_keys = to.url_keys.as_singleton()
        graph.read("ReadUrls", files, _readers_of_urls(step), _earlier_urls(to), url_keys)
        graph.apply("Members", to.url_contents, MembersFn(known, partitions), _MEMBERS, url_keys)
        graph.receive("LearnAliases", to.by_origin, {JudgeRulesFn.judged: [to.judged], **_TO_REPORT})
        judged = to.judged.as_list()
        if to.alias_keys is not None:
            free = HeldAliasesFn(step.root, known, partitions)
            graph.read("ReadFreed", files, {"urls": free}, _freed(step, to.alias_keys["held"]), judged)
            alias_keys = to.alias_keys.as_singleton()
            graph.read("ReadJoined", files, _readers_of_aliases(step), _URLS_OF_ALIASES, url_keys, alias_keys)
        by_class = "ByClass" >> beam.ParDo(ByClassFn(AdvanceFn.__name__, known, partitions), judged)
        graph.receive("AdvanceUrls", to.by_url, _advanced_urls(step), judged, trapped, move=by_class)
        graph.receive("WriteFrontier", to.by_file, _TO_REPORT)
        graph.receive("Report", to.report, {})


_TO_REPORT: Routing = {WriteFn.files: [ReportFn.files]}


def _keys_of_urls(step: UpdateStep, part: Part) -> Converted:
    """The keys of the URLs in a batch, and of those that may be equivalent."""
    return Converted(partial(with_forms, known=rules_of(step)), part)


def _parsers(step: UpdateStep) -> Mapping[str, StageFn]:
    root, settings, scope, shards, partitions = step.root, step.settings, step.scope, step.shards, step.partitions
    near, requisites = settings.documents.near_duplicates, settings.fetch.requisites
    detect, external = settings.traps.detect, step.external
    taken = Taken(near, requisites, detect, step.index_scope, settings.extract, settings.main, external)
    observers, progress = partial(open_observers, settings), step.stage("ParseVisits")
    return {
        "visits": ParseFn(scope, taken, observers, step.robot, shards, partitions, step.round, progress),
        "sitemaps": FollowFn(scope, settings.sitemaps, settings.usage.tdmrep, shards, partitions),
        "turns": TurnsFn(root, partitions),
        "traps": HostsWithTrapsFn(root),
        "report": MarkFn(),
    }


def _parsed(step: UpdateStep, to: Exchanges) -> Routing:
    round_, keys = to.round_keys, _keys_of_urls(step, to.url_keys["keys"])
    contents = Converted(partial(now_seen, round_=step.round), to.url_contents)
    removals = Converted(removals_by_key, WriteTombstonesFn.visits)
    return {
        ParseFn.pages: [WatchAndFinishFn.pages],
        ParseFn.yields: [WatchAndFinishFn.yields, Converted(hosts_of, round_["hosts"])],
        ParseFn.contents: [JudgeFn.new, round_["digests"], contents],
        ParseFn.released: [JudgeFn.released, round_["digests"]],
        ParseFn.bands: [FindPairsFn.new, round_["bands"]],
        ParseFn.sites: [round_["sites"]],
        ParseFn.changed: [DecideFn.changed],
        ParseFn.dead: [round_["dead"]],
        ParseFn.alerts: [WriteAlertsFn.rows],
        ParseFn.gone: [WriteGoneFn.rows],
        ParseFn.facts: [AdvanceFn.facts, removals, keys],
        ParseFn.requisites: [AdvanceFn.candidates, keys],
        ParseFn.external: DROPPED if step.external is None else [AdmitExternalFn.found],
        ParseFn.rejections: [WriteRejectionsFn.rejections],
        FollowFn.candidates: [AdvanceFn.candidates, keys],
        FollowFn.rejections: [WriteRejectionsFn.rejections],
        TurnsFn.turns: [AddHostsFn.turns],
        TurnsFn.hosts: [round_["turn_hosts"]],
        HostsWithTrapsFn.hosts: [round_["trap_hosts"]],
        **_TO_REPORT,
    }


def _readers_of_earlier_rounds(step: UpdateStep) -> Mapping[str, StageFn]:
    """Read what the round's contents, templates and hosts are compared with."""
    root, shards, partitions = step.root, step.shards, step.partitions
    return {
        "digests": ReadDigestsFn(root, partitions, "digests"),
        "near": ReadEarlierFn(root, partitions),
        "traps": ReadTrapsFn(root, shards),
        "trap_samples": ReadTrapSamplesFn(root, shards),
        "trap_queues": ReadTrapQueuesFn(root, shards),
        "hosts": EarlierHostsFn(root, partitions),
    }


_EARLIER_ROWS: Routing = {
    ReadDigestsFn.rows: [JudgeFn.earlier],
    ReadEarlierFn.entries: [FindPairsFn.earlier],
    ReadTrapsFn.rows: [WatchAndFinishFn.traps],
    ReadTrapSamplesFn.rows: [WatchAndFinishFn.trap_samples],
    ReadTrapQueuesFn.rows: [WatchAndFinishFn.trap_queues],
    EarlierHostsFn.rows: [AddHostsFn.earlier],
}


def _judged_contents(step: UpdateStep, to: Exchanges) -> Routing:
    """Exact duplicates and pairs of similar documents; the alias rules that they suggest."""
    suggested = Converted(partial(suggest, known=rules_of(step)), to.url_keys["suggested"])
    keys = _keys_of_urls(step, to.url_keys["keys"])
    return {
        JudgeFn.duplicates: [WatchAndFinishFn.duplicates, DecideFn.duplicates],
        JudgeFn.copies: [WatchAndFinishFn.copies],
        JudgeFn.pairs: DROPPED if step.aliases is None else [suggested, Converted(keepers, to.url_contents)],
        FindPairsFn.pairs: [DecideFn.pairs],
        **({} if step.external is None else {AdmitExternalFn.candidates: [AdvanceFn.candidates, keys]}),
        **_TO_REPORT,
    }


_NEAR_DUPLICATES: Routing = {DecideFn.by_shard: [WatchAndFinishFn.near], DecideFn.by_url: [AdvanceFn.near]}


def _finished_pages(step: UpdateStep, to: Exchanges) -> Routing:
    return {
        WatchAndFinishFn.candidates: [AdvanceFn.candidates, _keys_of_urls(step, to.url_keys["keys"])],
        WatchAndFinishFn.removals: [WriteTombstonesFn.documents],
        WatchAndFinishFn.rejections: [WriteRejectionsFn.rejections],
        WatchAndFinishFn.trapped: [to.trapped],
        **_TO_REPORT,
    }


def _rows_of_traps(step: UpdateStep, to: Exchanges) -> Routing:
    return {
        ScanTrappedFn.held: [_keys_of_urls(step, to.url_keys["keys"])],
        ScanTrappedFn.queues: [WriteQueuesFn.queues],
    }


_WAITING_ROWS: Routing = {ReadWaitingByNameFn.rows: [AdvanceFn.frontier]}
_URLS_OF_ALIASES: Routing = {ReadUrlsFn.rows: [AdvanceFn.earlier], **_WAITING_ROWS}
_MEMBERS: Routing = {MembersFn.members: [JudgeRulesFn.members]}


def _readers_of_urls(step: UpdateStep) -> Mapping[str, StageFn]:
    """Read the earlier states of the URLs found and visited, and their waiting rows unless alias rules are in use."""
    urls = ReadUrlsFn(step.root, step.partitions, "keys")
    if rules_of(step).used:
        return {"urls": urls}
    return {"urls": urls, "frontier": ReadWaitingByNameFn(step.root, step.waiting.left, step.partitions, "keys")}


def _earlier_urls(to: Exchanges) -> Routing:
    earlier: list[Target] = [
        AdvanceFn.earlier,
        Converted(had_content, WriteTombstonesFn.earlier),
        Converted(seen_before, to.url_contents),
    ]
    if to.alias_keys is None:
        return {ReadUrlsFn.rows: earlier, **_WAITING_ROWS}
    return {ReadUrlsFn.rows: [*earlier, Converted(joined_keys, to.alias_keys["joined"])]}


def _freed(step: UpdateStep, held: Part) -> Routing:
    """The aliases whose rules are dropped."""
    return {HeldAliasesFn.candidates: [AdvanceFn.candidates], HeldAliasesFn.held: [_keys_of_urls(step, held)]}


def _readers_of_aliases(step: UpdateStep) -> Mapping[str, StageFn]:
    """Read the states of aliases set free, and the waiting rows, also of the URLs that represent aliases."""
    return {
        "urls": ReadUrlsFn(step.root, step.partitions, "held"),
        "frontier": ReadWaitingByNameFn(step.root, step.waiting.left, step.partitions, "keys", "joined"),
    }


def _advanced_urls(step: UpdateStep) -> Routing:
    is_planned = step.plan is not None
    return {
        AdvanceFn.written: [WriteFrontierFn.written],
        AdvanceFn.left: [WriteLeftFn.left],
        AdvanceFn.queues: [WriteQueuesFn.queues],
        AdvanceFn.aliases: [WriteCountsFn.aliases],
        AdvanceFn.due: [WritePlanFn.due] if is_planned else DROPPED,
        AdvanceFn.pages: [WritePlanFn.pages] if is_planned else DROPPED,
        AdvanceFn.observed: [WritePlanFn.observed] if is_planned else DROPPED,
        **_TO_REPORT,
    }
