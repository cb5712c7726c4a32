"""Says of links why they are not followed."""

from collections.abc import Iterable
from typing import NamedTuple

from ...transforms.parsing.html_links import FOLLOWED_KINDS, Link, why_not_followed
from ...transforms.parsing.registry import kinds_of
from ...transforms.tables.schemas import Row
from ...transforms.urls import canonical as urls
from .sources import Sources, of_urls


class LinkFacts(NamedTuple):
    """What decides on links besides themselves."""

    kinds: frozenset[str]  # that are followed
    nofollow: frozenset[str]  # URLs of the pages that ask that their links are not followed


def read_link_facts(sources: Sources, links: Iterable[Row]) -> LinkFacts:
    """What the tables hold on the pages of links."""
    links = list(links)
    pages = {(urls.url_key(link["source_url"]), link["round"]) for link in links}
    columns, wanted = ["url_key", "round", "url", "nofollow"], of_urls(link["source_url"] for link in links)
    documents = (row for rows in sources.read("documents", wanted, columns) for row in rows.to_pylist())
    nofollow = {row["url"] for row in documents if row["nofollow"] and (row["url_key"], row["round"]) in pages}
    kinds = FOLLOWED_KINDS
    if not {link["kind"] for link in links} <= kinds:
        kinds |= kinds_of(sources.scope.kinds).link_kinds
    return LinkFacts(kinds, frozenset(nofollow))


def with_reason(facts: LinkFacts, link: Row) -> Row:
    """A link with `not_followed`: why, in words; empty if it is followed."""
    parts = Link(link["target_url"], link["anchor"] or "", link["rel"] or "", link["kind"])
    return link | {"not_followed": why_not_followed(parts, link["source_url"] in facts.nofollow, facts.kinds)}
