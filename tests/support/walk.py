"""An independent breadth-first walk: which documents a crawl of some seeds has to find.

It shares no code with the product, and its rules are the same: the hosts of the seeds and no others;
robots.txt; `depth` links from a seed at most, where redirects (HTTP and meta refresh, ten in a row) cost
nothing; HTML, XHTML and plain text. Of the pages of a host with one content the first keeps it. It goes in
rounds: what a round finds, redirects included, is fetched in the next, and what finds a URL first sets its
depth.
"""

import contextlib
import hashlib
import http.client
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import ada_url
import lxml.html
from protego import Protego

AGENT = "walk"
ENOUGH_TEXT = 64  # characters; shorter texts are the same only if the bytes are
NEVER_TEXT = """
    avif bmp gif heic heif ico jpe jpeg jpg jxl png psd svg svgz tif tiff webp css js map mjs wasm
    eot otf ttf woff woff2 aac aif aiff flac m4a mid midi mp3 oga ogg opus wav wma
    3gp avi flv m4v mkv mov mp4 mpeg mpg ogv swf webm wmv
    7z apk bin bz2 cab deb dmg exe gz img iso jar lz lzma msi pkg rar rpm tar tbz2 tgz txz whl xpi xz zip zst
    doc docm docx dot dotx key numbers odg odp ods odt pages pot potx pps ppsx ppt pptx rtf xls xlsb xlsm xlsx
    djvu dvi epub mobi pdf ps csv db inv json jsonl parquet pickle pkl sqlite tsv atom rss xml
"""  # extensions
LINKING = "//a/@href|//area/@href|//frame/@src|//iframe/@src|//link[@rel]/@href|//meta[@http-equiv]/@content"
NO_TEXT = "//head/title|//script|//style|//template|//noscript"
SURROUNDINGS = "//nav|//footer|//aside|//header|//*[@hidden]" + "".join(
    f"|//*[@role='{role}']" for role in ("navigation", "banner", "contentinfo", "complementary", "search")
)


class Step(NamedTuple):
    """A URL to ask for. Of several of a host with one content, the first in this order keeps it."""

    depth: int
    length: int
    url: str
    redirects: int = 0  # in a row, to get here


class Answer(NamedTuple):
    """What came of a step."""

    step: Step
    digest: bytes | None  # of a document's content; None: no document
    leads_to: list[Step]


def walk(seeds: Iterable[str], depth: int) -> dict[str, str | None]:
    """The URL of every document, and that of the earlier one of its host with the same content, if there is one."""
    due = {Step(0, len(url), url) for url in map(_canonical, seeds) if url}
    robots = {host: _read_robots(host) for host in map(_host, due)}
    seen = {step.url for step in due}
    documents: dict[str, str | None] = {}
    owners: dict[tuple[str, bytes], str] = {}
    while due:
        candidates = []
        for step, digest, leads_to in sorted(_ask_all(due, robots)):
            owner = owners.setdefault((_host(step), digest), step.url) if digest else step.url
            if digest:
                documents[step.url] = None if owner == step.url else owner
            candidates += leads_to
        due = set()
        for step in sorted(candidates):
            if step.depth <= depth and step.url not in seen and _is_in_scope(step, robots):
                seen.add(step.url)
                due.add(step)
    return documents


def _host(step: Step) -> str:
    return urlsplit(step.url).netloc


def _is_in_scope(step: Step, hosts: Collection[str]) -> bool:
    name = urlsplit(step.url).path.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    allowed = step.length <= 1024 and step.redirects <= 10 and extension not in NEVER_TEXT.split()
    return allowed and _host(step) in hosts


def _read_robots(host: str) -> Protego:
    with contextlib.closing(http.client.HTTPConnection(host)) as connection:
        status, _, body = _get(connection, "/robots.txt")
    return Protego.parse(body.decode("utf-8-sig", "replace") if status == 200 else "")


def _ask_all(due: Iterable[Step], robots: dict[str, Protego]) -> Iterator[Answer]:
    """The answers to all steps: hosts at the same time, the steps of one host one after another."""
    queues = [list(steps) for _, steps in itertools.groupby(sorted(due, key=_host), key=_host)]
    with ThreadPoolExecutor(len(queues)) as pool:
        for answers in pool.map(lambda steps: _ask_host(steps, robots[_host(steps[0])]), queues):
            yield from answers


