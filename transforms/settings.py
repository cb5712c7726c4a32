"""The settings of a crawl: one file, `crawl.toml`, read and written here and nowhere else."""

import dataclasses
import difflib
import ipaddress
import math
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the key, the value and, from a file, the line."""


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
                if problem := _problem(f"{part.name}.{field.name}", field.type, value):
                    raise SettingsError(f"{part.name}.{field.name} = {_shown(field, value)}: {problem}")


_LONGEST, _MOST = 10**9, 10**12  # seconds that clocks and sockets can hold, and more than there is to count
_CHOICES = {
    "scope.mode": ("host", "domain", "any"),
    "fetch.client": ("direct", "requests"),
    "politeness.scope": ("host", "domain", "address"),
}
_POSITIVE = {
    "fetch.connect_timeout",
    "fetch.read_timeout",
    "fetch.total_timeout",
    "fetch.max_body_bytes",
    "fetch.max_header_bytes",
    "fetch.connections",
    "fetch.lookups_per_second",
    "limits.max_pages_per_host",
    "limits.round_time",
    "limits.max_tries",
    "limits.max_host_tries",
    "politeness.dead_after",
    "scope.max_url_length",
    "scope.path_depth",
    "scope.parameters",
    "scope.same_parameter",
}


def _problem(key: str, kind: Any, value: Any) -> str | None:
    """What is wrong with a value, as the end of a sentence; None if nothing is."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in kinds:
        return None
    if list[str] in kinds:
        if key == "documents.kinds" and not value:
            return 'must name a kind, such as "html"'
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            return "must be a list of strings"
        return next((p for item in value if (p := _item_problem(key, item))), None)
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0 or (isinstance(value, float) and math.isnan(value)):
            return "must be a number of at least 0"
        if value > _LONGEST:
            return f"must be at most {_LONGEST}"
        if key == "documents.similarity" and not 0.5 <= value <= 1:
            return "must be from 0.5 to 1"
    elif int in kinds and isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            return "must be a whole number of at least 0"
        if value > _MOST:
            return f"must be at most {_MOST}"
    elif bool in kinds and isinstance(value, bool):
        return None
    elif str in kinds and isinstance(value, str):
        if key.startswith("robot.") and not (value.isascii() and value.isprintable()):
            return "must be printable ASCII, as it goes into a header of HTTP"
        if key == "robot.name" and value and not re.fullmatch(r"[A-Za-z_-]+(/[\w.+-]+)?", value):
            return "must be letters, - and _, as robots.txt can name it, with /version at most"
        if key == "robot.contact" and value and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
            return "must be a mail address"
        if key == "robot.info_url" and value and not re.fullmatch(r"https?://[^\s]+", value):
            return "must be an http or https URL"
        if key == "fetch.proxy" and value and not _PROXY.fullmatch(value):
            return "must be http://HOST:PORT, with USER:PASSWORD@ before the host if the proxy wants them"
        if key in _CHOICES and value not in _CHOICES[key]:
            return "must be one of " + ", ".join(_CHOICES[key])
        return None
    else:
        names = {bool: "true or false", float: "a number", int: "a whole number", str: "a string"}
        wanted = next(name for known, name in names.items() if known in kinds)
        return f"must be {wanted}"
    if key in _POSITIVE and value == 0:
        return "must be more than 0"
    return None


def _item_problem(key: str, item: str) -> str | None:
    try:
        if key == "fetch.allow_addresses":
            ipaddress.ip_network(item)
        if key in ("scope.include", "scope.exclude"):
            re.compile(item)
        if key == "fetch.resolve":
            pin(item)
        if key == "fetch.downloaders":
            downloader(item)
    except (ValueError, re.error) as error:
        return f"{error}"
    if key == "traps.allow" and not _ALLOWED.fullmatch(item):
        return 'must be "HOST/PATTERN", without http://'
    if key == "fetch.headers":
        if not (header := _HEADER.fullmatch(item)):
            return 'must be "Name: value", in printable ASCII'
        if header[1].lower() in _OWN_HEADERS:
            return f"{header[1]} is sent by the robot itself: [robot] says who it is"
    if key == "fetch.credentials" and not _CREDENTIALS.fullmatch(item):
        return 'must be "HOST USER:PASSWORD"'
    return None


_PROXY = re.compile(r"http://([^\s:@/]+:[^\s@/]*@)?([^\s:@/\[\]]+|\[[0-9a-fA-F:]+\])(:\d+)?/?", re.ASCII)
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([ -~]+)", re.ASCII)
_ALLOWED = re.compile(r"[^\s/]+/\S*")
_CREDENTIALS = re.compile(r"(\S+)\s+([^\s:]+:.*)")
_OWN_HEADERS = {
    *("host", "user-agent", "from", "referer", "connection", "content-length", "transfer-encoding", "range"),
    *("accept-encoding", "if-none-match", "if-modified-since", "proxy-authorization"),
}


