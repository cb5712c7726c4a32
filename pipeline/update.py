"""The update step of a round: visits in; documents, links, URL states, the next frontier and the index out.

Pure computation over files: no network access, repeatable.
"""

import dataclasses
from collections.abc import Sequence
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
from ..transforms.aliases.learned_rules import KnownRules
from ..transforms.directory.waiting import Waiting
from ..transforms.documents.parse_visits import ParseFn
from ..transforms.duplicates.exact import JudgeFn
from ..transforms.duplicates.minhash import BANDS
from ..transforms.duplicates.near import DecideFn, FindPairsFn, ReadEarlierFn
from ..transforms.exchange.semi_join import CollectKeysFn, CollectListFn, CollectSetFn, ReadByNameFn
from ..transforms.exchange.stage_progress import StageProgress
from ..transforms.exchange.stages import Read, Receive, Routes, Summarize, To, ToAll, ToOne, ToSummary, together
from ..transforms.exchange.writers import ReportFn, WriteSideFn
from ..transforms.frontier.advance_urls import (
    AdvanceFn,
    ReadWaitingByNameFn,
    ScanTrappedFn,
    WriteFrontierFn,
    WriteLeftFn,
    WritePlanFn,
    WriteQueuesFn,
)
from ..transforms.frontier.revisit_plan import Plan
from ..transforms.indexing.write_tombstones import WriteTombstonesFn, had_content, removals_by_key
from ..transforms.settings import Settings
from ..transforms.sitemaps.follow import FollowFn
from ..transforms.tables.schemas import DIGESTS, TRAP_QUEUES, TRAP_SAMPLES, TRAPS, URLS
from ..transforms.traps.watch_yields import HostsWithTrapsFn, ReadTrapsFn, hosts_of
from .update_hosts import AddHostsFn, EarlierHostsFn, TurnsFn
from .update_parts import MarkFn, WatchAndFinishFn, WriteRejectionsFn, row_groups

STAGES = {
    "ParseVisits": "parsing pages",
    "ReadEarlier": "reading earlier contents",
    "JudgeContents": "finding duplicates",
    "FindNearDuplicates": "finding near duplicates",
    "FinishPages": "writing documents and index",
    "ScanTrapped": "reading the URLs of traps",
    "ReadUrls": "reading the known URLs",
    "LearnAliases": "learning aliases",
    "AdvanceUrls": "writing the states of URLs",
    "WriteFrontier": "writing the next frontier",
}
"""The stages on which workers report, by label and in the order in which they run, with what they do."""

_LINKS_PER_VISIT = 40  # distinct targets that the visit of a page adds to a round, roughly
_ROWS_PER_PARTITION = 100_000
_ROWS_PER_FRONTIER_FILE = 500_000
_PAGES_PER_SHARD = 5_000
_VISIT_BYTES_PER_SHARD = 4 << 20  # of compressed files; larger ones take more memory (`shard_pages`)
_SMALL = 200  # visits


@dataclasses.dataclass(frozen=True)
class UpdateStep:
    """The inputs and outputs of one update step; paths are below the crawl directory."""

    root: str
    round: int
    settings: Settings
    robot: str  # the name that page directives may address
    aliases: KnownRules | None  # None: alias detection is off
    secret: bytes  # of the crawl: no site can foresee which aliases are fetched, nor the URLs that cannot exist
    visits: Sequence[str]
    visit_rows: int
    visit_bytes: int  # of the files
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
    progress: str = ""  # prefix of the workers' reports; empty: they report nothing
    plan: Plan | None = None  # of revisits

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
        """Shards of the hosts: each is the work of one worker."""
        by_bytes = _share(self.visit_bytes, _VISIT_BYTES_PER_SHARD, self._least)
        return max(by_bytes, _share(self.visit_rows, _PAGES_PER_SHARD, self._least))

    @property
    def frontier_shards(self) -> int:
        """Files of the frontier that the step writes."""
        return _share(self.links, _ROWS_PER_FRONTIER_FILE, 1)

    @property
    def files(self) -> list[tuple[str, str]]:
        """(kind, path) of all files that the step reads, and ("report", "") for `MarkFn`."""
        names = ("visits", "robots", "turns", "urls", "digests", "near", "hosts", "trap_samples", "trap_queues")
        kinds = {name: getattr(self, name) for name in names}
        kinds |= {"traps": self.trap_files, "frontier": self.waiting.frontier}
        return [("report", ""), *((kind, path) for kind, paths in kinds.items() for path in paths)]

    def stage(self, label: str) -> StageProgress | None:
        """Return where workers report that they process a stage, by its label."""
        number = list(STAGES).index(label) + 1
        return StageProgress(self.progress, STAGES[label], number, len(STAGES)) if self.progress else None

    @property
    def _least(self) -> int:
        return 1 if self.visit_rows < _SMALL else self.workers


