"""`beamtrawl search`: search the index of a crawl."""

import argparse
import itertools
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from ...search.answers.cursor import Cursor, CursorError, decode
from ...search.answers.results.hits import Explanation, Results, as_json
from ...search.answers.results.render import below_title, bounded
from ...search.answers.results.snippets import Snippet
from ...search.answers.searcher import AFTER_ALONE, ORDERS, Index
from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_words import names_crawl
from ...transforms.directory.named_crawls import searched
from ..terminal.errors import Usage
from ..terminal.highlight import is_coloured, wrapped
from ..terminal.numbers import LAST_ROUND, above_0, whole
from ..terminal.units import counted
from ..terminal.visible import VisibleStream, visible

_INDENT = "   "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the crawl directory, or NAME=DIR")
    add, about = parser.add_argument, "the words; before them, further crawls that are searched with it"
    add("query", metavar="QUERY", nargs="+", help=about)
    add("--limit", type=whole(1), default=10, metavar="N", help="hits to show (10)")
    add("--offset", type=whole(), default=0, metavar="N", help="skip the first N hits (0)")
    add("--after", metavar="CURSOR", help="show the hits after a page: the value of next in its JSON, at any depth")
    add("--sort", choices=ORDERS, default="score", help="best or newest first (score)")
    add("--json", action="store_true", help="print JSON")
    add("--as-of", type=whole(1, LAST_ROUND), metavar="ROUND", help="the index as it was after this round")
    add("--per-host", type=whole(1), metavar="N", help="after N hits of a host, those of others come first")
    about = "show the N most frequent sites, languages, types and years"
    add("--facets", type=whole(), default=0, metavar="N", help=about)
    about = "show the best of what is compared in this time, without that of opening the index (no limit)"
    add("--timeout", type=above_0, metavar="SECONDS", help=about)
    add("--explain", action="store_true", help="say how each score comes about")


def run(arguments: argparse.Namespace) -> None:
    """Search the index of a crawl."""
    directories, words = split_words(arguments.dir, arguments.query)
    crawls = searched(directories)
    if len(directories) > 1 and arguments.as_of is not None:
        raise Usage(f"--as-of {arguments.as_of}: a round is of one crawl, and these are {len(directories)}; name one")
    if names_crawl(words[0]) and len(words) == 1:
        print(f"{words[0]} is taken as the query; to search this crawl, too, give a query behind it", file=sys.stderr)
    query, as_of, before = " ".join(words), arguments.as_of, arguments.offset
    if arguments.after is not None:
        if arguments.offset or arguments.per_host:
            raise Usage(f"--after: {AFTER_ALONE}")
        cursor = _cursor(arguments.after, query, arguments.sort)
        if as_of not in (None, cursor.round):  # never of several crawls
            raise Usage(f"--as-of {as_of}: the cursor of --after is of the index as of round {cursor.round}")
        as_of, before = cursor.round, cursor.hits
    results = Index.open(crawls, as_of).search(
        query,
        arguments.limit,
        arguments.offset,
        per_host=arguments.per_host,
        explain=arguments.explain,
        order=arguments.sort,
        facet_values=arguments.facets,
        timeout_s=arguments.timeout,
        after=arguments.after,
    )
    if arguments.json:
        print(json.dumps(as_json(results), indent=2, ensure_ascii=False))
    else:
        _print_results(results, "" if isinstance(crawls, CrawlDir) else f" in {', '.join(crawls)}", before)


def _print_results(results: Results, where: str, before: int) -> None:
    """Print results for people; `where` names the crawls, if there are several, and `before` hits come before these."""
    weaker = f", and {results.weaker:,} that match much worse" if results.weaker else ""
    print(counted(results.total, "document") + where + weaker)
    for note in results.notes:
        print(note)
    for name, values in results.facets.items():
        meaning = "year published, else fetched" if name == "year" else name
        print(f"{meaning}: {', '.join(f'{value.value} {value.documents}' for value in values) or 'unknown'}")
    if results.suggestion:
        print(f"did you mean: {results.suggestion}")
    if results.unknown_words:
        print(f"no page has {', '.join(results.unknown_words)}")
    for number, hit in enumerate(results.hits, before + 1):
        crawl = f" ({hit.crawl})" if hit.crawl else ""
        weaker = " (matches much worse)" if hit.is_weaker else ""
        print(f"\n{number}. {bounded(hit.title) or hit.url}{weaker}\n   {hit.section_url or hit.url}{crawl}")
        if headings := below_title(hit):
            print(f"{_INDENT}{' › '.join(headings)}")
        if hit.snippet:
            _print_snippet(hit.snippet)
        if hit.explanation:
            print("\n".join(f"   {line}" for line in explain(hit.score, hit.explanation)))


def split_words(
    directory: str, words: Sequence[str], is_crawl: Callable[[str], bool] = names_crawl
) -> tuple[list[str], list[str]]:
    """The crawls and the query in the words of a command line: crawls come first, and the last word is of the query.

    >>> split_words("a", ["b", "old", "b"], is_crawl="b".__eq__), split_words("a", ["b"], is_crawl="b".__eq__)
    ((['a', 'b'], ['old', 'b']), (['a'], ['b']))
    """
    further = list(itertools.takewhile(is_crawl, words[:-1]))
    return [directory, *further], list(words[len(further) :])


def _print_snippet(snippet: Snippet) -> None:
    """Print a snippet, on a terminal broken between words and with bold matches."""
    if not sys.stdout.isatty():
        print(textwrap.indent(str(snippet), _INDENT))
        return
    pieces = [(visible(piece), is_match) for piece, is_match in snippet]
    is_marked = is_coloured(os.environ)
    columns = shutil.get_terminal_size().columns - len(_INDENT)
    stream = sys.stdout.for_drawing() if isinstance(sys.stdout, VisibleStream) else sys.stdout
    print("\n".join(_INDENT + line for line in wrapped(pieces, columns, is_marked)), file=stream, flush=True)


def _cursor(text: str, query: str, order: str) -> Cursor:
    try:
        return decode(text, query, order)
    except CursorError as error:
        raise Usage(f"--after: {error}") from error


def explain(score: float, explanation: Explanation) -> Iterator[str]:
    """The parts of a score, in lines."""
    yield f"score {score:.3f} = sum of"
    for part in explanation.parts:
        places = ", ".join(f"{field} {count}" for field, count in part.frequencies.items())
        yield f"  {part.score:.3f} {part.text} ({places}; in {counted(part.documents, 'document')})"
    yield (
        f"  times {explanation.links:.3f} for links, {explanation.quality:.3f} for quality,"
        f" {explanation.freshness:.3f} for freshness"
    )
