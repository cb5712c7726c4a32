"""`beamtrawl export corpus`: documents as shards that data tools read, with a data card."""

import argparse
from datetime import UTC, datetime

from ....transforms.http.request_headers import Identity
from ....transforms.outcomes import meant
from ....transforms.rights.licences import FAMILIES
from ...exports.corpus import BATCH, OVERRIDES, corpus_query, write_corpus
from ...exports.corpus_card import card
from ...exports.output import whole_folder
from ...terminal.units import counted
from .options import FOLDER, Formats, add_format, opened, selected


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary = "texts as shards for training, with a data card"
    parser = add_format(formats, "corpus", summary, FOLDER, export_corpus, include=OVERRIDES)
    parser.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl", help="default: jsonl, with zstd")
    about = "only pages under licences of these families, as cc-by,cc0; without: any"
    parser.add_argument("--license", type=_families, default=(), metavar="NAMES", help=about)


def _families(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.lower().split(",")))
    for name in names:
        if name not in FAMILIES:
            raise argparse.ArgumentTypeError(f"{name or text!r}: no licence{meant(name, FAMILIES, 'known:')}")
    return names


_SHARD = 256_000_000  # bytes of text


def export_corpus(arguments: argparse.Namespace) -> None:
    """Write the newest texts for which a condition holds, without what their authors reserve."""
    crawl, where, format_, licences = opened(arguments), arguments.where, arguments.format, arguments.license
    rounds = max(manifest.round for manifest in crawl.manifests)
    identity, now = Identity.of(crawl.settings.robot), datetime.now(UTC)
    query = corpus_query(where, arguments.include)
    with selected(arguments, query, BATCH) as batches, whole_folder(arguments.out) as out:
        made = write_corpus(batches, out, format_, _SHARD, crawl.rights(), arguments.include, licences)
        with out.create("README.md") as sink:
            text = card(made, identity, where, arguments.include, format_, rounds, now, licences)
            sink.write(text.encode("utf-8", "replace"))
    skipped = sum(made.left_out.values())
    written = f"{counted(made.documents, 'document')} in {counted(len(made.shards), 'file')}"
    print(f"{written}, {skipped} left out: {arguments.out}")
