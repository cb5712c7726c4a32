"""An independent breadth-first walk: which documents a crawl of some seeds has to find.

It shares no code with the product. The rules are the same: the hosts of the seeds and no others; robots.txt;
`depth` links from a seed at most, where redirects (HTTP and meta refresh, ten in a row) cost nothing; HTML,
XHTML and plain text; a page whose content was seen before counts, but leads nowhere. It goes in rounds: what a
round finds, redirects included, is fetched in the next, and the first way to a URL decides on its depth.
"""

import collections
import hashlib
import http.client
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import ada_url
import lxml.html
from protego import Protego

AGENT = "walk"
MAX_LENGTH = 1024
MAX_REDIRECTS = 10
ENOUGH_TEXT = 64  # characters: shorter texts are the same only if the bytes are
NEVER_TEXT = set(
    """avif bmp gif heic heif ico jpe jpeg jpg jxl png psd svg svgz tif tiff webp css js map mjs wasm
    eot otf ttf woff woff2 aac aif aiff flac m4a mid midi mp3 oga ogg opus wav wma
    3gp avi flv m4v mkv mov mp4 mpeg mpg ogv swf webm wmv
    7z apk bin bz2 cab deb dmg exe gz img iso jar lz lzma msi pkg rar rpm tar tbz2 tgz txz whl xpi xz zip zst
    doc docm docx dot dotx key numbers odg odp ods odt pages pot potx pps ppsx ppt pptx rtf xls xlsb xlsm xlsx
    djvu dvi epub mobi pdf ps csv db inv json jsonl parquet pickle pkl sqlite tsv atom rss xml""".split()
)
LINKING = "//a/@href|//area/@href|//frame/@src|//iframe/@src|//link[@rel]/@href|//meta[@http-equiv]/@content"
INVISIBLE = "//script|//style|//template|//noscript"
ROLES = ("navigation", "banner", "contentinfo", "complementary", "search")
SURROUNDINGS = "//nav|//footer|//aside|//header|//*[@hidden]" + "".join(f"|//*[@role='{r}']" for r in ROLES)


class Step(NamedTuple):
    """A URL on the way; steps sort in the order in which they keep their content."""

    depth: int
    length: int
    url: str
    redirects: int


class Answer(NamedTuple):
    digest: bytes | None  # None: no document
    links: list[Step]


def walk(seeds: Iterable[str], depth: int) -> dict[str, str | None]:
    """The URL of every document, and the URL of the earlier one with the same content, if there is one."""
    due = {Step(0, len(url), url, 0) for url in map(_canonical, seeds) if url}
    hosts = {host: _Host(host) for host in {urlsplit(step.url).netloc for step in due}}
    seen = {step.url for step in due}
    documents: dict[str, str | None] = {}
    owners: dict[bytes, str] = {}
    while due:
        candidates = []
        for step, answer in sorted(_fetch_all(due, hosts).items()):
            if answer.digest is not None:
                owner = owners.setdefault(answer.digest, step.url)
                documents[step.url] = None if owner == step.url else owner
                if owner != step.url:
                    continue
            candidates += answer.links
        due = set()
        for step in sorted(candidates):
            if step.url not in seen and step.depth <= depth and _in_scope(step, hosts):
                seen.add(step.url)
                due.add(step)
    return documents


def _in_scope(step: Step, hosts: Iterable[str]) -> bool:
    parts = urlsplit(step.url)
    extension = parts.path.rpartition("/")[2].rpartition(".")[2] if "." in parts.path else ""
    return (
        parts.netloc in hosts
        and step.length <= MAX_LENGTH
        and step.redirects <= MAX_REDIRECTS
        and extension.lower() not in NEVER_TEXT
    )


def _fetch_all(due: Iterable[Step], hosts: "dict[str, _Host]") -> dict[Step, Answer]:
    queues = collections.defaultdict(list)
    for step in sorted(due):
        queues[urlsplit(step.url).netloc].append(step)
    with ThreadPoolExecutor(len(queues)) as pool:
        parts = pool.map(lambda host: [(step, hosts[host].ask(step)) for step in queues[host]], queues)
        return dict(pair for part in parts for pair in part)


