"""Whole index folders, decoded: what `index` and `index_links` have written, as it was before."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError

from transforms.crawl_dir import CrawlDirError
from transforms.index import DOCS, INDEX_VERSION, POSITIONS, POSTINGS, VERSION_KEY, undo_gaps
from transforms.index_invert import PHRASE_FIELDS, Ints, Inverted, Longs
from transforms.tables import open_parquet


def read_index(root: str, folder: str, fields: Sequence[str]) -> Inverted:
    """The inverted index in a folder, which has these fields."""
    docs = read_file(root, f"{folder}/{DOCS}", [f"length_{field}" for field in fields])
    postings = read_file(root, f"{folder}/{POSTINGS}")
    starts, found = lists(postings["docs"])
    frequencies = {field: lists(postings[f"tf_{field}"])[1] for field in fields}
    position_starts, positions = np.zeros(len(starts), np.int64), np.empty(0, np.int32)
    if set(PHRASE_FIELDS) <= set(fields):
        position_starts, differences = lists(read_file(root, f"{folder}/{POSITIONS}", ["positions"])["positions"])
        positions = undo_gaps(differences, np.add.reduce([frequencies[field] for field in PHRASE_FIELDS]))
    return Inverted(
        postings["term"].to_pylist(),
        starts,
        undo_gaps(found, np.diff(starts).astype(np.int32)),
        frequencies,
        position_starts,
        positions,
        {field: docs[f"length_{field}"].to_numpy() for field in fields},
    )


def read_file(root: str, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A file of the index; CrawlDirError if it cannot be read, or is of a version that this program does not know."""
    with _naming(path), open_parquet(root, path) as file:
        require_version(path, file.metadata)
        return file.read(columns).combine_chunks()


def count_documents(root: str, folder: str) -> int:
    """How many documents a segment has."""
    path = f"{folder}/{DOCS}"
    with _naming(path), open_parquet(root, path) as file:
        return int(file.metadata.num_rows)


def lists(column: pa.ChunkedArray) -> tuple[Longs, Ints]:
    """Where the lists of a column begin, and at last where they end, and their values end to end."""
    array = column.combine_chunks()
    lengths = array.value_lengths().to_numpy()
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), array.flatten().to_numpy()


def require_version(path: str, footer: pq.FileMetaData) -> None:
    """CrawlDirError unless a file says that it has the index version which this program reads."""
    found = (footer.metadata or {}).get(VERSION_KEY.encode(), b"").decode(errors="replace")
    if found == str(INDEX_VERSION):
        return
    way_out = "update Beamtrawl" if found.isdecimal() and int(found) > INDEX_VERSION else "crawl anew"
    version = f"index version {found}" if found else "no index version"
    raise CrawlDirError(f"{path} cannot be used: it has {version}, this program reads {INDEX_VERSION}; {way_out}")


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, BeamIOError, pa.ArrowInvalid) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CrawlDirError(f"{path} cannot be read: {reason}; restore it from a copy") from error
