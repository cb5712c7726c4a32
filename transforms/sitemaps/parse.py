"""Parses sitemaps: XML, sitemap index, plain text, RSS and Atom; plain or in gzip.

A pure function of the bytes (sitemaps.org/protocol.html). Accepts any namespace or none, malformed XML and arbitrary
bytes. Entities that a document defines are removed unread, so that none can expand or access the network.
"""

import itertools
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from lxml import etree

from ..http.content_coding import gunzip
from ..parsing import xml_tree
from ..parsing.charsets import decode
from ..parsing.dates import feed_date
from ..urls.canonical import canonicalize, host

MAX_BYTES = 50 * 1024 * 1024
"""Maximum number of bytes read of a sitemap, decompressed: the limit of the protocol."""

MAX_ENTRIES = 50_000
"""Maximum number of entries read of a sitemap: the limit of the protocol."""

INDEX = "index"
CHANGEFREQ = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})

_MAX_ELEMENTS = 4_000_000  # only meaningless files of 50 MB have more
_MAX_PREFIXED = 10_000  # tags that are looked at for prefixes
_MAX_FIELD = 4096  # characters; longer values are not URLs
_PIECE = 1 << 16

# By root element: the form, and the name of the elements that are entries. By field: its meaning. In lower case.
_FORMS: Mapping[str, tuple[str, str]] = {
    "urlset": ("xml", "url"),
    "sitemapindex": (INDEX, "sitemap"),
    "rss": ("rss", "item"),
    "rdf": ("rss", "item"),
    "feed": ("atom", "entry"),
}
_FIELDS = {
    **dict.fromkeys(("loc", "link"), "loc"),
    **dict.fromkeys(("guid", "id"), "guid"),
    **dict.fromkeys(("lastmod", "pubdate", "date", "updated", "modified"), "lastmod"),
    "changefreq": "changefreq",
    "priority": "priority",
}

_MARKUP_START = re.compile(r"[\s\ufeff]*<")
_PREFIXED = re.compile(r"<(?!xml)([A-Za-z][\w-]{0,19}):")
_ROOT = re.compile(r"(<[A-Za-z][^\s/>]*)[^>]*")
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "\x00\u200b\ufeff"
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)


class Entry(NamedTuple):
    """A page or, in an index, a sitemap; missing and invalid values are None."""

    url: str  # canonical
    lastmod: datetime | None = None  # in UTC
    changefreq: str | None = None  # one of CHANGEFREQ
    priority: float | None = None  # 0.0 to 1.0; the protocol's default is 0.5


class Sitemap(NamedTuple):
    """The content of a sitemap, in document order."""

    form: str  # xml, index, text, rss or atom
    entries: list[Entry]
    invalid: int  # entries without a usable URL, among those read
    beyond: int  # entries after the maximum, not read


def parse_sitemap(body: bytes, url: str, max_entries: int = MAX_ENTRIES) -> Sitemap | None:
    """The sitemap in a body fetched from a canonical URL; None if it is no sitemap.

    Reads up to MAX_BYTES of the content, gzip or not. Relative URLs are resolved against `url`; a reference that
    starts with the host of `url` lacks its scheme, and is completed. Never raises.
    """
    text = decode(gunzip(body, MAX_BYTES), None, is_html=True)[0]
    collected = _Collector(url, max_entries)
    if _MARKUP_START.match(text):
        _read_xml(text, collected)
    else:
        _read_lines(text, collected)
    return collected.sitemap()


def _read_lines(text: str, collected: "_Collector") -> None:
    """Collect one URL per line, past comments; a text whose first one is no URL is no sitemap, and not read further."""
    for match in re.finditer(r"[^\r\n]+", text):
        line = match[0][:_MAX_FIELD].strip(_BLANKS)
        if collected.is_absolute(line):
            collected.form = "text"
            collected.add({"loc": line})
        elif line and not line.startswith("#"):
            if collected.form is None:
                return
            collected.invalid += 1


def _read_xml(text: str, collected: "_Collector") -> None:
    data = xml_tree.clean(_declared(text))
    reader = _Reader(collected)
    parser = etree.XMLParser(target=reader, recover=True, no_network=True, load_dtd=False, encoding="utf-8")
    try:
        for start in range(0, len(data), _PIECE):
            if reader.is_over:
                break
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except etree.XMLSyntaxError:  # unrecoverable: entries before the error are kept
        pass
    reader.close()


def _declared(text: str) -> str:
    """The text with a namespace for each prefix that the root has none for: the parser would drop the prefix."""
    prefixes = {tag[1] for tag in itertools.islice(_PREFIXED.finditer(text), _MAX_PREFIXED)}
    if not prefixes or not (root := _ROOT.search(text)):
        return text
    spaces = (f' xmlns:{name}="{name}:"' for name in sorted(prefixes) if f"xmlns:{name}" not in root[0])
    return f"{text[: root.end(1)]}{''.join(spaces)}{text[root.end(1) :]}"