def pin(text: str) -> tuple[str, int, str]:
    """(name, port, address) of a "NAME:PORT:ADDRESS"; ValueError says what is wrong with it.

    >>> pin("staging.example.org:443:[::1]")
    ('staging.example.org', 443, '::1')
    """
    name, _, rest = text.partition(":")
    port, _, address = rest.partition(":")
    if not re.fullmatch(r"[\w.-]+", name) or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f'"{text}" must be NAME:PORT:ADDRESS')
    return name.lower(), int(port), str(ipaddress.ip_address(address.removeprefix("[").removesuffix("]")))


def downloader(text: str) -> tuple[str, str]:
    """(name, host or scheme) of a "NAME HOST" or a "NAME SCHEME:"; ValueError says what is wrong with it."""
    name, _, what = text.partition(" ")
    if not name or not re.fullmatch(r"https?:|[^\s:/]+(:\d+)?|\[[\da-fA-F:]+\](:\d+)?", what := what.strip().lower()):
        raise ValueError(f'"{text}" must be "NAME HOST", "NAME HOST:PORT" or "NAME https:"')
    return name, what


def header(text: str) -> tuple[str, str]:
    """(name, value) of a "Name: value" of `fetch.headers`."""
    name, _, value = text.partition(":")
    return name, value.strip()


def credentials(text: str) -> tuple[str, str]:
    """(host, "USER:PASSWORD") of a line of `fetch.credentials`."""
    host, _, secret = text.partition(" ")
    return host.lower(), secret.strip()


def parse(text: str, name: str = "crawl.toml") -> Settings:
    """The settings in the text of a `crawl.toml`; SettingsError names the key, the value and the line."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers or nesting beyond all reason
        raise SettingsError(f"{name}: {error}") from error
    parts = {}
    for table, values in tables.items():
        part = next((f for f in dataclasses.fields(Settings) if f.name == table), None)
        if part is None or not isinstance(values, dict):
            known = ", ".join(f"[{f.name}]" for f in dataclasses.fields(Settings))
            raise SettingsError(f"{name}, line {_line(text, '', table)}: unknown table or key {table}; known: {known}")
        fields = {f.name: f for f in dataclasses.fields(part.type)}  # type: ignore[arg-type]
        for key, value in values.items():
            where = f"{name}, line {_line(text, table, key)}: {table}.{key}"
            if key not in fields:
                near = difflib.get_close_matches(key, fields, 1)
                hint = f"did you mean {near[0]}?" if near else f"[{table}] has {', '.join(fields)}"
                raise SettingsError(f"{where}: unknown key; {hint}")
            where += f" = {_shown(fields[key], value)}"
            if problem := _problem(f"{table}.{key}", fields[key].type, value):
                raise SettingsError(f"{where}: {problem}")
        parts[table] = part.type(**values)  # type: ignore[operator]
    return Settings(**parts)


def override(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some values replaced, by dotted key: `{"politeness.delay": 0.5}`."""
    for key, value in changes.items():
        part, _, name = key.partition(".")
        settings = dataclasses.replace(
            settings, **{part: dataclasses.replace(getattr(settings, part), **{name: value})}
        )
    return settings


def render(settings: Settings) -> str:
    """The text of a `crawl.toml`, with a comment for each key; `parse` gives the same settings again."""
    lines = ["# The settings of this crawl. Flags of `beamtrawl crawl` go before them, for one run."]
    for part in dataclasses.fields(settings):
        lines += ["", f"[{part.name}]"]
        for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
            value = getattr(getattr(settings, part.name), field.name)
            lines.append(f"# {field.metadata['comment']}")
            lines.append(f"# {field.name} = …" if value is None else f"{field.name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def without_secrets(settings: Settings) -> Settings:
    """The settings as they may be shown, or stand in a digest."""
    secrets = {
        f.name: type(getattr(settings.fetch, f.name))() for f in dataclasses.fields(Fetch) if f.metadata["secret"]
    }
    return dataclasses.replace(settings, fetch=dataclasses.replace(settings.fetch, **secrets))


def _shown(field: dataclasses.Field, value: Any) -> str:
    """A value as a message may quote it: a password that was written wrongly is still one."""
    return "…" if field.metadata["secret"] else _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        escaped = "".join(
            "\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in value
        )
        return f'"{escaped}"'
    return str(value)


def _line(text: str, table: str, key: str) -> int:
    """The line that sets a key; the table's own when the key is written in a way we do not look for."""
    current, found = "", 1
    for number, line in enumerate(text.split("\n"), 1):  # splitlines cuts where TOML does not
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            current = header[1]
            if current == (table or key):
                found = number
        elif current == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return found
