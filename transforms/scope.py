"""Which URLs belong to the crawl: rules in order, and the name of the first that rejects."""

import functools
import re

from transforms import urls
from transforms.settings import Scope

MAX_REDIRECTS = 10
"""Redirects followed in a row. Browsers allow twenty; what is worth indexing needs few."""

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
"""Extensions, without the dot, of what is neither HTML nor plain text: images, styles and scripts, fonts,
audio, video, archives and programs, office documents, print, data, feeds."""


class UrlFilter:
    """The rules of a crawl's scope, for canonical URLs.

    `seed_hosts` are the seeds' politeness keys (`urls.host`), `extensions` those of what is read although it is not
    text. Immutable, and pickles.
    """

    def __init__(self, scope: Scope, seed_hosts: frozenset[str], extensions: frozenset[str] = frozenset()) -> None:
        self._mode = scope.mode
        self._max_length = scope.max_url_length
        self._max_depth = scope.depth
        self._include = tuple(map(re.compile, scope.include))
        self._exclude = tuple(map(re.compile, scope.exclude))
        self._denied = frozenset(name.lower().strip(".") for name in scope.deny_hosts)
        self._hosts = seed_hosts
        self._unread = NEVER_TEXT - extensions
        self._domains = frozenset(map(urls.domain, seed_hosts))

    def reject(self, url: str, depth: int, redirects: int) -> str | None:
        """The name of the first rule that rejects a canonical URL, or None.

        `depth` counts links from a seed, `redirects` those followed in a row to get to this URL.
        """
        if len(url) > self._max_length:
            return "too_long"
        return _reject_url(self, url) or self._reject_path(depth, redirects)

    def reject_url(self, url: str) -> str | None:
        """What the rules say that look at nothing but the URL, but for its length."""
        host = urls.host(url)
        if self._denied and self._is_denied(host):
            return "deny_host"
        if extension(url) in self._unread:
            return "extension"
        if any(pattern.search(url) for pattern in self._exclude):
            return "exclude"
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return "include"
        return None if self._is_in_scope(host) else "scope"

    def reject_sitemap(self, url: str, depth: int, redirects: int) -> str | None:
        """The same for a sitemap whose pages have a depth: it need be no text, and match no pattern to be included."""
        if len(url) > self._max_length:
            return "too_long"
        host = urls.host(url)
        if self._denied and self._is_denied(host):
            return "deny_host"
        if any(pattern.search(url) for pattern in self._exclude):
            return "exclude"
        return self._reject_path(depth, redirects) if self._is_in_scope(host) else "scope"

    def _reject_path(self, depth: int, redirects: int) -> str | None:
        if self._max_depth is not None and depth > self._max_depth:
            return "depth"
        return "redirect_limit" if redirects > MAX_REDIRECTS else None

    def _is_denied(self, host: str) -> bool:
        """A denied name stands for all ports and all hosts below it; one with a port for that port."""
        name = re.sub(r":[0-9]+$", "", host)
        labels = name.split(".")
        return host in self._denied or any(".".join(labels[i:]) in self._denied for i in range(len(labels)))

    def _is_in_scope(self, host: str) -> bool:
        if self._mode == "host":
            return host in self._hosts
        return self._mode == "any" or urls.domain(host) in self._domains


@functools.lru_cache(maxsize=2**15)
def _reject_url(url_filter: UrlFilter, url: str) -> str | None:
    """Pages of a site share most of their links."""
    return url_filter.reject_url(url)


def extension(url: str) -> str:
    """The lower-case extension of a canonical URL's path, "" if it has none.

    >>> extension("http://a.org/b.c/d.tar.GZ?x=y.z"), extension("http://a.org/"), extension("http://a.org/.d/e")
    ('gz', '', '')
    """
    name = url.partition("?")[0].rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
