"""`beamtrawl export`: what a crawl holds, in the formats of others."""

import argparse

from ....search.answers.searcher import Index
from ....transforms.directory.crawl_dir import CrawlDir
from ...exports.ciff_index import write_ciff
from ...exports.output import require_folder, whole_file
from ...terminal.units import counted
from . import (
    archive as export_archive,
    bulk as export_bulk,
    chunks as export_chunks,
    corpus as export_corpus,
    llms as export_llms,
    markdown as export_markdown,
    plugin as export_plugin,
    rows as export_rows,
)
from .options import FILE, add_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_subparsers(metavar="FORMAT", required=True)
    export_archive.add_arguments(formats)
    export_corpus.add_arguments(formats)
    export_markdown.add_arguments(formats)
    export_chunks.add_arguments(formats)
    export_llms.add_arguments(formats)
    export_rows.add_arguments(formats)
    export_bulk.add_arguments(formats)
    add_format(formats, "ciff", "the index, as other search engines read it", FILE, export_ciff, where="")
    export_plugin.add_arguments(formats)


def run(arguments: argparse.Namespace) -> None:
    """Write what a crawl holds in another format."""
    require_folder(arguments.out)
    arguments.export(arguments)


def export_ciff(arguments: argparse.Namespace) -> None:
    """Write the index as a CIFF file."""
    index = Index.open(CrawlDir(arguments.dir))
    with whole_file(arguments.out) as sink:
        header = write_ciff(index, sink)
    counts = (header.documents, "document"), (header.postings_lists, "term"), (header.tokens, "occurrence")
    print(f"{', '.join(counted(*each) for each in counts)}: {arguments.out}")
