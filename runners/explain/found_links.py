"""Says of links why they are not followed, and by what scorers multiplied the score that they pass on."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa

from ...transforms import urls
from ...transforms.frontier.scorers import ScoredLink, Scorer, factor_of, load_scorers
from ...transforms.parsing.html_links import FOLLOWED_KINDS, Link, why_not_followed
from ...transforms.parsing.registry import kinds_of
from ...transforms.tables.schemas import Row
from .sources import Sources, keys


class LinkFacts(NamedTuple):
    """What decides on links besides themselves."""

    kinds: frozenset[str]  # that are followed
    nofollow: frozenset[str]  # URLs of the pages that ask that their links are not followed
    depths: Mapping[tuple[str, int], int]  # of pages at their visits, by URL and round
    scorers: Mapping[str, Scorer]  # by name


def read_link_facts(sources: Sources, links: Iterable[Row], scorers: Collection[str]) -> LinkFacts:
    """What the tables hold on the pages of links; PluginError if a scorer cannot be loaded."""
    found = list(links)
    pages = sorted({(link["source_url"], link["round"]) for link in found})
    wanted = {
        "url_key": keys(urls.url_key(url) for url, _ in pages),
        "round": pa.array([round_ for _, round_ in pages], pa.int32()),
    }
    kinds = FOLLOWED_KINDS
    if not {link["kind"] for link in found} <= kinds:
        kinds |= kinds_of(sources.scope.kinds).link_kinds
    return LinkFacts(
        kinds=kinds,
        nofollow=frozenset(row["url"] for row in sources.rows_of(_NOFOLLOW, wanted)),
        depths={(row["url"], row["round"]): row["depth"] for row in sources.rows_of(_DEPTHS, wanted)}
        if scorers
        else {},
        scorers=dict(zip(scorers, load_scorers(list(scorers)), strict=True)),
    )


_NOFOLLOW = "SELECT DISTINCT url FROM documents SEMI JOIN wanted USING (url_key) WHERE nofollow"
_DEPTHS = "SELECT url, round, depth FROM visits SEMI JOIN wanted USING (url_key, round)"


def with_reason(facts: LinkFacts, link: Row) -> Row:
    """A link with `not_followed`: why, in words; empty if it is followed."""
    parts = Link(link["target_url"], link["anchor"] or "", link["rel"] or "", link["kind"])
    return link | {"not_followed": why_not_followed(parts, link["source_url"] in facts.nofollow, facts.kinds)}


def with_factors(facts: LinkFacts, link: Row, discovered_round: int) -> Row:
    """A link with `factors`: scorer, factor and error of each; none of a link that passed no score on.

    These are the followed links of the round that found a URL, but for redirects and for links of duplicates. The
    factors are computed anew, since tables hold their product with the score only.
    """
    link = with_reason(facts, link)
    depth = facts.depths.get((link["source_url"], link["round"]))
    passes = link["round"] == discovered_round and not link["not_followed"] and not link["from_duplicate"]
    if not passes or link["kind"] == "redirect" or depth is None:
        return link | {"factors": []}
    scored = ScoredLink(link["target_url"], link["anchor"] or "", link["source_url"], depth + 1)
    factors = {name: factor_of(scorer, scored) for name, scorer in facts.scorers.items()}
    return link | {
        "factors": [
            {"scorer": name, "factor": value, "error": fault or None} for name, (value, fault) in factors.items()
        ]
    }
