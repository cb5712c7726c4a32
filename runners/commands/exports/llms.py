"""`beamtrawl export llms`: llms.txt and llms-full.txt of a site."""

import argparse
import tempfile
from collections.abc import Sequence
from urllib.parse import urlsplit

from ....transforms.http import media_types
from ....transforms.parsing.page_rules import page_rules
from ...exports.bodies import stored_pages
from ...exports.chunks import CHUNK_REASONS
from ...exports.llms import Entry, ends, full_page, llms_lines
from ...exports.markdown import render
from ...exports.output import Drafts, whole_folder
from ...exports.selection import OVERRIDES, Selected, left_out, query
from ...terminal.errors import Failure, Usage
from ...terminal.units import counted
from ...terminal.visible import visible
from .options import FOLDER, Formats, Opened, add_format, opened, selected

_BATCH = 4096  # rows in memory, without texts
_MOST_NAMED = 3  # hosts, in a message


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary = "llms.txt and llms-full.txt of a site"
    parser = add_format(formats, "llms", summary, FOLDER, export_llms, include=(*OVERRIDES, "nosnippet"))
    parser.add_argument("--host", metavar="HOST", help="the site; default: that of the crawl, if it has only one")


def export_llms(arguments: argparse.Namespace) -> None:
    """Write the list of the pages of a site that models may be given, and their contents as one file."""
    crawl, include = opened(arguments), arguments.include
    of_host = "true" if arguments.host is None else f"host = '{arguments.host.replace(chr(39), chr(39) * 2)}'"
    columns, where = ["title", "description", "depth"], f"({arguments.where}\n) AND {of_host}"
    with selected(arguments, query(columns, where, include, CHUNK_REASONS), _BATCH) as batches:
        pages = Selected(batches, crawl.rights(), include)
        entries = list(map(Entry.of, pages))
    left = left_out(pages.left_out)
    if not entries:
        raise Failure(f"nothing to export: no document matches{left}, and llms.txt is about a site with pages")
    hosts = sorted({urlsplit(entry.url).netloc for entry in entries})
    if len(hosts) > 1:
        raise Usage(f"the crawl has {len(hosts)} hosts; name one with --host: {', '.join(hosts[:_MOST_NAMED])}, …")
    with whole_folder(arguments.out) as out:
        with out.create("llms.txt") as sink:
            for line in llms_lines(entries, hosts[0]):
                sink.write(f"{visible(line)}\n".encode("utf-8", "replace"))
        _write_full(crawl, entries, out)
    print(f"{counted(len(entries), 'page')}{left}: {arguments.out}")


def _write_full(crawl: Opened, entries: Sequence[Entry], out: Drafts) -> None:
    """Write llms-full.txt in the order of llms.txt. The pages come in another one, so they wait in a temporary file."""
    rules = page_rules(crawl.settings.extract, crawl.settings.main)
    wanted = {entry.url: entry for entry in entries}
    places: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryFile() as draft, out.create("llms-full.txt") as sink:
        for stored in stored_pages(crawl.crawl, crawl.manifests):
            if entry := wanted.get(stored.document["url"]):
                markdown = render(stored, rules, nosnippet=False)
                if stored.document["media_type"] in media_types.MARKDOWN and not ends(markdown):
                    markdown = render(stored._replace(body=None), rules, nosnippet=False)
                text = full_page(entry, markdown).encode("utf-8", "replace")
                places[entry.url] = (draft.tell(), len(text))
                draft.write(text)
        for entry in sorted(entries, key=lambda entry: entry.place):
            if entry.url in places:
                start, size = places[entry.url]
                draft.seek(start)
                sink.write(draft.read(size))
