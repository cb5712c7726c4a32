"""The settings of a crawl: each class is a table of `crawl.toml`, each field a key with its default and comment.

The docstrings and comments are written to `crawl.toml`: users read them there.
"""

import dataclasses
from typing import Any

from .toml_values import shown
from .validate import SettingsError, problem


def _setting(default: Any, comment: str, secret: bool = False) -> Any:
    factory = {"default_factory": lambda: default} if isinstance(default, list) else {"default": default}
    return dataclasses.field(metadata={"comment": comment, "secret": secret}, repr=not secret, **factory)


@dataclasses.dataclass(frozen=True)
class Robot:
    """The identity that is sent with every request. All three are required, except for crawls of loopback addresses."""

    name: str = _setting("", "Product token: sent in User-Agent and matched against User-agent lines of robots.txt.")
    contact: str = _setting("", "E-mail address that somebody reads: sent in From.")
    info_url: str = _setting("", "Page about the robot for webmasters: sent in User-Agent.")


@dataclasses.dataclass(frozen=True)
class Scope:
    """URLs that belong to the crawl. Rules decide on links and, after a change, on waiting URLs; never on seeds."""

    mode: str = _setting(
        "host", 'Hosts to crawl: those of the seeds ("host"), all hosts of their registered domains ("domain"), "any".'
    )
    depth: int | None = _setting(None, "Maximum number of links between a seed and a page. Unset: no limit.")
    include: list[str] = _setting(
        [], "Regular expressions. If the list is not empty, a URL is crawled only if one of them matches."
    )
    exclude: list[str] = _setting([], "Regular expressions. A URL that one of them matches is not crawled.")
    deny_hosts: list[str] = _setting([], "Hosts that are never requested, together with all their subdomains.")
    max_url_length: int = _setting(1024, "Maximum length of a URL, in characters.")
    path_depth: int = _setting(20, "Maximum number of segments in a path.")
    parameters: int = _setting(16, "Maximum number of parameters in a query.")
    same_parameter: int = _setting(6, "Maximum number of parameters with the same name in a query.")
    filters: list[str] = _setting([], "URL filters of installed packages, in order; each may reject more URLs.")


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds on the crawl, on a round, on a host and on retries."""

    max_pages: int = _setting(0, "Maximum number of visits in the whole crawl. 0: no limit.")
    max_pages_per_round: int = _setting(0, "Maximum number of visits per round. 0: no limit. The rest waits.")
    max_pages_per_host: int = _setting(10_000, "Maximum number of visits to a host per round. The rest waits.")
    max_seconds_per_host: float = _setting(0.0, "Maximum time for a host per round, in seconds. 0: the whole round.")
    round_time: float = _setting(3600.0, "Maximum time for fetching per round, in seconds. The rest waits.")
    piece_time: float = _setting(60.0, "Time after which fetched pages are durable, in seconds; 64 MB of them at once.")
    max_tries: int = _setting(3, "Number of failed attempts after which a URL is marked as failed.")
    max_host_tries: int = _setting(
        10, "Number of consecutive failures of a host after which its waiting URLs are marked as failed."
    )


@dataclasses.dataclass(frozen=True)
class Priority:
    """Classes of waiting URLs and their shares of a round that has no room for all. No class is ever left out."""

    high: float = _setting(4.0, "Share of seeds, sitemaps, and URLs within high_depth or high_score.")
    normal: float = _setting(4.0, "Share of all other URLs. Shares are weights: 4 of 4 + 4 + 1 + 1 + 1 is 36 %.")
    revisit: float = _setting(1.0, "Share of pages that are visited again.")
    low: float = _setting(1.0, "Share of retries, requisites, URLs from low_depth on, and of hosts that fail.")
    foreign: float = _setting(1.0, "Share of URLs to which only other sites link.")
    high_depth: int = _setting(0, "Maximum depth of a URL of the high class.")
    high_score: float | None = _setting(None, "Link score from which on a URL is of the high class. Unset: none is.")
    low_depth: int | None = _setting(None, "Depth from which on a URL is of the low class. Unset: none is.")
    random: bool = _setting(False, "Visit waiting URLs in random order; crawl --sample does so for one round.")
    scorers: list[str] = _setting([], "Scorers of installed packages; each multiplies the score that a link passes on.")


@dataclasses.dataclass(frozen=True)
class Politeness:
    """The load on a host. There is never more than one request to a host at a time."""

    delay: float = _setting(
        1.0, "Pause between a response and the next request to the host, in seconds. A longer Crawl-delay is obeyed."
    )
    response_factor: float = _setting(
        1.0, "The pause lasts at least this many times as long as the last response took. 0: fixed pause."
    )
    scope: str = _setting(
        "host", 'Unit of one request at a time: each "host", or all hosts of one "domain" or one IP "address".'
    )
    shared_delay: float | None = _setting(
        None, "Pause between requests to different hosts of one domain or address, in seconds. Unset: delay."
    )
    backoff: float = _setting(
        2.0, "Pause after a failure (5xx, 429, timeout, …), in seconds. Doubles with each consecutive failure."
    )
    robots_backoff: float = _setting(
        300.0, "Pause if robots.txt cannot be fetched, in seconds. Doubles with each consecutive failure."
    )
    dead_after: int = _setting(3, "Number of consecutive failures without a response that mark a host as dead.")
    dead_backoff: float = _setting(
        600.0,
        "Pause for a dead host, in seconds; twice as long without an address, or with a refused one."
        " Doubles with each failure.",
    )
    longest_backoff: float = _setting(86_400.0, "Maximum of every pause, in seconds. Also bounds Retry-After.")


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Bounds and network settings of a single request."""

    connect_timeout: float = _setting(10.0, "Maximum time to connect, in seconds.")
    read_timeout: float = _setting(20.0, "Maximum time without receiving a byte, in seconds.")
    total_timeout: float = _setting(60.0, "Maximum time for a whole request, in seconds.")
    min_rate: int = _setting(
        100, "Minimum transfer rate, in bytes per second over read_timeout. A slower response is abandoned."
    )
    max_header_bytes: int = _setting(65_536, "Maximum size of the response header, in bytes.")
    max_body_bytes: int = _setting(
        10_485_760, "Maximum size of a decompressed body, in bytes. A longer one is cut and marked as truncated."
    )
    allow_addresses: list[str] = _setting(
        [], 'Special-purpose IP ranges (loopback, private, link-local, …) to permit, in CIDR form: "10.0.0.0/8".'
    )
    connections: int = _setting(64, "Maximum number of hosts that one worker fetches from at the same time.")
    resolve: list[str] = _setting([], 'Fixed addresses of host names, as "NAME:PORT:ADDRESS" (like curl --resolve).')
    lookups_per_second: float = _setting(50.0, "Maximum number of DNS lookups per second and worker.")
    verify_tls: bool = _setting(True, "Whether TLS certificates are verified. Set to false for your own servers only.")
    requisites: bool = _setting(
        False,
        "Whether the stylesheets, scripts, images, icons and fonts of pages are fetched too, for archives. They are no"
        " documents.",
    )
    client: str = _setting("direct", 'HTTP client: "direct" (http.client) or "requests". Both enforce all bounds.')
    downloaders: list[str] = _setting(
        [],
        'Downloader plug-ins, as "NAME HOST" or "NAME https:". "render HOST" runs the scripts of pages in a browser.',
    )
    browser: str = _setting("chromium", 'Chromium or Chrome for "render": the name or the path of the program.')
    proxy: str = _setting("", 'Proxy for all requests, as "http://[USER:PASSWORD@]HOST:PORT".', secret=True)
    headers: list[str] = _setting([], 'Additional headers, as "Name: value" or "HOST Name: value".', secret=True)
    credentials: list[str] = _setting(
        [], 'Basic credentials, as "HOST[:PORT] USER:PASSWORD". For http: "http://HOST …".', secret=True
    )


