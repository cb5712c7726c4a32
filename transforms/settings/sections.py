"""The settings of a crawl: each class is a table of `crawl.toml`, each field a key with its default and its comment."""

import dataclasses
from typing import Any

from .toml_values import shown
from .validate import SettingsError, problem


def _setting(default: Any, comment: str, secret: bool = False) -> Any:
    factory = {"default_factory": lambda: default} if isinstance(default, list) else {"default": default}
    return dataclasses.field(metadata={"comment": comment, "secret": secret}, repr=not secret, **factory)


@dataclasses.dataclass(frozen=True)
class Robot:
    """Who we are, told to every server. All three are needed for anything but loopback."""

    name: str = _setting("", "the robot's name: sent as User-Agent, matched in robots.txt")
    contact: str = _setting("", "a mail address that is read: sent as From")
    info_url: str = _setting("", "a page about this robot for webmasters: sent in the User-Agent")


@dataclasses.dataclass(frozen=True)
class Scope:
    """Which URLs belong to the crawl."""

    mode: str = _setting("host", 'stay on the seeds\' "host"s or "domain"s, or go to "any"')
    depth: int | None = _setting(None, "links from a seed, at most; not set: any number")
    include: list[str] = _setting([], "regular expressions; if there are any, a URL must match one")
    exclude: list[str] = _setting([], "regular expressions for URLs to leave out")
    deny_hosts: list[str] = _setting([], "hosts (and all below them) never to ask")
    max_url_length: int = _setting(1024, "longer URLs are rejected, and counted for their site")
    path_depth: int = _setting(20, "segments of a path, at most")
    parameters: int = _setting(16, "parameters of a query, at most")
    same_parameter: int = _setting(6, "parameters of one name in a query, at most")


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much."""

    max_pages: int = _setting(0, "visits in the whole crawl; 0: no limit")
    max_pages_per_host: int = _setting(10_000, "visits to one host in a round; the rest waits for the next")
    max_seconds_per_host: float = _setting(0.0, "seconds of a round for one host; 0: as long as the round lasts")
    round_time: float = _setting(3600.0, "seconds a round may fetch; what is left waits for the next")
    max_tries: int = _setting(3, "attempts at a URL before it counts as failed")
    max_host_tries: int = _setting(10, "failures of a host in a row before its waiting URLs count as failed")


@dataclasses.dataclass(frozen=True)
class Politeness:
    """How gently. A host is asked for one thing at a time, always."""

    delay: float = _setting(1.0, "seconds between an answer and the next request to its host")
    response_factor: float = _setting(
        1.0, "a host rests so many times as long as its last answer took, if that is longer"
    )
    scope: str = _setting("host", 'one request at a time to each "host", or to each "domain" or "address" of hosts')
    shared_delay: float | None = _setting(
        None, "seconds between requests to hosts of one domain or address; not set: as delay"
    )
    backoff: float = _setting(2.0, "seconds a host rests after trouble; doubled with each failure in a row")
    robots_backoff: float = _setting(300.0, "the same when its robots.txt cannot be had")
    dead_after: int = _setting(3, "failures in a row without an answer after which a host counts as dead")
    dead_backoff: float = _setting(600.0, "seconds a dead host rests; doubled with each further failure")
    longest_backoff: float = _setting(86_400.0, "no wait is longer, also none that a Retry-After asks for")


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Bounds of one request."""

    connect_timeout: float = _setting(10.0, "seconds to connect")
    read_timeout: float = _setting(20.0, "seconds without a byte")
    total_timeout: float = _setting(60.0, "seconds for a whole request")
    min_rate: int = _setting(100, "bytes a second; a body that comes slower over the read timeout is given up")
    max_header_bytes: int = _setting(65_536, "a longer head of an answer is not read")
    max_body_bytes: int = _setting(10_485_760, "a longer body is cut there, decompressed, and marked as truncated")
    allow_addresses: list[str] = _setting(
        [], "ranges of special addresses (loopback, private, link-local, …) that may be asked, as CIDR"
    )
    connections: int = _setting(64, "hosts that one worker asks at the same time")
    resolve: list[str] = _setting([], 'names with addresses of your own, as "NAME:PORT:ADDRESS", as curl has it')
    lookups_per_second: float = _setting(50.0, "names that one worker looks up, at most")
    verify_tls: bool = _setting(True, "whether certificates must be right; false for servers of your own only")
    client: str = _setting("direct", 'what sends requests: "direct" (http.client), or "requests"; both keep all bounds')
    downloaders: list[str] = _setting(
        [], 'other ways to fetch, as "NAME HOST" or "NAME https:"; "render HOST" has a browser run the scripts of pages'
    )
    browser: str = _setting("chromium", "the program that renders")
    proxy: str = _setting("", "the URL of a proxy for all requests, with USER:PASSWORD@ if it wants them", secret=True)
    headers: list[str] = _setting([], 'further headers for every request, as "Name: value"', secret=True)
    credentials: list[str] = _setting(
        [], 'for hosts that ask who we are, as "HOST[:PORT] USER:PASSWORD"; sent to them only', secret=True
    )


