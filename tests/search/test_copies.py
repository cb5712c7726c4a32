"""Of documents of several sites with one content, a search finds the best."""

import numpy as np
import pyarrow as pa

from beamtrawl.search.index.copies import find_copies
from tests.support.tables import each_row


def facts(*rows: tuple[str, str | None]) -> pa.Table:
    """The facts of a segment with (url, URL of the document with the same content) for each document."""
    schema = pa.schema([("url_key", pa.binary()), ("url", pa.string()), ("same_content_as", pa.binary())])
    columns = [[url.encode() for url, _ in rows], [url for url, _ in rows], [of and of.encode() for _, of in rows]]
    return pa.table(columns, schema=schema)


A, B, C, D = "http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/"

# segments, scores of the documents, which were not found, which are left out
CASES: dict[str, tuple[list[pa.Table], list[float], list[int], list[int]]] = {
    "no copies": ([facts((A, None), (B, None))], [1, 2], [], []),
    "the better score": ([facts((A, None), (B, A))], [1, 2], [], [0]),
    "the first in the alphabet": ([facts((B, None), (A, B))], [1, 1], [], [0]),
    "only one is found": ([facts((A, None), (B, A))], [1, 2], [1], []),
    "the first is not in the index": ([facts((B, A), (C, A))], [1, 2], [], [0]),
    "over segments": ([facts((C, None)), facts((A, C), (D, None), (B, C))], [3, 2, 1, 4], [], [0, 1]),
    "two contents": ([facts((A, None), (B, A), (C, None), (D, C))], [2, 1, 1, 2], [], [1, 2]),
}


@each_row(CASES)
def test_one_document_of_a_content_is_left(
    segments: list[pa.Table], scores: list[float], missing: list[int], others: list[int]
) -> None:
    found = np.ones(len(scores), bool)
    found[missing] = False
    copies = find_copies(segments)
    assert sorted(copies.others(found, np.array(scores, float)[copies.docs]).tolist()) == others


def test_an_index_without_segments_has_no_copies() -> None:
    assert len(find_copies([]).others(np.empty(0, bool), np.empty(0))) == 0