@dataclasses.dataclass(frozen=True)
class Documents:
    """The content that becomes documents, and what is done with it."""

    kinds: list[str] = _setting(
        ["html", "text", "markdown", "pdf", "office", "epub", "feed"],
        'Kinds of content to fetch and parse. Also available: "xml", "json", "image", and those of plug-ins.',
    )
    observers: list[str] = _setting(["watch"], "Plug-ins that inspect each new document and may write alerts.")
    near_duplicates: bool = _setting(True, "Whether only one page of each group of near duplicates is indexed.")
    similarity: float = _setting(
        0.75, "Minimum Jaccard similarity of the word pairs of near duplicates, between 0.5 and 1."
    )
    korean_morphemes: bool = _setting(
        False, "Whether Korean text is indexed by morphemes as well as by bigrams. Needs the extra korean."
    )


@dataclasses.dataclass(frozen=True)
class Watch:
    """What to look for in new documents. Matches are rows of table alerts. Files are relative to this directory."""

    phrases: list[str] = _setting([], "Phrases, matched as whole words in any letter case.")
    texts: list[str] = _setting([], "Text, HTML or PDF files. Excerpts from them are found as well.")
    images: list[str] = _setting([], "Image files. Copies in other sizes and formats are found as well.")


@dataclasses.dataclass(frozen=True)
class Recrawl:
    """When pages are visited again."""

    after: float | None = _setting(None, "Age at which a page is visited again, in days. Unset: never.")
    per_day: float = _setting(
        0.0, "Planned revisits per day, shared among pages by how often they change. 0: none. Needs no recrawl.after."
    )
    min_interval: float = _setting(0.05, "Minimum time between two planned visits of a page, in days.")
    max_interval: float = _setting(90.0, "Maximum of the same. Pages that are gone for longer are given up.")


