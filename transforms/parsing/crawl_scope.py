"""The URL filter of a crawl: the rules of its scope, the hosts of its seeds and the kinds of content that it parses."""

from collections.abc import Sequence
from typing import NamedTuple

from ..settings import Documents, Scope
from ..tables.schemas import SEEDS
from ..tables.table_files import read_hosts
from ..urls.filters import UrlFilter


class CrawlScope(NamedTuple):
    """What decides which links belong to a crawl, as small values that travel to workers."""

    root: str
    scope: Scope
    kinds: tuple[str, ...]  # documents.kinds
    seeds: Sequence[str]  # paths of files of table seeds

    @classmethod
    def of(cls, root: str, scope: Scope, documents: Documents, seeds: Sequence[str]) -> "CrawlScope":
        """The scope of a crawl by sections of its settings."""
        return cls(root, scope, tuple(documents.kinds), seeds)

    def url_filter(self) -> UrlFilter:
        """Read the seeds, load the parsers and return the filter; PluginError if a plug-in is missing."""
        from .registry import kinds_of  # noqa: PLC0415  # it loads the parsers; a scope is also made by reading commands

        hosts = read_hosts(self.root, self.seeds, SEEDS)
        return UrlFilter(self.scope, hosts, kinds_of(self.kinds).extensions)
