"""Names of files for pages, which all file systems take, and links from one of them to another."""

import hashlib
import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import numpy.typing as npt

from ...transforms import urls

_LONGEST_SEGMENT = 80  # characters; also in UTF-8 below the 255 bytes of most file systems
_LONGEST_NAME = 200  # characters
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
    ending = next((each for each in _ENDINGS if last.lower().endswith(each) and len(last) > len(each)), "")
    last = last[: len(last) - len(ending)] + (f"__{unquote(parts.query)}" if parts.query else "")
    host = _safe(parts.netloc.replace(":", "_"))
    name = "/".join([host, *map(_folder, folders), _safe(last) + _MARKDOWN])
    return name if len(name) <= _LONGEST_NAME else f"{host}/{urls.url_key(url).hex()}{_MARKDOWN}"


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
    """The files of some pages, each of its own even where letter case does not count. A page takes 16 bytes."""

    def __init__(self, pages: Iterable[str]) -> None:
        hashes = ((_hash(url), _hash(_folded(url))) for url in pages)
        flat: npt.NDArray[np.uint64] = np.fromiter(itertools.chain.from_iterable(hashes), np.uint64)
        self._urls: npt.NDArray[np.uint64] = np.sort(flat[::2])
        names, counts = np.unique(flat[1::2], return_counts=True)
        self._shared: npt.NDArray[np.uint64] = names[counts > 1]

    def __contains__(self, url: str) -> bool:
        return _is_in(self._urls, _hash(url))

    def name(self, url: str) -> str:
        """The name of the file of a page: with its key if the name would be that of another page as well."""
        name = page_name(url)
        if not len(self._shared) or not _is_in(self._shared, _hash(_folded(url))):
            return name
        return f"{name.removesuffix(_MARKDOWN)}~{urls.url_key(url).hex()[:12]}{_MARKDOWN}"

    def link(self, name: str, target: str) -> str:
        """An absolute URL on the page of a file as a link: relative if it leads to one of the pages."""
        address, _, fragment = target.partition("#")
        url = urls.canonicalize(address)
        if url is None or url not in self:
            return target
        path = quote(posixpath.relpath(self.name(url), posixpath.dirname(name)), safe="/~+=@,")
        return f"{path}#{fragment}" if fragment else path


def _folded(url: str) -> str:
    return unicodedata.normalize("NFC", page_name(url).casefold())


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _is_in(values: npt.NDArray[np.uint64], value: int) -> bool:
    place = int(np.searchsorted(values, np.uint64(value)))
    return place < len(values) and int(values[place]) == value
