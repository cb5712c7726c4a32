"""`beamtrawl export`: what a crawl holds, in the formats of others."""

import argparse
import contextlib
import gzip
import uuid
from collections.abc import Iterator
from typing import IO, cast

from ...search.exports import write_ciff
from ...search.searcher import Index
from ...transforms.storage import filesystem
from ...transforms.storage.crawl_dir import CrawlDir
from ..errors import Failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_subparsers(metavar="FORMAT", required=True)
    ciff = formats.add_parser("ciff", help="the index, as other search engines read it", allow_abbrev=False)
    ciff.add_argument("dir", metavar="DIR")
    ciff.add_argument("out", metavar="OUT", help="the file to write; compressed if its name ends in .gz")


def run(arguments: argparse.Namespace) -> None:
    """Write the index as a CIFF file."""
    index = Index.open(CrawlDir(arguments.dir))
    with _whole(arguments.out) as sink:
        found = write_ciff(index, sink)
    print(f"{found.documents} documents, {found.postings_lists} terms, {found.tokens} occurrences: {arguments.out}")


@contextlib.contextmanager
def _whole(path: str) -> Iterator[IO[bytes]]:
    """A file to write, on any file system; it has its name once it is complete."""
    folder, name = filesystem.split(path)
    draft = filesystem.join(folder, f"draft-{uuid.uuid4().hex[:8]}-{name}")
    try:
        sink = filesystem.create(draft)
        try:
            with sink, _compressed(sink, name) as file:
                yield file
            filesystem.rename(draft, path)
        except BaseException:
            filesystem.delete([draft])
            raise
    except OSError as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise Failure(f"cannot write {path}: {reason}; name a file in a folder that you may write") from error


def _compressed(sink: filesystem.Sink, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    """The file, compressed if the name says so."""
    return (
        cast(IO[bytes], gzip.open(cast(IO[bytes], sink), "wb"))
        if name.endswith(".gz")
        else contextlib.nullcontext(cast(IO[bytes], sink))
    )
