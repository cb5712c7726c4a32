"""`beamtrawl export corpus`: documents as shards that data tools read, with a data card."""

import argparse
from datetime import UTC, datetime

from ....transforms.blocks.files import BlockFiles
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.rights.licences import FAMILIES
from ....transforms.rights.tdm_rules import read_tdm_rules
from ....transforms.robots.stored_signals import read_signals
from ....transforms.sql.queries import QueryError, query_batches
from ...exports.corpus import BATCH, OVERRIDES, query, write_corpus
from ...exports.corpus_card import card
from ...exports.output import whole_folder
from ...terminal.errors import Failure
from ...terminal.units import counted


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = formats.add_parser("corpus", help="texts as shards for training, with a data card", allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("out", metavar="OUT", help="a new or empty folder")
    parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of documents")
    parser.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl", help="default: jsonl, with zstd")
    parser.add_argument(
        "--include",
        action="append",
        choices=OVERRIDES,
        default=[],
        help="pages left out otherwise; repeatable",
    )
    parser.add_argument(
        "--license",
        type=_families,
        default=(),
        metavar="NAMES",
        help="only pages under licences of these families, as cc-by,cc0; without: any",
    )
    parser.set_defaults(export=export_corpus)


def _families(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.lower().split(",")))
    for name in names:
        if name not in FAMILIES:
            raise argparse.ArgumentTypeError(f"{name or text!r}: no licence; known: {', '.join(FAMILIES)}")
    return names


_SHARD = 256_000_000  # bytes of text


def export_corpus(arguments: argparse.Namespace) -> None:
    """Write the newest texts for which a condition holds, without what their authors reserve."""
    crawl, where, format_, licences = CrawlDir(arguments.dir), arguments.where, arguments.format, arguments.license
    manifests = crawl.require_manifests()
    rounds = max(manifest.round for manifest in manifests)
    identity = Identity.of(stored_settings(crawl).robot)
    try:
        with (
            query_batches(crawl, query(where, arguments.include), BATCH) as batches,
            whole_folder(arguments.out) as out,
        ):
            rules = read_tdm_rules(crawl, manifests)
            signals = read_signals(crawl, manifests, identity.token)
            blocks = BlockFiles(crawl).read()
            made = write_corpus(batches, out, format_, _SHARD, blocks, rules, arguments.include, signals, licences)
            with out.create("README.md") as sink:
                text = card(made, identity, where, arguments.include, format_, rounds, datetime.now(UTC), licences)
                sink.write(text.encode("utf-8", "replace"))
    except QueryError as error:
        raise Failure(f"--where {where}: {error}") from error
    skipped = sum(made.left_out.values())
    written = f"{counted(made.documents, 'document')} in {counted(len(made.shards), 'file')}"
    print(f"{written}, {skipped} left out: {arguments.out}")
