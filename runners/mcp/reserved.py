"""Documents that must not be the input of models, by what their authors say; for a server that models ask."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...search.answers.opening import LeaveOut, Mask
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.http.request_headers import Identity
from ...transforms.tables.schemas import DOCUMENTS
from ...transforms.tables.table_files import read_table
from ..exports.selection import INPUT, Rights

_SAID = ("ai_input", "tdm_reservation")


def leave_reserved_out(include: Collection[str]) -> LeaveOut:
    """Leaves out documents that are reserved from the input of models, unless `include` has that reason.

    A document is judged by what it says itself, and by the newest robots.txt, licences and file of TDMRep of its host,
    as for exports (`Rights.may_use`).
    """

    def leave_out(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Callable[[pa.ChunkedArray], Mask]:
        if INPUT.reason in include:
            return lambda urls: np.zeros(len(urls), bool)
        said = _statements(crawl.root, paths_of(manifests, "documents"))
        rights = Rights.read(crawl, manifests, Identity.of(stored_settings(crawl).robot).token)

        def is_reserved(url: str) -> bool:
            return rights.may_use(INPUT, _NOTHING | said.get(url, {}) | {"url": url}) is False

        def are_reserved(urls: pa.ChunkedArray) -> Mask:
            if not (said or rights.tdm_rules or rights.signals):
                return np.zeros(len(urls), bool)
            return np.fromiter(map(is_reserved, urls.to_pylist()), bool, len(urls))

        return are_reserved

    return leave_out


_NOTHING: dict[str, Any] = dict.fromkeys(_SAID)


def _statements(root: str, paths: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What the newest version of each document says, by URL, of those of which any version says something."""
    tables = (read_table(root, [path], DOCUMENTS, ["url", *_SAID]) for path in paths)
    urls = [rows.filter(pc.or_(*(pc.is_valid(rows[name]) for name in _SAID)))["url"] for rows in tables]
    wanted = pc.unique(pa.chunked_array([chunk for column in urls for chunk in column.chunks], pa.string()))
    newest: dict[str, dict[str, Any]] = {}
    if not len(wanted):
        return newest
    for path in paths:
        rows = read_table(root, [path], DOCUMENTS, ["url", "round", "fetched_at", *_SAID])
        for row in rows.filter(pc.is_in(rows["url"], value_set=wanted)).to_pylist():
            known = newest.get(row["url"])
            if known is None or (row["round"], row["fetched_at"]) >= (known["round"], known["fetched_at"]):
                newest[row["url"]] = row
    return newest