class _Collector:
    """Collects at most `max_entries` entries."""

    def __init__(self, url: str, max_entries: int) -> None:
        self._base, self._host, self._most = url, host(url), max_entries
        self.form: str | None = None
        self.entries: list[Entry] = []
        self.invalid = self.beyond = 0

    def is_absolute(self, reference: str) -> bool:
        """Whether a reference starts with http: or https:, or with the name of this host."""
        return bool(_ABSOLUTE.match(reference)) or reference.lower().startswith(f"{self._host}/")

    def add(self, fields: Mapping[str, str]) -> None:
        """Add an entry with these fields, as written."""
        reference = fields.get("loc", "")
        if not reference and self.is_absolute(guid := fields.get("guid", "")):
            reference = guid
        if self.is_absolute(reference) and not _ABSOLUTE.match(reference):
            reference = f"//{reference}"
        if len(self.entries) >= self._most:
            self.beyond += 1
        elif not reference or not (url := canonicalize(reference, self._base)):
            self.invalid += 1
        else:
            self.entries.append(Entry(url, *_facts(fields)))

    def sitemap(self) -> Sitemap | None:
        return Sitemap(self.form, self.entries, self.invalid, self.beyond) if self.form else None


def _facts(fields: Mapping[str, str]) -> tuple[datetime | None, str | None, float | None]:
    changefreq = fields.get("changefreq", "").lower()
    try:
        priority = float(fields["priority"].replace(",", "."))
    except (KeyError, ValueError):
        priority = -1.0
    return (
        feed_date(fields.get("lastmod", "")),
        changefreq if changefreq in CHANGEFREQ else None,
        priority if 0 <= priority <= 1 else None,
    )


class _Reader:
    """Target of the XML parser's events, so that no tree is built.

    Only direct children of a record are fields, in its namespace or in none, because images and videos have a `loc` as
    well; the dates of feeds have namespaces of their own. A record that is not closed is an entry, and so is each `loc`
    of several in one record, or outside of records.
    """

    def __init__(self, collected: _Collector) -> None:
        self._collected = collected
        self._record = ""  # name of the elements that are entries
        self._spaces = {""}  # namespaces of the root and of the first record
        self._depth = self._elements = 0
        self._record_depth = self._field_depth = 0  # 0: not within one
        self._field = ""
        self._text: list[str] = []  # of the field
        self._own_text: list[str] = []  # directly in the record: some sitemaps have the URL there
        self._fields: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether the rest of the document need not be read."""
        return self._elements > _MAX_ELEMENTS or (self._elements > 0 and self._collected.form is None)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        name = tag.rpartition("}")[2].rpartition(":")[2]
        is_own, name = (space := tag.removesuffix(name)) in self._spaces, name.lower()
        if self._elements == 1 and name in _FORMS:
            self._collected.form, self._record = _FORMS[name]
            self._spaces.add(space)
        elif self._field_depth:
            return  # markup within a field: only its text is used
        elif name == self._record and (is_own or not (self._record_depth or self._collected.entries)):
            self._end_record()
            self._record_depth, self._own_text = self._depth, []
            self._spaces.add(space)
        if name == "loc" and is_own and self._depth == 2 and self._collected.form in ("xml", INDEX):
            self._record_depth, self._own_text = 1, []  # outside of a record: the root is one
        if self._record_depth and self._depth == self._record_depth + 1 and name in _FIELDS:
            self._field, self._field_depth, self._text = _FIELDS[name], self._depth, []
            if not is_own and (self._field != "lastmod" or self._collected.form in ("xml", INDEX)):
                self._field = ""
            if "href" in attributes and attributes.get("rel", "alternate") == "alternate":  # an Atom link
                self._text.append(attributes["href"] if self._collected.form == "atom" else "")

    def data(self, text: str) -> None:
        if self._field_depth:
            self._text.append(text)
        elif self._depth == self._record_depth:
            self._own_text.append(text)

    def end(self, tag: str) -> None:
        if self._depth == self._field_depth:
            self._end_field()
        elif self._depth == self._record_depth:
            self._end_record()
        self._depth -= 1

    def close(self) -> None:
        """End the record that is still open; a field that is cut is none, because half a URL is another one."""
        self._end_record()

    def _end_field(self) -> None:
        self._field_depth = 0
        if (value := _joined(self._text)) and self._field:
            if self._field == "loc" and "loc" in self._fields and self._collected.form in ("xml", INDEX):
                self._collected.add(self._fields)
                self._fields = {}
            self._fields.setdefault(self._field, value)

    def _end_record(self) -> None:
        if self._record_depth:
            if "loc" not in self._fields and (own := _joined(self._own_text)):
                self._fields["loc"] = own
            self._collected.add(self._fields)
        self._record_depth, self._fields = 0, {}


def _joined(parts: list[str]) -> str:
    return "".join(parts).strip(_BLANKS)[:_MAX_FIELD]
