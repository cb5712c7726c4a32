"""Settings of the URLs that are crawled: which, how many, in which order and how often."""

import dataclasses

from .checks import each, port, url_expression, url_pattern
from .fields import setting


@dataclasses.dataclass(frozen=True)
class Scope:
    """URLs that belong to the crawl. Rules decide on links and, after a change, on waiting URLs; never on seeds."""

    mode: str = setting(
        "host",
        'Hosts to crawl: those of the seeds ("host"), all hosts of their registered domains ("domain"), "any".',
        choices=("host", "domain", "any"),
    )
    depth: int | None = setting(None, "Maximum number of links between a seed and a page. Unset: no limit.")
    include: list[str] = setting(
        [],
        "Regular expressions. If the list is not empty, a URL is crawled only if one of them matches.",
        check=each(url_expression),
    )
    exclude: list[str] = setting(
        [], "Regular expressions. A URL that one of them matches is not crawled.", check=each(url_expression)
    )
    deny_hosts: list[str] = setting([], "Hosts that are never requested, together with all their subdomains.")
    ports: list[str] = setting(
        ["8000", "8008", "8080", "8081", "8443", "8888"],
        "Ports of a host name that links may lead to, besides 80, 443, those of the seeds and loopback addresses.",
        check=each(port),
    )
    max_url_length: int = setting(1024, "Maximum length of a URL, in characters.", positive=True)
    path_depth: int = setting(20, "Maximum number of segments in a path.", positive=True)
    parameters: int = setting(16, "Maximum number of parameters in a query.", positive=True)
    same_parameter: int = setting(6, "Maximum number of parameters with the same name in a query.", positive=True)
    check_external: bool = setting(
        False, "Whether links to other hosts are asked for their status, for check links. They are not followed."
    )
    max_external: int = setting(
        5_000, "Maximum number of URLs in the whole crawl that check_external asks for.", positive=True
    )
    filters: list[str] = setting([], "URL filters of installed packages, in order; each may reject more URLs.")


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds on the crawl, on a round, on a host and on retries."""

    max_pages: int = setting(0, "Maximum number of visits in the whole crawl. 0: no limit.")
    max_pages_per_round: int = setting(0, "Maximum number of visits per round. 0: no limit. The rest waits.")
    max_pages_per_host_total: int = setting(
        0, "Maximum number of visits to a host in the whole crawl. 0: no limit. The rest waits."
    )
    max_pages_per_host_per_round: int = setting(
        10_000, "Maximum number of visits to a host per round. The rest waits.", positive=True
    )
    max_seconds_per_host: float = setting(0.0, "Maximum time for a host per round, in seconds. 0: the whole round.")
    round_time: float = setting(
        3600.0, "Maximum time for fetching per round, in seconds. The rest waits.", positive=True
    )
    piece_time: float = setting(
        60.0, "Time after which fetched pages are durable, in seconds; 64 MB of them at once.", positive=True
    )
    max_tries: int = setting(3, "Number of failed attempts after which a URL is marked as failed.", positive=True)
    max_host_tries: int = setting(
        10, "Number of consecutive failures of a host after which its waiting URLs are marked as failed.", positive=True
    )


@dataclasses.dataclass(frozen=True)
class Priority:
    """Which waiting URLs come first. Each class of URLs has a share of a round: docs/selection.md."""

    high_depth: int = setting(0, "Maximum depth of a URL of the high class.")
    high_score: float | None = setting(None, "Link score from which on a URL is of the high class. Unset: none is.")
    scorers: list[str] = setting([], "Scorers of installed packages; each multiplies the score that a link passes on.")


@dataclasses.dataclass(frozen=True)
class Recrawl:
    """When pages are visited again."""

    after: float | None = setting(None, "Age at which a page is visited again, in days. Unset: never.")
    per_day: float = setting(
        0.0, "Planned revisits per day, shared among pages by how often they change. 0: none. Needs no recrawl.after."
    )
    min_interval: float = setting(0.05, "Minimum time between two planned visits of a page, in days.", positive=True)
    max_interval: float = setting(
        90.0, "Maximum of the same. Pages that are gone for longer are given up.", positive=True
    )

    @property
    def is_on(self) -> bool:
        """Whether pages are visited again at all."""
        return self.after is not None or self.per_day > 0


@dataclasses.dataclass(frozen=True)
class Sitemaps:
    """Which sitemaps are read, and how much of them."""

    follow: bool = setting(True, "Whether to fetch the sitemaps that robots.txt names.")
    guess: bool = setting(False, "Whether to request /sitemap.xml if robots.txt names no sitemap.")
    max_per_host: int = setting(
        100, "Maximum number of sitemaps reached from one robots.txt, including those named by sitemap indexes."
    )
    after: float = setting(
        1.0, "Age at which a sitemap is read again, in days. Used if recrawl.after is set and not smaller."
    )
    max_urls: int = setting(50_000, "Maximum number of entries read from a sitemap.")


@dataclasses.dataclass(frozen=True)
class Aliases:
    """Rules learned from page contents about different URLs of the same page."""

    learn: bool = setting(
        True, "Whether to learn and apply such rules: index pages, letter case, www, … false releases what they hold."
    )


@dataclasses.dataclass(frozen=True)
class Traps:
    """Groups of URLs that keep producing pages without new content, such as endless calendars."""

    detect: bool = setting(True, "Whether to hold back URLs of traps. false releases all that are held.")
    allow: list[str] = setting(
        [], 'URLs that are never held back, as "HOST/PATTERN". * matches any characters.', check=each(url_pattern)
    )
