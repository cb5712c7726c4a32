"""`beamtrawl export warc` and `beamtrawl export cdxj`: the answers of a crawl as a web archive, and its index."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ....transforms.blocks.files import BlockFiles
from ....transforms.http.request_headers import Identity
from ....transforms.parsing.registry import kinds_of
from ....transforms.settings import Settings, render, without_secrets
from ...exports.archive_index import ArchiveIndex, chosen, index_line
from ...exports.captures import Capture, captures
from ...exports.output import STDOUT, whole_file, whole_folder
from ...terminal.errors import Failure, Usage
from ...terminal.numbers import whole
from ...terminal.units import counted
from .options import FILE, FOLDER, Formats, add_format, opened

if TYPE_CHECKING:
    from ...exports.warc import Counts

_NOTHING = "nothing to export: the crawl has no answers yet; run beamtrawl crawl first"


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary, out = "a web archive: WARC files and their index", f"{FOLDER}; with --wacz a file that ends in .wacz"
    warc = add_format(formats, "warc", summary, out, export_warc, where="")
    warc.add_argument("--wacz", action="store_true", help="one file, a WACZ, with a list of the pages and their texts")
    about = "size at which a file ends; default: 1000"
    warc.add_argument("--max-size", type=whole(1), default=1000, metavar="MB", help=about)
    summary = "one line for each answer, in the order of archives"
    cdxj = add_format(formats, "cdxj", summary, FILE, export_cdxj, where="")
    for parser in (warc, cdxj):
        about = "include pages that ask not to be shown from a copy"
        parser.add_argument("--noarchive", action="store_true", help=about)


def export_warc(arguments: argparse.Namespace) -> None:
    if arguments.wacz != arguments.out.endswith(".wacz") or arguments.out.endswith((".warc", ".warc.gz")):
        raise Usage(f"{arguments.out}: OUT is a folder for WARC files, or with --wacz a file that ends in .wacz")
    try:
        from ...exports.wacz import write_wacz  # noqa: PLC0415 - its library is optional
        from ...exports.warc import WarcInfo, write_archive  # noqa: PLC0415
    except ImportError as error:
        raise Failure("export warc needs warcio; install it: pip install 'beamtrawl[warc]'") from error
    index = ArchiveIndex()
    chosen_captures, settings = _captures(arguments, index)
    identity = Identity.of(settings.robot, kinds_of(tuple(settings.documents.kinds)).accept)
    info = WarcInfo(identity, render(without_secrets(settings)))
    size, now = arguments.max_size * 1_000_000, datetime.now(UTC)
    if arguments.wacz:
        with whole_file(arguments.out) as sink, _reporting(index):
            counts = _not_empty(write_wacz(chosen_captures, index, sink, info, size, now))
    else:
        with whole_folder(arguments.out) as out, _reporting(index):
            counts = _not_empty(write_archive(chosen_captures, index, out, info, size, now))
    listed = f", {counted(counts.pages, 'page')} listed" if arguments.wacz else ""
    print(
        f"{counted(counts.responses, 'response')}, {counted(counts.revisits, 'revisit')} in"
        f" {counted(counts.parts, 'part')}{listed}, {counted(counts.bytes, 'byte')}: {arguments.out}"
    )


def _not_empty(counts: "Counts") -> "Counts":
    if not counts.responses + counts.revisits:
        raise Failure(_NOTHING)
    return counts


def export_cdxj(arguments: argparse.Namespace) -> None:
    index = ArchiveIndex()
    chosen_captures, _ = _captures(arguments, index)
    answers = 0
    with whole_file(arguments.out) as sink, _reporting(index):
        for capture in chosen_captures:
            original = index.original(capture)
            index.add(capture, original, index_line(capture, original))
        for line in index.lines():
            sink.write(line)
            answers += 1
        if not answers:
            raise Failure(_NOTHING)
    if arguments.out != STDOUT:
        print(f"{counted(answers, 'answer')}: {arguments.out}")


@contextlib.contextmanager
def _reporting(index: ArchiveIndex) -> Iterator[None]:
    """Print, after the body, how many answers lack their bodies."""
    try:
        yield
    finally:
        if count := index.without_bodies:
            subject = "1 answer is" if count == 1 else f"{count} answers are"
            print(f"{subject} left out: storage.body_rounds has removed the body", file=sys.stderr)


def _captures(arguments: argparse.Namespace, index: ArchiveIndex) -> tuple[Iterator[Capture], Settings]:
    crawl = opened(arguments)
    all_captures = captures(crawl.crawl, crawl.manifests, crawl.token)
    return chosen(all_captures, index, BlockFiles(crawl.crawl).read(), arguments.noarchive), crawl.settings