@dataclasses.dataclass(frozen=True)
class Documents:
    """What becomes a document, and what becomes of it."""

    kinds: list[str] = _setting(
        ["html", "text", "pdf", "feed"],
        'kinds of content that are fetched and parsed; there are "xml", "json" and "image" too, and those of plug-ins',
    )
    observers: list[str] = _setting(["watch"], "plug-ins that see each new document, and may write alerts")
    near_duplicates: bool = _setting(True, "whether of pages that say nearly the same only the first is indexed")
    similarity: float = _setting(0.75, "the share of word pairs that such pages have in common, from 0.5 to 1")
    korean_morphemes: bool = _setting(
        False, "whether Korean pages are found by morphemes, too, and not by bigrams alone; needs the extra korean"
    )


@dataclasses.dataclass(frozen=True)
class Watch:
    """What a match in a new document writes an alert for. Files are named relative to the crawl directory."""

    phrases: list[str] = _setting([], "phrases, as whole words in any case")
    texts: list[str] = _setting([], "files of text, HTML or PDF: parts of them are found too")
    images: list[str] = _setting([], "image files: other sizes and formats of them are found too")


@dataclasses.dataclass(frozen=True)
class Recrawl:
    """When a page is visited again."""

    after: float | None = _setting(None, "days after which a page is visited again; not set: never")


@dataclasses.dataclass(frozen=True)
class Sitemaps:
    """Which sitemaps are read, and how much of them."""

    follow: bool = _setting(True, "whether the sitemaps that robots.txt names are asked for")
    guess: bool = _setting(False, "whether /sitemap.xml is asked for where robots.txt names none")
    max_per_host: int = _setting(100, "sitemaps that a robots.txt may lead to, with those that its indexes name")
    after: float = _setting(1.0, "days after which one is read again, if recrawl.after is set and not less")
    max_urls: int = _setting(50_000, "entries of a sitemap that are taken")


@dataclasses.dataclass(frozen=True)
class Aliases:
    """Which URLs are one resource, as their contents have shown."""

    learn: bool = _setting(True, "whether rules are learned and used: index pages, letter case, mirrors, …")


@dataclasses.dataclass(frozen=True)
class Traps:
    """Templates of URLs that give page after page with nothing new."""

    detect: bool = _setting(True, "whether they are held back; false lets go what is held")
    allow: list[str] = _setting([], 'URLs never to be held back, as "HOST/PATTERN", where * is anything')


@dataclasses.dataclass(frozen=True)
class Ranking:
    """When the links of all rounds are counted, for the ranking of searches."""

    after_crawl: bool = _setting(True, "whether a crawl ends with it; beamtrawl rank does it at any time")
    max_links: int = _setting(2_000_000, "links, at most, counted in memory, 1 kB each; more go through Beam")


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings; each part is a table of `crawl.toml`."""

    robot: Robot = Robot()
    scope: Scope = Scope()
    limits: Limits = Limits()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    documents: Documents = Documents()
    watch: Watch = Watch()
    recrawl: Recrawl = Recrawl()
    sitemaps: Sitemaps = Sitemaps()
    aliases: Aliases = Aliases()
    traps: Traps = Traps()
    ranking: Ranking = Ranking()

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
                value = getattr(getattr(self, part.name), field.name)
                if found := problem(f"{part.name}.{field.name}", field.type, value):
                    raise SettingsError(f"{part.name}.{field.name} = {shown(field, value)}: {found}")
