"""Names of files for pages, which all file systems take, and links from one of them to another."""

import hashlib
import itertools
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...transforms.urls.canonical import canonicalize, url_key

_LONGEST_SEGMENT = 80  # characters; also in UTF-8 below the 255 bytes of most file systems
_LONGEST_NAME = 200  # characters
_MOST_CHANGES = 10  # of the name of a page
_BATCH = 4096  # URLs
_UNSAFE = re.compile(r"[^\w.~+=@,()\-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?=\.|$)", re.IGNORECASE)
_ENDINGS = (".html", ".htm", ".xhtml", ".md", ".markdown")
_MARKDOWN = ".md"


def page_name(url: str) -> str:
    """The name of the file of a page, below a folder for its host, with forward slashes.

    Names of different pages may be equal, or differ only by letter case (`PageNames`).

    >>> page_name("http://a.test:8080/b/"), page_name("http://a.test/b/c.html?d=1"), page_name("http://a.test/..%2fCON")
    ('a.test_8080/b/index.md', 'a.test/b/c__d=1.md', 'a.test/_.._CON.md')
    """
    parts = urlsplit(url)
    *folders, last = parts.path.removeprefix("/").split("/")
    last = unquote(last or "index")
    ending = next(
        (candidate for candidate in _ENDINGS if last.lower().endswith(candidate) and len(last) > len(candidate)), ""
    )
    last = last[: len(last) - len(ending)] + (f"__{unquote(parts.query)}" if parts.query else "")
    host = _safe(parts.netloc.replace(":", "_"))
    name = "/".join([host, *map(_folder, folders), _safe(last) + _MARKDOWN])
    return name if len(name) <= _LONGEST_NAME else f"{host}/{url_key(url).hex()}{_MARKDOWN}"


def _folder(segment: str) -> str:
    """The name of a folder, which is never that of a file."""
    name = _safe(unquote(segment))
    return f"{name}_" if name.lower().endswith(_MARKDOWN) else name


def _safe(text: str) -> str:
    """A name without what any file system refuses, hides or reads otherwise."""
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", text))
    if len(name) > _LONGEST_SEGMENT or len(name.encode()) > 2 * _LONGEST_SEGMENT:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
        name = (
            name.encode()[: 2 * _LONGEST_SEGMENT - 20].decode("utf-8", "ignore")[: _LONGEST_SEGMENT - 9] + f"-{digest}"
        )
    if not name or name[0] == "." or _RESERVED.match(name):
        name = f"_{name}"
    return f"{name}_" if name[-1] in ". " else name


class PageNames:
    """The files of some pages, each of its own even where letter case or the form of accents does not count.

    Names that several pages would have get digits by a key, which a site must not know: it could name a page like
    the file of another. Where a site has read earlier names, they get others. A page takes 8 bytes.
    """

    def __init__(self, pages: Iterable[str], key: bytes) -> None:
        self._key, batches, rest = key, [], iter(pages)
        while some := list(itertools.islice(rest, _BATCH)):
            batches.append(pa.array([url.encode("utf-8", "surrogatepass") for url in some], pa.large_binary()))
        listed: Callable[[], Iterator[str]] = lambda: (  # noqa: E731
            value.as_py().decode("utf-8", "surrogatepass") for batch in batches for value in batch
        )
        self._urls: npt.NDArray[np.uint64] = np.sort(np.fromiter(map(_hash, listed()), np.uint64))
        self._changed: dict[str, int] = {}  # how often the name of a page was that of another
        for _ in range(_MOST_CHANGES):
            names = np.fromiter((_hash(_folded(self.name(url))) for url in listed()), np.uint64)
            values, counts = np.unique(names, return_counts=True)
            shared: npt.NDArray[np.uint64] = values[counts > 1]
            if not len(shared):
                break
            for url, name in zip(listed(), names.tolist(), strict=True):
                if _is_in(shared, name):
                    self._changed[url] = self._changed.get(url, 0) + 1

    def __contains__(self, url: str) -> bool:
        return _is_in(self._urls, _hash(url))

    def name(self, url: str) -> str:
        """The name of the file of a page."""
        name = page_name(url)
        if not (changes := self._changed.get(url)):
            return name
        text = f"{changes} {url}".encode("utf-8", "surrogatepass")
        digits = hashlib.blake2b(text, key=self._key, digest_size=6).hexdigest()
        return f"{name.removesuffix(_MARKDOWN)}~{digits}{_MARKDOWN}"

    def link(self, name: str, target: str) -> str:
        """An absolute URL on the page of a file as a link: relative if it leads to one of the pages."""
        address, _, fragment = target.partition("#")
        url = canonicalize(address)
        if url is None or url not in self:
            return target
        path = quote(posixpath.relpath(self.name(url), posixpath.dirname(name)), safe="/~+=@,")
        return f"{path}#{fragment}" if fragment else path


def _folded(name: str) -> str:
    """The same for names that a file system may take for one (The Unicode Standard, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _is_in(values: npt.NDArray[np.uint64], value: int) -> bool:
    place = int(np.searchsorted(values, np.uint64(value)))
    return place < len(values) and int(values[place]) == value
