"""Counts the documents that searches do not find, by the word of their authors or by the settings."""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.outcomes import DENIED_SEARCH, INDEX_SCOPE
from ...transforms.robots.stored_signals import read_signals
from ...transforms.tables.layouts import newest_rows
from ...transforms.tables.schemas import DOCUMENTS
from ...transforms.tables.table_files import read_table
from ...transforms.urls.index_scope import IndexScope

_READ = ["url_key", "round", "url", "search"]


def count_unindexed(crawl: CrawlDir, manifests: Sequence[Manifest], scope: IndexScope) -> dict[str, int]:
    """Return the number of newest documents by reason: `search=no`, then patterns of `[index]`; no reason without any.

    Documents are read only if there may be any.
    """
    files = files_of(manifests, "documents")
    signals = read_signals(crawl, manifests)
    if not (scope or signals or any(file.counts.get(DENIED_SEARCH) for file in files)):
        return {}
    documents = newest_rows(read_table(crawl.root, [file.path for file in files], DOCUMENTS, _READ), "url_key")
    reserved = np.asarray(pc.fill_null(pc.invert(documents["search"]), False)) | signals.hides(documents["url"])
    kept_out = np.asarray(scope.mask(documents["url"])) & ~reserved
    counts = {DENIED_SEARCH: int(reserved.sum()), INDEX_SCOPE: int(kept_out.sum())}
    return {reason: count for reason, count in counts.items() if count}
