"""`beamtrawl import warc`: the captures in web archives, as rounds of a crawl."""

import argparse
import contextlib
import glob
import json
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ...pipeline.control import StopSignal
from ...pipeline.imports.import_archives import Imported, Job, import_archives
from ...transforms.archives.sources import Source, Trouble, sources_of
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.files import filesystem
from ...transforms.outcomes import StoreError
from ..crawling import session
from ..crawling.console import Console, closing, open_outputs, run_interruptibly
from ..engines.choose import engine, fork_early, notice, submission
from ..process.lock import Lock
from ..terminal.errors import Failure, Usage
from ..terminal.numbers import whole
from ..terminal.units import counted
from .arguments import add_engine

DAMAGED = 3
"""The exit code if a file cannot be read to its end, or not at all, and others could."""

_NAMED = 20  # troubles on stderr


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_subparsers(metavar="FORMAT", required=True)
    parser = formats.add_parser("warc", help="web archives: WARC and WACZ files", allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, a new one or one to add to")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a WARC or WACZ file, or a pattern of files")
    parser.add_argument(
        "--frontier",
        action=argparse.BooleanOptionalAction,
        help="whether URLs that the pages link wait to be crawled; by default not in a new directory",
    )
    parser.add_argument("--into-nonempty", action="store_true", help="import beside files of others, too")
    parser.add_argument("--part", type=whole(1), metavar="N", help="make rounds of N captures; else one of all")
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print events and the result, one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Import captures; Ctrl-C ends it, and the same command goes on later.

    1 if no file has a record to read, 3 if one is damaged.
    """
    if "://" not in arguments.dir and Path(arguments.dir).is_file():
        line = shlex.join(["beamtrawl", "import", "warc", arguments.files[0], arguments.dir])
        raise Usage(f"{arguments.dir} is an archive, and the crawl directory comes first: {line}")
    directory = CrawlDir(arguments.dir)
    session.refuse_unusable(directory, arguments.into_nonempty, "--into-nonempty")
    settings = stored_settings(directory)
    session.refuse_missing_plugins(settings, directory)
    chosen = engine(arguments.runner, arguments.workers, arguments.beam)
    paths = list(_paths(arguments.files))
    console = Console(
        open_outputs(sys.stderr, sys.stdout if arguments.json else None), None, partial(submission, chosen)
    )
    if line := notice(chosen):
        console.warn(line)
    fork_early(chosen, directory.root, parses=True)
    stop = StopSignal()

    def work() -> Imported:
        with _without_trace(directory), Lock(directory, on_lost=stop.stop) as claimed:
            job = _job(paths, arguments)
            found = import_archives(claimed, settings, chosen, console, stop, job)
            if not found.is_stopped:
                session.rank_after_crawl(claimed, settings.ranking, chosen, console, stop)
            return found

    with closing(console):
        found = run_interruptibly(work, stop, console)
    _show(found, arguments)
    if not found.troubles or found.is_stopped:
        return 0
    return DAMAGED if found.records else 1


def _job(paths: list[str], arguments: argparse.Namespace) -> Job:
    sources: list[Source] = []
    troubles: list[Trouble] = []
    for path in paths:
        try:
            found, wrong = sources_of(path)
        except FileNotFoundError as error:
            raise Usage(f"{path} is no file") from error
        except StoreError:
            raise  # it names the path
        except OSError as error:
            raise Failure(f"{path} cannot be read: {error.strerror or error}") from error
        sources += found
        troubles += wrong
    return Job(sources, troubles, arguments.part, arguments.frontier)


def _paths(words: list[str]) -> Iterator[str]:
    """The files that the words name, each once; Usage if a word names none."""
    found: dict[str, None] = {}
    for word in words:
        if "://" in word:
            folder, _, pattern = word.rpartition("/")
            matched = filesystem.match(folder, pattern) if "*" in pattern else [word]
        else:
            is_pattern = glob.has_magic(word) and not Path(word).exists()
            matched = sorted(glob.glob(word, recursive=True)) if is_pattern else [word]  # noqa: PTH207
        if not matched:
            raise Usage(f"{word} matches no file")
        for path in matched:
            found[path if "://" in path else _local(path)] = None
    yield from found


def _local(path: str) -> str:
    if Path(path).is_dir():
        raise Usage(f"{path} is a folder; name its files, such as: {path.rstrip('/')}/*.warc.gz")
    if not Path(path).is_file():
        raise Usage(f"{path} is no file")
    return str(Path(path).resolve())


@contextlib.contextmanager
def _without_trace(directory: CrawlDir) -> Iterator[None]:
    """Removes the empty folders of a local directory that has no crawl after the body, itself only if it is new."""
    root = Path(directory.root)
    own = [root / "attempts"] if root.exists() else [root / "attempts", root]
    try:
        yield
    finally:
        if filesystem.store_of(directory.root).has_local_paths and not (root / "manifests").exists():
            for folder in own:
                with contextlib.suppress(OSError):  # it is missing, or has files
                    folder.rmdir()


def _show(found: Imported, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(_as_json(found)))
        return
    for trouble in found.troubles[:_NAMED]:
        print(f"beamtrawl: {trouble}", file=sys.stderr)
    more = max(len(found.troubles) - _NAMED, 0) + found.skipped["more_troubles"]
    if more:
        print(f"beamtrawl: {more} more like these", file=sys.stderr)
    if found.is_stopped:
        print("stopped; the same command goes on where it was")
        return
    what = f"{counted(found.visits, 'visit')} and {found.robots} robots.txt"
    print(
        f"{counted(found.records, 'record')} in {counted(found.files, 'file')}: {what} in"
        f" {counted(found.rounds, 'round')}"
    )
    for reason, count in sorted(found.skipped.items(), key=lambda item: -item[1]):
        if count and reason != "more_troubles":
            print(f"  {count} skipped: {SKIPPED.get(reason, f'rejected by the rule {reason} of the scope')}")


def _as_json(found: Imported) -> dict[str, object]:
    skipped = {reason: count for reason, count in sorted(found.skipped.items()) if count}
    return {
        "event": "imported",
        "files": found.files,
        "records": found.records,
        "visits": found.visits,
        "robots": found.robots,
        "rounds": found.rounds,
        "stopped": found.is_stopped,
        "skipped": skipped,
        "troubles": [trouble._asdict() for trouble in found.troubles],
    }


SKIPPED = {
    "request": "requests",
    "metadata": "metadata, of which depth and referrer were taken",
    "warcinfo": "descriptions of a file",
    "conversion": "conversions, such as texts of pages",
    "continuation": "continuations of a record in another file",
    "unknown": "records of an unknown type",
    "not_http": "of other protocols than HTTP",
    "bad_record": "without a usable URL or date",
    "bad_date": "of an impossible date",
    "bad_http": "without an HTTP answer",
    "damaged": "that cannot be read to their end",
    "partial": "answers without a page: 1xx, 206, 304",
    "method": "answers to requests with another method than GET",
    "robots_redirect": "redirects of a robots.txt",
    "robots_failure": "answers for a robots.txt that are no answer",
    "unwanted_type": "of a media type that becomes no document",
    "blocked": "blocked",
    "known": "not newer than what the crawl knows of the URL",
    "older": "older captures of a URL that has a newer one here",
    "revisit": "revisits of a URL of which no payload is here or in an earlier import",
    "revisit_differs": "revisits of a URL of which only other payloads are here or in earlier imports",
}
"""Why a record is skipped, by its reason; other reasons are rules of the scope."""
