"""Which of the URLs that a round has found are new and meet nothing else in it.

Where a crawl grows, these are most of the URLs of a round. Nothing about them is to be decided, so their rows are made
in columns, and `url_states.advance` takes only the others.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import KEY
from ..urls.canonical import url_key


def separate(
    candidates: pa.Table, known: Sequence[pa.Table], judged_hosts: Collection[str]
) -> tuple[pa.Table, pa.Table]:
    """(the CANDIDATES that are new URLs, all others).

    A new URL is found once, has no row in the tables `known`, stands in for none of their URLs, and is on none of the
    `judged_hosts`, whose URLs may be joined or held.
    """
    keys = pa.chunked_array(chain(*(table["url_key"].chunks for table in known)), KEY)
    is_known = pc.or_(pc.is_in(candidates["url_key"], keys), pc.is_in(candidates["url_key"], _stand_ins(known)))
    is_judged = pc.is_in(candidates["host"], pa.array(judged_hosts, pa.string()))
    number = candidates["url_key"].combine_chunks().dictionary_encode().indices.to_numpy()
    is_new = pc.and_(pc.invert(pc.or_(is_known, is_judged)), pa.array(np.bincount(number)[number] == 1))
    return candidates.filter(is_new), candidates.filter(pc.invert(is_new))


def _stand_ins(known: Iterable[pa.Table]) -> pa.Array:
    """The keys of the URLs that stand in for others."""
    some = (pc.list_flatten(table["stand_ins"]).to_pylist() for table in known if "stand_ins" in table.column_names)
    return pa.array({url_key(url) for url in chain(*some)}, KEY)
