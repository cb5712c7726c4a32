"""What the stages of an update step send to one another, and the functions that receive it."""

from typing import NamedTuple

from ..transforms.aliases.learn import JudgeRulesFn, WriteCountsFn
from ..transforms.aliases.learned_rules import KnownRules
from ..transforms.documents.external import AdmitExternalFn
from ..transforms.documents.finish_pages import FinishFn
from ..transforms.documents.rejections import WriteRejectionsFn
from ..transforms.duplicates.exact import JudgeFn
from ..transforms.duplicates.minhash import BANDS
from ..transforms.duplicates.near import DecideFn, FindPairsFn
from ..transforms.exchange.graph import Elements, Exchange, Graph, Summary
from ..transforms.exchange.semi_join import CollectKeysFn, CollectListFn, CollectSetFn
from ..transforms.exchange.writers import ReportFn, WriteAlertsFn, WriteGoneFn
from ..transforms.frontier.advance_urls import AdvanceFn, WriteFrontierFn, WriteLeftFn, WritePlanFn, WriteQueuesFn
from ..transforms.indexing.write_tombstones import WriteTombstonesFn
from ..transforms.politeness.add_host_turns import AddHostsFn
from ..transforms.traps.watch_yields import WatchFn
from .update_step import UpdateStep
from .watch_and_finish import WatchAndFinishFn


class Exchanges(NamedTuple):
    """Where the stages of an update step send batches."""

    by_content: Exchange  # digests and bands; also hosts, and rows that need no join
    near_duplicates: Exchange  # of the whole round, in one place
    by_host: Exchange
    by_origin: Exchange  # of an alias rule
    by_url: Exchange  # or by the normal form by alias rules
    by_file: Exchange  # of the frontier, and of tables with one file a round
    report: Exchange
    round_keys: Summary  # what the round needs of the tables of earlier rounds
    url_keys: Summary  # the URLs found and visited, and the alias rules suggested
    url_contents: Elements  # the contents of URLs, of this round and of earlier ones
    trapped: Elements  # the hosts with throttled or trapped templates
    judged: Elements  # the alias rules that change
    alias_keys: Summary | None  # the URLs that represent aliases, and the aliases set free; None: no rule is in use


def declare(graph: Graph, step: UpdateStep) -> Exchanges:
    """Add the exchanges of an update step to its graph, with the functions that receive from them."""
    root, round_, similarity = step.root, step.round, step.settings.documents.similarity
    sets = ("sites", "hosts", "trap_hosts", "turn_hosts", "dead")
    known = rules_of(step)
    return Exchanges(
        graph.exchange(
            "by_content",
            JudgeFn(root, round_),
            FindPairsFn(round_, similarity),
            AddHostsFn(root, round_),
            WriteAlertsFn(root, round_),
            WriteGoneFn(root, round_),
            *([] if step.external is None else [AdmitExternalFn(root, round_, *step.external, step.partitions)]),
        ),
        graph.exchange("near_duplicates", DecideFn(root, step.near, round_, similarity, step.partitions)),
        graph.exchange("by_host", _watch_and_finish(step)),
        graph.exchange("by_origin", JudgeRulesFn(root, round_, known)),
        graph.exchange("by_url", _advance(step), WriteTombstonesFn(root, round_), WriteRejectionsFn(root, round_)),
        graph.exchange(
            "by_file",
            WriteFrontierFn(root, round_ + 1),
            WriteLeftFn(root, round_),
            WriteQueuesFn(root, round_),
            WriteCountsFn(root, round_, known),
            *([] if step.plan is None else [WritePlanFn(root, round_, step.plan)]),
        ),
        graph.exchange("report", ReportFn(step.report)),
        graph.summary(
            "round_keys",
            digests=CollectKeysFn(step.visit_rows, "digest", "digest"),
            bands=CollectKeysFn(step.visit_rows * BANDS, "band", None),
            **{name: CollectSetFn() for name in sets},
        ),
        graph.summary("url_keys", keys=_collect_urls(step), suggested=CollectListFn()),
        graph.elements("url_contents"),
        graph.elements("trapped"),
        graph.elements("judged"),
        graph.summary("alias_keys", joined=_collect_urls(step), held=_collect_urls(step)) if known.used else None,
    )


def rules_of(step: UpdateStep) -> KnownRules:
    """The alias rules before the round; none if alias detection is off."""
    return step.aliases or KnownRules.of([])


def _collect_urls(step: UpdateStep) -> CollectKeysFn:
    """Collects the keys of URLs."""
    return CollectKeysFn(step.links, "url_key", "host")


def _watch_and_finish(step: UpdateStep) -> WatchAndFinishFn:
    root, round_, settings = step.root, step.round, step.settings
    watch = WatchFn(root, round_, settings.traps, step.secret)
    morphemes, scorers = settings.documents.korean_morphemes, settings.priority.scorers
    text = step.parts.segment_text
    finish = FinishFn(root, round_, morphemes, step.partitions, scorers, step.index_scope, text)
    return WatchAndFinishFn(watch, finish, step.scope, step.partitions)


def _advance(step: UpdateStep) -> AdvanceFn:
    settings, known = step.settings, rules_of(step)
    shards, depth = step.frontier_shards, settings.scope.depth
    limits, traps, plan, secret = settings.limits, settings.traps, step.plan, step.secret
    return AdvanceFn(step.root, step.round, limits, traps, shards, known, plan, secret, depth, step.follows)