@dataclasses.dataclass(frozen=True)
class Sitemaps:
    """Which sitemaps are read, and how much of them."""

    follow: bool = _setting(True, "Whether to fetch the sitemaps that robots.txt names.")
    guess: bool = _setting(False, "Whether to request /sitemap.xml if robots.txt names no sitemap.")
    max_per_host: int = _setting(
        100, "Maximum number of sitemaps reached from one robots.txt, including those named by sitemap indexes."
    )
    after: float = _setting(
        1.0, "Age at which a sitemap is read again, in days. Used if recrawl.after is set and not smaller."
    )
    max_urls: int = _setting(50_000, "Maximum number of entries read from a sitemap.")


@dataclasses.dataclass(frozen=True)
class UsagePreferences:
    """What authors say about the use of their content, apart from what robots.txt, headers and pages say."""

    tdmrep: bool = _setting(
        False, "Whether to fetch /.well-known/tdmrep.json of each host: reservations of text and data mining."
    )


@dataclasses.dataclass(frozen=True)
class Aliases:
    """Rules learned from page contents about different URLs of the same page."""

    learn: bool = _setting(
        True, "Whether to learn and apply such rules: index pages, letter case, www, … false releases what they hold."
    )


@dataclasses.dataclass(frozen=True)
class Traps:
    """Groups of URLs that keep producing pages without new content, such as endless calendars."""

    detect: bool = _setting(True, "Whether to hold back URLs of traps. false releases all that are held.")
    allow: list[str] = _setting([], 'URLs that are never held back, as "HOST/PATTERN". * matches any characters.')


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Link ranks, which searches use to order their results."""

    after_crawl: bool = _setting(
        True, "Whether to compute ranks at the end of a crawl. beamtrawl rank computes them at any time."
    )
    max_links: int = _setting(
        2_000_000, "Maximum number of links to rank in memory, at about 1 kB each. Larger graphs run through Beam."
    )


@dataclasses.dataclass(frozen=True)
class Alarms:
    """Thresholds of the alarms that `status` prints, and that `status --check` reports by its exit code."""

    outcome_share: float = _setting(0.5, "Share of all visits with one outcome other than success.")
    host_failures: int = _setting(3, "Consecutive failures of a host.")
    host_requests: int = _setting(20, "Number of requests from which on host_error_share applies to a host.")
    host_error_share: float = _setting(0.5, "Share of the requests of a host that failed.")
    host_refusals: int = _setting(1, "Answers of a host about pages, all with status 403 or 429.")
    robots_share: float = _setting(0.1, "Share of the hosts whose robots.txt cannot be fetched.")
    rate_share: float = _setting(0.5, "Visits a second of the last round, as a share of the median of five before it.")
    rate_pages: int = _setting(500, "Rounds with fewer visits are not compared.")
    too_long_urls: int = _setting(1, "Links of a host to over-long URLs.")
    disk_share: float = _setting(0.05, "Free share of the disk of the crawl directory.")


@dataclasses.dataclass(frozen=True)
class Storage:
    """What is kept of earlier rounds."""

    index_rounds: int | None = _setting(None, "Number of past rounds that search --as-of can be asked for. Unset: all.")
    body_rounds: int | None = _setting(
        None,
        "Number of past rounds of which all bodies are kept; of others, the newest of each page. Unset: all.",
    )


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings of a crawl; each field is a table of `crawl.toml`."""

    robot: Robot = Robot()
    scope: Scope = Scope()
    limits: Limits = Limits()
    priority: Priority = Priority()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    documents: Documents = Documents()
    watch: Watch = Watch()
    recrawl: Recrawl = Recrawl()
    sitemaps: Sitemaps = Sitemaps()
    usage: UsagePreferences = UsagePreferences()
    aliases: Aliases = Aliases()
    traps: Traps = Traps()
    ranking: Ranking = Ranking()
    alarms: Alarms = Alarms()
    storage: Storage = Storage()

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
                value = getattr(getattr(self, part.name), field.name)
                if found := problem(f"{part.name}.{field.name}", field.type, value):
                    raise SettingsError(f"{part.name}.{field.name} = {shown(field, value)}: {found}")
