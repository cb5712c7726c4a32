"""Settings of the processing and the storage of fetched content."""

import dataclasses

from .checks import each, names_a_kind, regular_expression
from .fields import setting


@dataclasses.dataclass(frozen=True)
class Documents:
    """The content that becomes documents, and what is done with it."""

    kinds: list[str] = setting(
        ["html", "text", "markdown", "pdf", "office", "epub", "feed"],
        'Kinds of content to fetch and parse. Also available: "xml", "json", "image", and those of plug-ins.',
        check=names_a_kind,
    )
    observers: list[str] = setting(["watch"], "Plug-ins that inspect each new document and may write alerts.")
    near_duplicates: bool = setting(True, "Whether only one page of each group of near duplicates is indexed.")
    similarity: float = setting(
        0.75, "Minimum Jaccard similarity of the word pairs of near duplicates, between 0.5 and 1.", within=(0.5, 1)
    )
    korean_morphemes: bool = setting(
        False, "Whether Korean text is indexed by morphemes as well as by bigrams. Needs the extra korean."
    )


@dataclasses.dataclass(frozen=True)
class Index:
    """Which documents searches find. The others are crawled, stored and exported all the same."""

    include: list[str] = setting(
        [],
        "Regular expressions. If the list is not empty, a document is indexed only if one of them matches its URL.",
        check=each(regular_expression),
    )
    exclude: list[str] = setting(
        [],
        "Regular expressions. A document whose URL one of them matches is not indexed.",
        check=each(regular_expression),
    )


@dataclasses.dataclass(frozen=True)
class Watch:
    """What to look for in new documents. Matches are rows of table alerts. Files are relative to this directory."""

    phrases: list[str] = setting([], "Phrases, matched as whole words in any letter case.")
    texts: list[str] = setting([], "Text, HTML or PDF files. Excerpts from them are found as well.")
    images: list[str] = setting([], "Image files. Copies in other sizes and formats are found as well.")


@dataclasses.dataclass(frozen=True)
class UsagePreferences:
    """What authors say about the use of their content, apart from what robots.txt, headers and pages say."""

    tdmrep: bool = setting(
        False, "Whether to fetch /.well-known/tdmrep.json of each host: reservations of text and data mining."
    )


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Link ranks, which searches use to order their results."""

    after_crawl: bool = setting(
        True, "Whether to compute ranks at the end of a crawl. beamtrawl rank computes them at any time."
    )


@dataclasses.dataclass(frozen=True)
class Storage:
    """What is kept of earlier rounds."""

    index_rounds: int | None = setting(None, "Number of past rounds that search --as-of can be asked for. Unset: all.")
    body_rounds: int | None = setting(
        None, "Number of past rounds of which all bodies are kept; of others, the newest of each page. Unset: all."
    )
