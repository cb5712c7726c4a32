"""Documents that are held as copies of others: their number by host."""

from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.tables.schemas import DOCUMENTS, KEY, Row
from ...transforms.tables.table_files import read_table

_RELATIONS = ("duplicate_of", "near_duplicate_of", "same_content_as")
_COUNTED = ("duplicates", "near_duplicates", "copies")  # counts of a file of documents


class CopyCount(TypedDict):
    """Documents of a host that are copies of documents of a host, which may be the same."""

    host: str
    of_host: str
    duplicates: int  # not indexed
    near_duplicates: int  # not indexed, except by their identifiers of programs
    same_content: int  # of another site; both are indexed


def count_copies(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[CopyCount]:
    """The number of copies for each host and each host that they are copies of, most copies first.

    The newest version of each document counts. Reads keys and hosts of all documents, if any is a copy.
    """
    files = files_of(manifests, "documents")
    paths = [file.path for file in files]
    wanted: set[bytes] = set()
    for path in (file.path for file in files if any(map(file.counts.get, _COUNTED))):
        keys = read_table(crawl.root, [path], DOCUMENTS, ["url_key", *_RELATIONS])
        owners = pc.coalesce(*(keys[name] for name in _RELATIONS))
        wanted.update(keys["url_key"].filter(owners.is_valid()).to_pylist(), owners.drop_null().to_pylist())
    newest: dict[bytes, Row] = {}
    for path in paths if wanted else ():
        rows = read_table(crawl.root, [path], DOCUMENTS, ["url_key", "host", *_RELATIONS])
        is_wanted = pc.is_in(rows["url_key"], value_set=pa.array(wanted, KEY))
        newest |= {row["url_key"]: row for row in rows.filter(is_wanted).to_pylist()}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in newest.values():
        relation = next((name for name in _RELATIONS if row[name]), None)
        if relation and (owner := newest.get(row[relation])):
            counts.setdefault((row["host"], owner["host"]), Counter())[relation] += 1
    found = [
        CopyCount(
            host=host,
            of_host=of_host,
            duplicates=count["duplicate_of"],
            near_duplicates=count["near_duplicate_of"],
            same_content=count["same_content_as"],
        )
        for (host, of_host), count in counts.items()
    ]
    return sorted(found, key=lambda row: (-total(row), row["host"], row["of_host"]))


def total(row: CopyCount) -> int:
    """The number of copies of a row."""
    return row["duplicates"] + row["near_duplicates"] + row["same_content"]


def copy_line(row: CopyCount) -> str:
    """A row in words."""
    counts = {
        "duplicates": row["duplicates"],
        "near duplicates": row["near_duplicates"],
        "same content on another site": row["same_content"],
    }
    found = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    return f"copies on {row['host']} of pages of {row['of_host']}: {found}"