def _share(rows: int, most: int, least: int) -> int:
    return min(256, max(least, -(-rows // most)))


def build(pipeline: beam.Pipeline, step: UpdateStep) -> None:
    """Parse; dedup content; write documents, links and index; dedup URLs; write their states and the next frontier.

    What the stages send to one another goes through few exchanges, in batches of several kinds, because a cluster
    pays for each shuffle and each vertex of the graph (docs/flink.md).
    """
    root, round_, partitions = step.root, step.round, step.partitions
    known = step.aliases or KnownRules.of([])
    forms = partial(with_forms, known=known)
    files = pipeline | "Files" >> beam.Create(step.files, reshuffle=False)

    stage = step.stage
    parsed = (
        files
        | "SpreadFiles" >> beam.Reshuffle()
        | "ListRowGroups" >> beam.FlatMap(row_groups, root)
        | "ParseVisits" >> _parse_visits(step, forms)
    )
    summary = parsed["summary"] | "SummarizeRound" >> Summarize(_summaries(step))
    read = files | "ReadEarlier" >> _read_earlier(step, summary)
    judged = together("by_content", parsed, read) | "JudgeContents" >> _judge_contents(step, known)
    decided = together("near", parsed, judged) | "FindNearDuplicates" >> Receive(
        {"": DecideFn(root, step.near, round_, step.settings.documents.similarity, partitions)},
        {"": [To("by_shard", "", "near")], "by_url": [To("to_class", "urls", "near")]},
        progress=stage("FindNearDuplicates"),
    )
    finished = together("by_shard", parsed, read, judged, decided) | "FinishPages" >> Receive(
        {"": WatchAndFinishFn(root, round_, step.settings, partitions, step.seeds, step.secret)},
        {
            "": [To("to_class", "urls", "candidates"), ToSummary("found", "keys", forms)],
            "removals": [To("to_class", "tombstones", "documents")],
            "rejections": [To("to_class", "rejections", "found")],
            "trapped": [ToAll("trapped")],
            "files": [_TO_REPORT],
        },
        summary,
        progress=stage("FinishPages"),
    )
    trapped = beam.pvalue.AsList(finished["trapped"])
    scanned = files | "ScanTrapped" >> Read(
        {"frontier": ScanTrappedFn(root, step.waiting.left, partitions, step.settings.traps)},
        {"frontier": [ToSummary("found", "keys", forms)], "queues": [ToOne("to_write", "queues", "queues")]},
        trapped,
        progress=stage("ScanTrapped"),
    )
    keys = together("found", parsed, judged, finished, scanned) | "SummarizeFound" >> Summarize(
        {"keys": _keys(step), "suggested": CollectListFn()}
    )
    earlier = files | "ReadUrls" >> _read_urls(step, known, keys)
    learned = (
        together("contents", parsed, judged, earlier)
        | "Members" >> beam.ParDo(MembersFn(known, partitions), keys)
        | "LearnAliases"
        >> Receive(
            {"": JudgeRulesFn(root, round_, known)},
            {"judged": [ToAll("judged")], "files": [_TO_REPORT]},
            progress=stage("LearnAliases"),
        )
    )
    rules = beam.pvalue.AsList(learned["judged"])
    freed = _read_freed(files, step, known, earlier, keys, rules) if known.used else []
    advanced = (
        together("to_class", parsed, decided, finished, earlier, *freed)
        | "ByClass" >> beam.ParDo(ByClassFn("urls", known, partitions), rules)
        | "AdvanceUrls"
        >> Receive(
            {
                "urls": AdvanceFn(
                    root,
                    round_,
                    step.settings.limits,
                    step.settings.traps,
                    step.frontier_shards,
                    known,
                    step.plan,
                    step.secret,
                    step.settings.scope.depth,
                ),
                "tombstones": WriteTombstonesFn(root, round_),
                "rejections": WriteRejectionsFn(root, round_),
            },
            {
                "written": [To("to_write", "frontier", "written")],
                "left": [To("to_write", "left", "left")],
                "queues": [To("to_write", "queues", "queues")],
                "aliases": [To("to_write", "aliases", "aliases")],
                **({} if step.plan is None else {name: [To("to_write", "plan", name)] for name in _PLANNED}),
                "files": [_TO_REPORT],
            },
            rules,
            trapped,
            progress=stage("AdvanceUrls"),
        )
    )
    written = together("to_write", advanced, scanned) | "WriteFrontier" >> Receive(
        {
            "frontier": WriteFrontierFn(root, round_ + 1),
            "left": WriteLeftFn(root, round_),
            "queues": WriteQueuesFn(root, round_),
            "aliases": WriteCountsFn(root, round_, known),
            **({} if step.plan is None else {"plan": WritePlanFn(root, round_, step.plan)}),
        },
        {"files": [_TO_REPORT]},
        progress=stage("WriteFrontier"),
    )
    files_written = together("files", parsed, judged, finished, learned, advanced, written)
    files_written | "Report" >> Receive({"": ReportFn(step.report)}, {})


_PLANNED = ("due", "pages", "observed")  # tagged outputs of `AdvanceFn`

_TO_REPORT = To("files", "", "files")


def _keys(step: UpdateStep) -> CollectKeysFn:
    return CollectKeysFn(step.links, "url_key", "host")


def _parse_visits(step: UpdateStep, forms: "partial") -> Read:
    settings, partitions = step.settings, step.partitions
    scope, kinds = settings.scope, tuple(settings.documents.kinds)
    progress = step.stage("ParseVisits")
    parse = ParseFn(step.root, settings, step.robot, step.shards, partitions, step.round, step.seeds, progress)
    tdmrep = settings.usage.tdmrep
    follow = FollowFn(step.root, scope, settings.sitemaps, tdmrep, kinds, step.shards, partitions, step.seeds)
    rejections, keys = To("to_class", "rejections", "found"), ToSummary("found", "keys", forms)
    routes: Routes = {
        "visits": [To("by_shard", "", "pages")],
        "yields": [To("by_shard", "", "yields"), ToSummary("summary", "hosts", hosts_of)],
        "contents": [
            To("by_content", "digests", "new"),
            ToSummary("summary", "digests"),
            ToAll("contents", partial(now_seen, round_=step.round)),
        ],
        "released": [To("by_content", "digests", "released"), ToSummary("summary", "digests")],
        "bands": [To("by_content", "bands", "new"), ToSummary("summary", "bands")],
        "sites": [ToSummary("summary", "sites")],
        "changed": [ToOne("near", "", "changed")],
        "dead": [ToSummary("summary", "dead")],
        "alerts": [To("by_content", "alerts", "rows")],
        "gone": [To("by_content", "gone", "rows")],
        "facts": [To("to_class", "urls", "facts"), To("to_class", "tombstones", "visits", removals_by_key), keys],
        "sitemaps": [To("to_class", "urls", "candidates"), keys],
        "requisites": [To("to_class", "urls", "candidates"), keys],
        "rejections": [rejections],
        "turns": [To("by_content", "hosts", "turns")],
        "turn_hosts": [ToSummary("summary", "turn_hosts")],
        "trap_hosts": [ToSummary("summary", "trap_hosts")],
        "report": [_TO_REPORT],
    }
    fns = {"visits": parse, "sitemaps": follow, "turns": TurnsFn(step.root, partitions), "report": MarkFn()}
    return Read(fns | {"traps": HostsWithTrapsFn(step.root)}, routes)


def _summaries(step: UpdateStep) -> dict[str, beam.CombineFn]:
    keys = {
        "digests": CollectKeysFn(step.visit_rows, "digest", "digest"),
        "bands": CollectKeysFn(step.visit_rows * BANDS, "band", None),
    }
    return keys | {name: CollectSetFn() for name in ("sites", "hosts", "trap_hosts", "turn_hosts", "dead")}


def _read_earlier(step: UpdateStep, summary: beam.pvalue.AsSingleton) -> Read:
    """Read the rows of earlier rounds that the round's contents, templates and hosts are compared with."""
    root, shards, partitions = step.root, step.shards, step.partitions
    return Read(
        {
            "digests": ReadByNameFn(root, DIGESTS, "digest", partitions, "digests"),
            "near": ReadEarlierFn(root, partitions),
            "traps": ReadTrapsFn(root, TRAPS, shards, ["hosts", "trap_hosts"]),
            "trap_samples": ReadTrapsFn(root, TRAP_SAMPLES, shards, ["hosts"]),
            "trap_queues": ReadTrapsFn(root, TRAP_QUEUES, shards, None),
            "hosts": EarlierHostsFn(root, partitions),
        },
        {
            "digests": [To("by_content", "digests", "earlier")],
            "near": [To("by_content", "bands", "earlier")],
            **{name: [To("by_shard", "", name)] for name in ("traps", "trap_samples", "trap_queues")},
            "hosts": [To("by_content", "hosts", "earlier")],
        },
        summary,
        progress=step.stage("ReadEarlier"),
    )


def _judge_contents(step: UpdateStep, known: KnownRules) -> Receive:
    """Find exact duplicates and pairs of similar documents; write the state of hosts, and rows that need no join."""
    root, round_ = step.root, step.round
    routes: Routes = {
        "digests": [To("by_shard", "", "duplicates"), ToOne("near", "", "duplicates")],
        "copies": [To("by_shard", "", "copies")],
        "near": [ToOne("near", "", "pairs")],
        "files": [_TO_REPORT],
    }
    suggestions = [ToSummary("found", "suggested", partial(suggest, known=known)), ToAll("contents", keepers)]
    return Receive(
        {
            "digests": JudgeFn(root, round_),
            "bands": FindPairsFn(round_, step.settings.documents.similarity),
            "hosts": AddHostsFn(root, round_),
            "alerts": WriteSideFn(root, "alerts", round_, "kind"),
            "gone": WriteSideFn(root, "near", round_),
        },
        routes if step.aliases is None else {**routes, "pairs": suggestions},
        progress=step.stage("JudgeContents"),
    )


def _read_urls(step: UpdateStep, known: KnownRules, keys: beam.pvalue.AsSingleton) -> Read:
    """Read the earlier states of the URLs found and visited, and their waiting rows unless aliases are used."""
    read = {"urls": ReadByNameFn(step.root, URLS, "url_key", step.partitions, "keys")}
    routes: dict[str, list[To]] = {
        "urls": [
            To("to_class", "urls", "earlier"),
            To("to_class", "tombstones", "earlier", had_content),
            ToAll("contents", seen_before),
        ]
    }
    if known.used:
        routes["urls"].append(ToSummary("joined", "joined", joined_keys))
        return Read(read, routes, keys, progress=step.stage("ReadUrls"))
    waiting = ReadWaitingByNameFn(step.root, step.waiting.left, step.partitions, "keys")
    return Read(
        {**read, "frontier": waiting},
        {**routes, "frontier": [To("to_class", "urls", "frontier")]},
        keys,
        progress=step.stage("ReadUrls"),
    )


def _read_freed(
    files: beam.PCollection,
    step: UpdateStep,
    known: KnownRules,
    earlier: dict[str, beam.PCollection],
    keys: beam.pvalue.AsSingleton,
    rules: beam.pvalue.AsList,
) -> Sequence[dict[str, beam.PCollection]]:
    """Read the aliases whose rules are dropped, and the waiting rows, also of URLs that represent aliases."""
    root, partitions = step.root, step.partitions
    freed = files | "ReadFreed" >> Read(
        {"urls": HeldAliasesFn(root, known, partitions)},
        {
            "urls": [To("to_class", "urls", "candidates")],
            "held": [ToSummary("joined", "held", partial(with_forms, known=known))],
        },
        rules,
    )
    joined = together("joined", earlier, freed) | "SummarizeJoined" >> Summarize(
        {"joined": _keys(step), "held": _keys(step)}
    )
    again = files | "ReadJoined" >> Read(
        {
            "urls": ReadByNameFn(root, URLS, "url_key", partitions, "held"),
            "frontier": ReadWaitingByNameFn(root, step.waiting.left, partitions, "keys", "joined"),
        },
        {"urls": [To("to_class", "urls", "earlier")], "frontier": [To("to_class", "urls", "frontier")]},
        keys,
        joined,
    )
    return freed, again
