"""Decides which URLs belong to the crawl: ordered rules, and the name of the first that rejects a URL."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import plugins
from ..settings import Scope
from .canonical import domain, host as host_of, host_name

MAX_REDIRECTS = 10
"""Maximum number of consecutive redirects. Browsers allow twenty; pages worth indexing need few."""

_EXTENSIONS = """
    avif bmp gif heic heif ico jpe jpeg jpg jxl png psd svg svgz tif tiff webp
    css js mjs wasm
    eot otf ttf woff woff2
    aac aif aiff flac m4a mid midi mp3 oga ogg opus wav wma
    3gp avi flv m4v mkv mov mp4 mpeg mpg ogv swf webm wmv
    7z apk bin bz2 cab deb dmg exe gz img iso jar lz lzma msi pkg rar rpm tar tbz2 tgz txz whl xpi xz zip zst
    doc docm docx dot dotx odg odp ods odt pot potx pps ppsx ppt pptx rtf xls xlsb xlsm xlsx
    djvu dvi epub mobi pdf ps
    csv json jsonl parquet pickle pkl sqlite tsv
    atom rss xml
"""
NEVER_TEXT = frozenset(_EXTENSIONS.split())
"""Extensions, without the dot, of neither HTML nor plain text: images, styles and scripts, fonts, audio, video,
archives and programs, office documents, print formats, data, feeds."""

MAX_QUERY_LENGTH = 512
"""Maximum length of a query. Queries of real sites are below 300; longer ones encode the state of a program."""

REPETITIONS = 3
"""Number of consecutive repetitions of path segments that is rejected: `/a/b/a/b` is accepted, `/a/b/a/b/a/b` not."""

_REPEATED = re.compile(rf"(/.+?)\1{{{REPETITIONS - 1}}}(?=/|$)")

EXTERNAL = "external"
"""The kind of URLs whose status is asked for (`tables.sitemap_terms`), and the rule that rejects others as such."""

RSL = "rsl"
"""The kind of licence documents (`tables.sitemap_terms`), which another host may have."""

UrlRule = Callable[[str], bool]
"""Whether a canonical URL is rejected."""

Filter = Callable[[str], str | None]
"""The object of an entry point of `beamtrawl.url_filters`: why a canonical URL is not crawled; None if it may be.