class _Host:
    """One connection to a host, and its robots.txt."""

    def __init__(self, authority: str) -> None:
        self._connection = http.client.HTTPConnection(authority)
        status, _, body = self._get("/robots.txt")
        self._robots = Protego.parse(body.decode("utf-8-sig", "replace") if status == 200 else "")

    def ask(self, step: Step) -> Answer:
        if not self._robots.can_fetch(step.url, AGENT):
            return Answer(None, [])
        status, headers, body = self._get(step.url.split("/", 3)[3].join(["/", ""]))
        if status in (301, 302, 303, 307, 308) and (target := _canonical(headers["Location"] or "", step.url)):
            return Answer(None, [_redirected(step, target)])
        kind = headers.get_content_type()
        if status != 200 or kind not in ("text/html", "application/xhtml+xml", "text/plain"):
            return Answer(None, [])
        charset = headers.get_content_charset()
        if kind == "text/plain":
            return Answer(_digest(body.decode(charset or "utf-8", "replace"), body), [])
        return _read_page(step, body, charset)

    def _get(self, target: str) -> tuple[int, Any, bytes]:
        self._connection.request("GET", target, headers={"User-Agent": AGENT})
        response = self._connection.getresponse()
        return response.status, response.headers, response.read()


def _read_page(step: Step, body: bytes, charset: str | None) -> Answer:
    declared = re.search(rb"<meta[^>]*charset=[\"' ]*([\w-]+)", body)
    charset = charset or (declared[1].decode() if declared else "utf-8")
    parser = lxml.html.HTMLParser(encoding=charset, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(body, parser=parser)
    except lxml.etree.ParserError:  # nothing in it
        return Answer(_digest("", body), [])
    links = list(_links(step, root))
    title = root.findtext(".//title") or ""
    whole = _text(root, INVISIBLE)
    return Answer(_digest(_text(root, SURROUNDINGS) or whole, body, title), links)


def _links(step: Step, root: Any) -> Iterator[Step]:
    bases = root.xpath("//base/@href")
    base = ada_url.join_url(step.url, bases[0]) if bases else step.url
    for name, content in ((meta.get("name"), meta.get("content")) for meta in root.iter("meta")):
        if (name or "").lower() == "robots" and {"none", "nofollow"} & set(re.split(r"[\s,]+", content.lower())):
            return
    for value in root.xpath(LINKING):
        element = value.getparent()
        rel = set((element.get("rel") or "").lower().split())
        if element.tag == "meta":
            match = re.match(r"[\d.\s]+[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"]+)", value, re.IGNORECASE)
            if element.get("http-equiv").lower() == "refresh" and match and (url := _canonical(match[1], base)):
                yield _redirected(step, url)
        elif rel & {"nofollow", "ugc", "sponsored"} or (element.tag == "link" and not _leads_to_page(rel, element)):
            continue
        elif url := _canonical(value, base):
            yield Step(step.depth + 1, len(url), url, 0)


def _leads_to_page(rel: set[str], link: Any) -> bool:
    other_format = "alternate" in rel and "html" not in link.get("type", "html")
    return bool(rel & {"alternate", "canonical", "next", "prev"}) and "stylesheet" not in rel and not other_format


def _redirected(step: Step, url: str) -> Step:
    return Step(step.depth, len(url), url, step.redirects + 1)


def _text(root: Any, dropped: str) -> str:
    """The text of a tree with white space collapsed, after some of its elements were dropped from it."""
    for element in root.xpath(dropped):
        if element.getparent() is not None:
            titles = element.xpath(".//h1") if element.tag == "header" else []
            for title in titles:
                element.addprevious(title)
            element.drop_tree()
    return " ".join(" ".join(root.itertext()).split())


def _digest(text: str, body: bytes, title: str = "") -> bytes:
    content = f"{title.strip()}\n{text}".encode() if len(text) >= ENOUGH_TEXT else body
    return hashlib.sha256(content).digest()


def _canonical(reference: str, base: str | None = None) -> str | None:
    """The http URL that a reference means, as it is asked for: no fragment, escapes in upper case."""
    try:
        url = ada_url.join_url(base, reference) if base else ada_url.normalize_url(reference)
    except ValueError:
        return None
    url = re.sub(r"[^\w%/.~:?&=;,+!$'()*@-]", lambda stray: f"%{ord(stray[0]):02X}", url.partition("#")[0])
    url = re.sub("%[0-9a-f]{2}", lambda escape: escape[0].upper(), url)
    return url.removesuffix("?") if url.startswith("http://") else None
