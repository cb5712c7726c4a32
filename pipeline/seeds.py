"""Seeds: the URLs that a crawl starts from."""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..transforms.directory.beside import registered
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, iso, next_step
from ..transforms.frontier.files import write_frontier
from ..transforms.frontier.link_targets import FAILED_STATES
from ..transforms.tables.sitemap_terms import LESSER
from ..transforms.tables.table_files import TableFile, TableWriter
from ..transforms.urls.canonical import canonicalize, host, neatness, url_key
from .release_held import HELD_STATES, newest_rows, waiting_keys


class Seed(NamedTuple):
    """A URL to start from, in canonical form, with the metadata of its line."""

    url: str
    metadata: str | None = None
    kind: str | None = None  # sitemap; None: a page


class BadLine(NamedTuple):
    """A line of a file, or the value of an option, that holds no usable URL."""

    where: str  # as "seeds.txt, line 3:" or "--seed"
    text: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where} {self.text!r} is skipped: {self.problem}"


class Added(NamedTuple):
    """The result of adding seeds, in URLs."""

    new: int
    again: int  # visited before without success, or held as a trap or an alias: due again
    known: int  # waiting, or visited with success


_STRAY = re.compile("[\ud800-\udfff]")  # a byte that `decode_lines` could not decode


def decode_lines(content: bytes) -> list[str]:
    """Return the lines of a file in UTF-8, with or without a BOM; bytes that are not UTF-8 become lone surrogates.

    ValueError, with the reason, for a file that is no text: one in UTF-16, or with a byte 0.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is UTF-16; save it as UTF-8")
    if b"\0" in content:
        raise ValueError("it is no text; give a file with one URL a line, plain or compressed by gzip")
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").splitlines()


def parse_seeds(
    lines: Iterable[str], file: str | None = None, option: str = "", kind: str | None = None
) -> tuple[list[Seed], list[BadLine]]:
    """Return the seeds in lines of `URL[<tab>metadata]`; empty lines and lines that start with # are comments.

    `file` is the name of the file of the lines, else `option` that of what each of them is a value of.
    """
    seeds, bad = [], []
    for number, line in enumerate(lines, 1):
        text, _, metadata = line.strip().partition("\t")
        if not text or text.startswith("#"):
            continue
        where = option if file is None else f"{file}, line {number}:"
        if stray := _STRAY.search(line):
            bad.append(BadLine(where, text[:200], f"the byte 0x{ord(stray[0]) - 0xDC00:02x} is not UTF-8"))
        elif url := canonicalize(text):
            seeds.append(Seed(url, metadata or None, kind))
        else:
            problem = "not a URL" if "://" in text else "not an absolute URL; it must start with http:// or https://"
            if "://" in text and not text.lower().startswith(("http:", "https:")):
                problem = "only http and https URLs can be crawled"
            bad.append(BadLine(where, text[:200], problem))
    return seeds, bad


def add_seeds(crawl: CrawlDir, seeds: Sequence[Seed], settings_digest: str, now: datetime) -> Added:
    """Put seeds into the frontier, committed at once. URLs that wait, or were visited with success, stay as they are.

    Seeds are never held, so one that is held as a trap or as an alias is visited too.
    It may run concurrently with a crawl: the next fetch step that starts reads the new frontier file too.
    """
    manifests = crawl.manifests()
    unique: dict[bytes, Seed] = {}
    for seed in sorted(seeds, key=lambda seed: neatness(seed.url)):
        unique.setdefault(url_key(seed.url), seed)
    states = _states(crawl, manifests, unique)
    again = {key: unique[key] for key, state in sorted(states.items()) if state in (*FAILED_STATES, *HELD_STATES)}
    held = [{"url_key": key, "host": host(seed.url)} for key, seed in again.items() if states[key] in HELD_STATES]
    for key in waiting_keys(crawl, manifests, held):  # released, and not visited yet
        again.pop(key, None)
    new = {key: seed for key, seed in sorted(unique.items()) if key not in states}
    if new or again:
        suffix = f"-{uuid.uuid4().hex[:8]}" if manifests else ""
        counters = {"seeds": len(new) + len(again)}
        with registered(crawl) as (claimed, stem):
            files = tuple(_write(claimed.root, new, again, next_step(manifests).frontier_round, stem))
            ended = iso(datetime.now(UTC))
            claimed.commit(Manifest("seeds", 0, settings_digest, files, counters, (), iso(now), ended), suffix)
    return Added(len(new), len(again), len(states) - len(again))


def _states(crawl: CrawlDir, manifests: list[Manifest], seeds: Mapping[bytes, Seed]) -> dict[bytes, str]:
    """Return the state of each known URL, from its newest row; `failed` for one that was asked for as no page."""
    hosts = {key: host(seed.url) for key, seed in seeds.items()}
    rows = newest_rows(crawl, manifests, hosts, ["url_key", "state", "round", "kind"])
    return {key: "failed" if row["kind"] in LESSER else row["state"] for key, row in rows.items()}


def _write(root: str, new: dict[bytes, Seed], again: dict[bytes, Seed], round_: int, stem: str) -> Iterable[TableFile]:
    seeds = new | again
    common: list[dict[str, Any]] = [
        {"url_key": key, "url": seed.url, "host": host(seed.url), "kind": seed.kind} for key, seed in seeds.items()
    ]
    state = {"depth": 0, "discovered_round": 0, "failures": 0}
    url = state | {"state": "due", "score": 1.0, "fetches": 0, "changes": 0, "reason": "seed", "round": 0}
    due = state | {"priority": 1.0, "reason": "seed", "redirects": 0}
    tables = {
        "frontier": [row | due for row in common],
        "urls": [row | url for row in common if row["url_key"] in new],
        "seeds": [row | {"metadata": seeds[row["url_key"]].metadata} for row in common],
    }
    if file := write_frontier(root, round_, tables.pop("frontier"), stem):
        yield file
    for table, rows in tables.items():
        writer = TableWriter(root, table, 0, stem)
        writer.write_rows(rows)
        if file := writer.close():
            yield file