It is a pure function of the URL: verdicts are cached, and several threads and workers call it.
"""

MAX_REASON = 60
"""Maximum length of a reason, which is one value of a column for many URLs."""


def deny_hosts(names: Iterable[str]) -> UrlRule:
    """Rejects hosts with these names, and their subdomains, on all ports; a name with a port on that port only."""
    denied = frozenset(name.lower().strip(".") for name in names)

    def is_denied(url: str) -> bool:
        host = host_of(url)
        labels = re.sub(r":[0-9]+$", "", host).split(".")
        return host in denied or any(".".join(labels[i:]) in denied for i in range(len(labels)))

    return is_denied


def matches(patterns: Iterable[str]) -> UrlRule:
    compiled = tuple(map(re.compile, patterns))
    return lambda url: any(pattern.search(url) for pattern in compiled)


def is_too_deep(most: int) -> UrlRule:
    """Rejects paths with too many segments, as made by relative links that append to their own path."""
    slashes = most + 3  # the scheme's two, the first of the path, and one at its end
    return lambda url: url.count("/") > slashes - 1 and len(path_segments(url)) > most


def path_segments(url: str) -> list[str]:
    """The segments of a canonical URL's path.

    >>> path_segments("http://a.org/b/c/?d/e"), path_segments("http://a.org/")
    (['b', 'c'], [])
    """
    path = url.partition("?")[0].split("/", 3)[3].removesuffix("/")
    return path.split("/") if path else []


def repeats(url: str) -> bool:
    """Whether segments of the path repeat three times in a row, with any period.

    >>> [repeats("http://a.org" + path) for path in ("/a/a/b", "/a/a/a", "/x/a/b/a/b/a/b/c.html", "/a/b/a/b/a/c")]
    [False, True, True, False]
    """
    if url.count("/") < REPETITIONS + 2:
        return False
    segments = path_segments(url)
    if len(segments) - len(set(segments)) < REPETITIONS - 1:  # nearly all URLs
        return False
    return _REPEATED.search("/" + "/".join(segments)) is not None


def has_query_of_a_program(most: int) -> UrlRule:
    """Rejects queries with too many parameters or characters, as made by listings that combine filters."""

    def is_one(url: str) -> bool:
        start = url.find("?")
        return start > 0 and (len(url) - start > MAX_QUERY_LENGTH + 1 or url.count("&", start) >= most)

    return is_one


def repeats_parameter(most: int) -> UrlRule:
    """Rejects queries that repeat a parameter, as made by links that append to their own query."""

    def is_one(url: str) -> bool:
        if url.count("&") < most:
            return False
        query = url.partition("?")[2]
        return max(Counter(piece.partition("=")[0] for piece in query.split("&")).values()) > most

    return is_one


def is_out_of_scope(mode: str, seed_hosts: frozenset[str]) -> UrlRule:
    if mode == "any":
        return lambda url: False
    if mode == "host":
        return lambda url: host_of(url) not in seed_hosts
    domains = functools.cache(lambda: frozenset(map(domain, seed_hosts)))  # 50 microseconds a host
    return lambda url: host_of(url) not in seed_hosts and domain(host_of(url)) not in domains()


def has_other_port(ports: Iterable[str], seed_hosts: frozenset[str]) -> UrlRule:
    """Rejects ports that are neither their scheme's, nor a seed's, nor among `ports`: a page may link 65,535 of a name.

    The ports of this machine are its user's.
    """
    allowed = frozenset(ports) | {"80", "443"}

    def is_other(url: str) -> bool:
        host = host_of(url)
        name = host_name(host)
        if name == host or host in seed_hosts or host[len(name) + 1 :] in allowed:
            return False
        return not name.startswith(("127.", "[::1]")) and name != "localhost" and not name.endswith(".localhost")

    return is_other


def url_rules(scope: Scope, seed_hosts: frozenset[str], extensions: frozenset[str]) -> dict[str, UrlRule]:
    """The rules that depend on the URL alone, by name, in order; rules that can reject nothing are left out.

    Rules of the operator come first, then the extension, patterns, the host, and the shape of the URL.
    """
    never_text, is_included = NEVER_TEXT - extensions, matches(scope.include)
    rules: dict[str, UrlRule | None] = {
        "deny_host": deny_hosts(scope.deny_hosts) if scope.deny_hosts else None,
        "extension": lambda url: extension(url) in never_text,
        "exclude": matches(scope.exclude) if scope.exclude else None,
        "include": (lambda url: not is_included(url)) if scope.include else None,
        "scope": is_out_of_scope(scope.mode, seed_hosts),
        "port": has_other_port(scope.ports, seed_hosts),
        "path_depth": is_too_deep(scope.path_depth),
        "repetition": repeats,
        "query": has_query_of_a_program(scope.parameters),
        "parameter": repeats_parameter(scope.same_parameter),
    }
    return {name: rule for name, rule in rules.items() if rule}


def load_filters(names: Sequence[str]) -> list[tuple[str, Filter]]:
    """The filters of these names, with their names; PluginError if one cannot be loaded."""
    return [(name, plugins.load(plugins.URL_FILTERS, name)) for name in names]


def reject_by_plugin(filters: Sequence[tuple[str, Filter]], url: str) -> str | None:
    """`NAME: REASON` of the first filter that rejects a URL, or None.

    A filter that fails rejects the URL, with the type of the error as the reason: what it would have excluded is
    unknown, and requests cannot be taken back.
    """
    for name, reject in filters:
        try:
            reason = reject(url)
            if reason is not None:
                return f"{name}: {_line(reason)}"
        except Exception as error:
            return f"{name}: error {type(error).__name__}"
    return None


def _line(reason: str) -> str:
    """A reason as one short line that can be stored."""
    return " ".join(reason.encode("utf-8", "replace").decode().split())[:MAX_REASON]


class UrlFilter:
    """The rules of a crawl's scope, for canonical URLs.

    `seed_hosts` are the politeness keys (`canonical.host`) of the seeds, `extensions` those of the kinds that are
    parsed although they are not text. The URL filters of the scope come after the rules about the URL; PluginError
    if one cannot be loaded. Immutable; can be pickled.
    """

    def __init__(self, scope: Scope, seed_hosts: frozenset[str], extensions: frozenset[str] = frozenset()) -> None:
        self._arguments = (scope, seed_hosts, extensions)
        self.scope = scope
        self._rules = url_rules(*self._arguments)
        self._plugins = load_filters(scope.filters)
        self._sitemap_rules = {name: self._rules[name] for name in _FOR_SITEMAPS if name in self._rules}

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return UrlFilter, self._arguments

    def reject(self, url: str, depth: int, redirects: int) -> str | None:
        """The name of the first rule that rejects a canonical URL, or None.

        `depth` counts links from a seed, `redirects` those followed in a row to get to this URL.
        """
        return self.reject_target(url) or self.reject_way(depth, redirects)

    def reject_target(self, url: str) -> str | None:
        """`reject`, regardless of the way to the URL."""
        return "too_long" if len(url) > self.scope.max_url_length else _reject_url(self, url)

    def reject_way(self, depth: int, redirects: int) -> str | None:
        """`reject`, by the way to a URL alone."""
        if self.scope.depth is not None and depth > self.scope.depth:
            return "depth"
        return "redirect_limit" if redirects > MAX_REDIRECTS else None

    def reject_url(self, url: str) -> str | None:
        """The name of the first rule that rejects the URL, regardless of length, depth and redirects; or None."""
        for name, rejects in self._rules.items():
            if rejects(url):
                return name
        return reject_by_plugin(self._plugins, url) if self._plugins else None

    def reject_sitemap(self, url: str, depth: int, redirects: int, anywhere: bool = False) -> str | None:
        """`reject` for what is no page: a sitemap with pages at this depth, or a requisite of a page at this depth.

        The rules `extension` and `include`, and those about the shape of the URL, do not apply; with `anywhere`, nor
        does `scope`.
        """
        if len(url) > self.scope.max_url_length:
            return "too_long"
        rules = {name: rule for name, rule in self._sitemap_rules.items() if not (anywhere and name == "scope")}
        found = next((name for name, rejects in rules.items() if rejects(url)), None)
        if found is None and self._plugins:
            found = reject_by_plugin(self._plugins, url)
        return found or self.reject_way(depth, redirects)

    def reject_external(self, url: str) -> str | None:
        """The name of the first rule by which a URL is no external target whose status is asked for; None if it is one.

        It is one outside the hosts of the scope only, and if the setting is on. The operator's own rules hold: the
        length, `deny_host`, `exclude`, `port`, and URL filters. The extension, the depth and the shape of the URL do
        not count.
        """
        is_outside = self._rules.get("scope")
        if not (self.scope.check_external and is_outside and is_outside(url)):
            return EXTERNAL
        if len(url) > self.scope.max_url_length:
            return "too_long"
        found = next((name for name in _FOR_EXTERNAL if name in self._rules and self._rules[name](url)), None)
        return found or (reject_by_plugin(self._plugins, url) if self._plugins else None)

    def reject_waiting(self, url: str, depth: int, redirects: int, kind: str | None) -> str | None:
        """`reject` for a row of the frontier, or what replaces it for its kind."""
        if kind == EXTERNAL:
            return self.reject_external(url)
        if kind is None:
            return self.reject(url, depth, redirects)
        return self.reject_sitemap(url, depth, redirects, anywhere=kind == RSL)


_FOR_SITEMAPS = ("deny_host", "exclude", "scope", "port")
_FOR_EXTERNAL = ("deny_host", "exclude", "port")


@functools.lru_cache(maxsize=2**15)
def _reject_url(url_filter: UrlFilter, url: str) -> str | None:
    """`UrlFilter.reject_url`, cached: pages of a site share most of their links."""
    return url_filter.reject_url(url)


def extension(url: str) -> str:
    """The lower-case extension of a canonical URL's path, "" if it has none.

    >>> extension("http://a.org/b.c/d.tar.GZ?x=y.z"), extension("http://a.org/"), extension("http://a.org/.d/e")
    ('gz', '', '')
    """
    name = url.partition("?")[0].rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
