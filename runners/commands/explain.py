"""`beamtrawl explain`: why URLs are, or are not, in the index; or what is known about hosts."""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...pipeline.release_held import with_released
from ...transforms.directory.crawl_dir import CrawlDir, paths_of
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.tables.schemas import URLS
from ...transforms.tables.table_files import read_hosts
from ...transforms.urls.canonical import canonicalize
from ..explain.host_record import host_lines, host_record
from ..explain.narrative import conclusion, evidence
from ..explain.sources import Sources, open_sources
from ..explain.url_record import read_records
from ..terminal.errors import Failure, Usage
from ..terminal.units import counted

_BATCH = 500  # subjects for which the tables are read at a time


class Explained(NamedTuple):
    """What is known about a URL or a host."""

    subject: str
    value: dict[str, Any]  # JSON-like
    conclusion: str  # one line
    lines: list[str]


class Unknown(NamedTuple):
    """A host that is not known."""

    subject: str

    def __str__(self) -> str:
        return f"{self.subject or repr('')}: no URL of this host is known; give a URL, which starts with http(s)://"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("subjects", metavar="URL|HOST", nargs="+", help="a URL as in a page, or host[:port]")
    parser.add_argument("--json", action="store_true", help="print JSON; of several URLs one object a line")


def run(arguments: argparse.Namespace) -> None:
    """Print what a crawl knows about URLs or hosts: of one all lines, of several the conclusion of each.

    Of several, those that are not known are named on stderr, and are a Failure at the end.
    """
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    is_one = len(arguments.subjects) == 1
    for name in arguments.subjects:
        if "/" in name and canonicalize(name) is None:
            raise Usage(f"{name}: not a URL that can be fetched, which starts with http:// or https://")
    unanswered: list[str] = []
    sources = open_sources(crawl, with_released(crawl, stored_settings(crawl)))
    with sources.tables:
        for answer in _answers(sources, iter(arguments.subjects), datetime.now(UTC)):
            if isinstance(answer, Unknown):
                if is_one:
                    raise Failure(str(answer))
                print(answer, file=sys.stderr)
                unanswered.append(answer.subject)
            elif arguments.json:
                print(json.dumps(answer.value, indent=1 if is_one else None, ensure_ascii=False, default=str))
            else:
                print("\n".join(answer.lines) if is_one else f"{answer.subject}: {answer.conclusion}")
    if unanswered:
        raise Failure(f"{counted(len(unanswered), 'host')} without an answer, such as {unanswered[0]}")


def _answers(sources: Sources, subjects: Iterator[str], now: datetime) -> Iterator[Explained | Unknown]:
    """What is known about URLs and hosts, in their order."""
    while batch := list(itertools.islice(subjects, _BATCH)):
        of_urls = _of_urls(sources, [name for name in batch if "/" in name], now)
        for name in batch:
            yield next(of_urls) if "/" in name else _of_host(sources, name, now)


def _of_urls(sources: Sources, names: Sequence[str], now: datetime) -> Iterator[Explained]:
    for name, record in zip(names, read_records(sources, names) if names else (), strict=True):
        said = conclusion(record, now)
        yield Explained(name, {"conclusion": said} | record.to_dict(), said, [said, "", *evidence(record, now)])


def _of_host(sources: Sources, name: str, now: datetime) -> Explained | Unknown:
    record = host_record(sources, name.lower())
    if record is None and ":" not in name:
        hosts = read_hosts(sources.crawl.root, paths_of(sources.manifests, "urls"), URLS)
        with_port = [host for host in hosts if host and host.startswith(f"{name.lower()}:")]
        record = host_record(sources, with_port[0]) if len(with_port) == 1 else None
    if record is None:
        return Unknown(name)
    lines = list(host_lines(record, now))
    return Explained(name, record, lines[0].partition(": ")[2], lines)
