"""`beamtrawl changes`: pages that are new, changed, moved or gone since a round or a time."""

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from ...transforms.changes.feed import feed_id, write_feed
from ...transforms.changes.find import BATCH, Change, Since, changes, json_line, later_than, parse_since, query
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.files.filesystem import split
from ...transforms.sql.queries import query_batches
from ..exports.output import require_file, whole_file
from ..terminal.errors import Usage

_MOST = 20  # lines of a diff that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "--since", type=_since, required=True, metavar="ROUND|DATE", help="compare with that state, as 3 or 2026-01-31"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object a line")
    form.add_argument("--atom", metavar="FILE", help="write an Atom feed; - for standard output")


def run(arguments: argparse.Namespace) -> None:
    """Print the pages that are new, changed, moved or gone."""
    crawl, now = CrawlDir(arguments.dir), datetime.now(UTC)
    manifests = crawl.require_manifests()
    if later := later_than(arguments.since, max(m.round for m in manifests), now):
        raise Usage(f"--since {arguments.since}: {later}")
    if arguments.atom:
        require_file(arguments.atom)
    with query_batches(crawl, query(arguments.since), BATCH) as batches:
        found = changes(batches)
        if arguments.atom:
            with whole_file(arguments.atom) as sink:
                write_feed(found, feed_id(manifests), _name(crawl), now, sink)
        elif arguments.json:
            for change in found:
                print(json_line(change))
        else:
            for line in _lines(found):
                print(line)


def _name(crawl: CrawlDir) -> str:
    """The name of the crawl directory, without the path to it, which is nobody's business in a feed."""
    return split(crawl.root.rstrip("/"))[1]


def _lines(found: Iterable[Change]) -> Iterable[str]:
    counts: Counter[str] = Counter()
    for change in found:
        counts[change.kind] += 1
        title = f" {_line(change.title)}" if change.title else ""
        target = f" -> {_line(change.moved_to)}" if change.moved_to else ""
        yield f"{change.kind:<8} {change.at:%Y-%m-%d %H:%M} {_line(change.url)}{target}{title}"
        yield from (f"    {_line(line)}" for line in itertools.islice(change.diff, _MOST))
        if len(change.diff) > _MOST:
            yield f"    … {len(change.diff) - _MOST} more lines; see --json"
    yield ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing has changed"


def _line(text: str) -> str:
    """Text of a page as it may be shown on a terminal: without control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+", " ", text)


def _since(text: str) -> Since:
    try:
        return parse_since(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: neither a round, as 3, nor a date, as 2026-01-31") from error
