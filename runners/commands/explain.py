"""`beamtrawl explain`: why URLs are, or are not, in the index; or what is known about hosts."""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...pipeline.release_held import with_released
from ...transforms import urls
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.plugins import PluginError
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
    parser.add_argument("subjects", metavar="URL|HOST", nargs="*", help="a URL as in a page, or host[:port]")
    parser.add_argument("--from", dest="file", metavar="FILE", help="those in this file, one per line; - is stdin")
    parser.add_argument("--json", action="store_true", help="print JSON; of several URLs one object a line")


def run(arguments: argparse.Namespace) -> None:
    """Print what a crawl knows about URLs or hosts: of one all lines, of several the conclusion of each.

    Of several, those that are not known are named on stderr, and are a Failure at the end.
    """
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    if bool(arguments.subjects) == (arguments.file is not None):
        raise Usage("give URLs or hosts, or a file of them with --from FILE")
    is_one = len(arguments.subjects) == 1
    for name in arguments.subjects:
        if not _is_subject(name):
            raise Usage(f"{name}: {_NO_URL}")
    bad: list[str] = []  # subjects without an answer
    subjects = iter(arguments.subjects) if arguments.subjects else _read(arguments.file, bad)
    try:
        sources = open_sources(crawl, with_released(crawl, stored_settings(crawl)))
        with sources.tables:
            for answer in _answers(sources, subjects, datetime.now(UTC)):
                if isinstance(answer, Unknown):
                    if is_one:
                        raise Failure(str(answer))
                    print(answer, file=sys.stderr)
                    bad.append(answer.subject)
                elif arguments.json:
                    print(json.dumps(answer.value, indent=1 if is_one else None, ensure_ascii=False, default=str))
                else:
                    print("\n".join(answer.lines) if is_one else f"{answer.subject}: {answer.conclusion}")
    except PluginError as error:
        raise Failure(str(error)) from error
    if bad:
        raise Failure(f"{counted(len(bad), 'line')} without an answer, such as {bad[0]}")


_NO_URL = "not a URL that can be fetched, which starts with http:// or https://"


def _is_subject(name: str) -> bool:
    """Whether it is a host, or a URL that can be fetched."""
    return "/" not in name or urls.canonicalize(name) is not None


def _read(path: str, bad: list[str]) -> Iterator[str]:
    """The URLs and hosts in a file, without comments; a line on stderr names what is neither, and it goes to `bad`."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"cannot read the URLs in {path}: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        if _is_subject(name):
            yield name
        else:
            print(f"{path}:{number}: {name}: {_NO_URL}", file=sys.stderr)
            bad.append(name)


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
        with_port = sources.rows("SELECT DISTINCT host FROM urls WHERE starts_with(host, ? || ':')", name.lower())
        record = host_record(sources, with_port[0]["host"]) if len(with_port) == 1 else None
    if record is None:
        return Unknown(name)
    lines = list(host_lines(record, now))
    return Explained(name, record, lines[0].partition(": ")[2], lines)