def _ask_host(steps: list[Step], robots: Protego) -> list[Answer]:
    with contextlib.closing(http.client.HTTPConnection(_host(steps[0]))) as connection:
        return [_ask(connection, step) for step in sorted(steps) if robots.can_fetch(step.url, AGENT)]


def _get(connection: http.client.HTTPConnection, target: str) -> tuple[int, Any, bytes]:
    connection.request("GET", target, headers={"User-Agent": AGENT})
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def _ask(connection: http.client.HTTPConnection, step: Step) -> Answer:
    status, headers, body = _get(connection, step.url.removeprefix(f"http://{_host(step)}"))
    if status in (301, 302, 303, 307, 308) and (target := _canonical(headers["Location"] or "", step.url)):
        return Answer(step, None, [_redirected(step, target)])
    kind, charset = headers.get_content_type(), headers.get_content_charset()
    if status != 200 or kind not in ("text/html", "application/xhtml+xml", "text/plain"):
        return Answer(step, None, [])
    if kind == "text/plain":
        text = " ".join(body.decode(charset or "utf-8", "replace").split())
        return Answer(step, _digest("", text, body), [])
    declared = re.search(rb"<meta[^>]*charset=[\"' ]*([\w-]+)", body)
    charset = charset or (declared[1].decode() if declared else "utf-8")
    parser = lxml.html.HTMLParser(encoding=charset, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(body, parser=parser)
    except lxml.etree.ParserError:  # nothing in it
        return Answer(step, _digest("", "", body), [])
    leads_to, title, text = list(_links(step, root)), root.findtext(".//title"), _text(root, NO_TEXT)
    return Answer(step, _digest(title or "", _text(root, SURROUNDINGS) or text, body), leads_to)


def _links(step: Step, root: Any) -> Iterator[Step]:
    base = next((_canonical(href, step.url) for href in root.xpath("//base/@href")), None) or step.url
    robots = " ".join(meta.get("content", "") for meta in root.iter("meta") if meta.get("name") == "robots")
    if {"none", "nofollow"} & set(re.split(r"[\s,]+", robots.lower())):
        return
    for value in root.xpath(LINKING):
        element = value.getparent()
        rel = set((element.get("rel") or "").lower().split())
        if element.tag == "meta":
            refresh = re.match(r"[\d.\s]+[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"]+)", value, re.IGNORECASE)
            if element.get("http-equiv").lower() == "refresh" and refresh:
                target = _canonical(refresh[1], base)
                yield from [_redirected(step, target)] if target else []
        elif not rel & {"nofollow", "ugc", "sponsored"} and (element.tag != "link" or _is_page(rel, element)):
            target = _canonical(value, base)
            yield from [Step(step.depth + 1, len(target), target)] if target else []


def _is_page(rel: set[str], link: Any) -> bool:
    is_other_format = "alternate" in rel and "html" not in link.get("type", "html")
    leads = bool(rel & {"alternate", "canonical", "next", "prev"}) and "stylesheet" not in rel
    return leads and not is_other_format


def _redirected(step: Step, target: str) -> Step:
    return Step(step.depth, len(target), target, step.redirects + 1)


def _text(root: Any, dropped: str) -> str:
    """The text of a tree with white space collapsed, after some elements were dropped from it."""
    for element in root.xpath(dropped):
        element.drop_tree()
    return " ".join("".join(root.itertext()).split())


def _digest(title: str, text: str, body: bytes) -> bytes:
    content = f"{' '.join(title.split())}\n{text}".encode() if len(text) >= ENOUGH_TEXT else body
    return hashlib.sha256(content).digest()


def _canonical(reference: str, base: str | None = None) -> str | None:
    """The http URL that a reference means, as it is asked for: no fragment, strays escaped."""
    try:
        url = ada_url.join_url(base, reference) if base else ada_url.normalize_url(reference)
    except ValueError:
        return None
    url = re.sub(r"[^\w%/.~:?&=;,+!$'()*@-]", lambda stray: f"%{ord(stray[0]):02X}", url.partition("#")[0])
    url = re.sub("%[0-9a-f]{2}", lambda escape: escape[0].upper(), url)
    return url.removesuffix("?") if url.startswith("http://") else None
