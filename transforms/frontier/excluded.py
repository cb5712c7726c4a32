"""Finds waiting URLs that are not requested: blocked ones, and those that the current settings exclude."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..blocks.rules import Blocks
from ..directory.manifests import Manifest
from ..parsing.crawl_scope import CrawlScope
from ..settings import Settings, changed_values, settings_digest
from ..tables.schemas import SEEDS
from ..tables.sitemap_terms import EXTERNAL
from ..tables.table_files import read_table
from ..urls.filters import UrlFilter

_JUDGED = ("url", "depth", "redirects", "kind")


def has_changed(settings: Settings, manifests: Sequence[Manifest]) -> bool:
    """Whether links were judged with another scope or other kinds of content than these.

    Only update steps judge links; seeds are not judged. The values are those that the fetch step of the round has
    recorded, if it had the same settings. Where it has none, as in imports, all settings have to be equal.
    """
    digest, current = settings_digest(settings), _of_links(changed_values(settings))
    fetches = (m for m in manifests if m.step == "fetch" and m.settings is not None)
    fetched = {(m.round, m.settings_digest): _of_links(m.settings or {}) for m in fetches}
    return any(
        m.settings_digest != digest and fetched.get((m.round, m.settings_digest)) != current
        for m in manifests
        if m.step == "update"
    )


def _of_links(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, by dotted key, by which links are judged."""
    return {key: value for key, value in values.items() if key.startswith("scope.") or key == "documents.kinds"}


class Excluded:
    """The URLs that the settings of now exclude, as one predicate on rows of the frontier.

    These are the rows that `UrlFilter` would reject if they were found now. Seeds are never excluded: no rule applies
    to them when they are added either. The files of seeds are read at the first use. Immutable; can be pickled.
    """

    COLUMNS = ("url_key", *_JUDGED)
    """The columns of the frontier that `mask` reads."""

    def __init__(self, scope: CrawlScope) -> None:
        self._scope = scope

    def __reduce__(self) -> tuple[type, tuple[CrawlScope]]:
        return Excluded, (self._scope,)

    def mask(self, rows: pa.Table) -> pa.Array:
        """Whether each row is excluded."""
        reject = self._filter.reject_waiting
        columns = (rows[name].to_pylist() for name in _JUDGED)
        found = np.fromiter(
            (
                reject(url, depth, redirects or 0, kind) is not None
                for url, depth, redirects, kind in zip(*columns, strict=True)
            ),
            np.bool_,
            rows.num_rows,
        )
        places = np.flatnonzero(found)
        if len(places):
            keys = rows["url_key"].take(pa.array(places))
            found[places] = ~pc.is_in(keys, self._seeds).to_numpy()
        return pa.array(found)

    @functools.cached_property
    def _seeds(self) -> pa.Array:
        """The keys of the seeds."""
        return read_table(self._scope.root, list(self._scope.seeds), SEEDS, ["url_key"])["url_key"].combine_chunks()

    @functools.cached_property
    def _filter(self) -> UrlFilter:
        return self._scope.url_filter()


class NotRequested:
    """Removes the waiting URLs that are not requested from batches of them, and counts them."""

    def __init__(
        self, blocks: Blocks, excluded: Excluded | None, only_external: bool = False, full_hosts: Collection[str] = ()
    ) -> None:
        """`full_hosts`: those that had all visits that the whole crawl may make to one."""
        self._blocks, self._excluded, self._only_external = blocks, excluded, only_external
        self._full = pa.array(sorted(full_hosts), pa.string())
        self.full = 0  # removed URLs of these hosts
        self.blocked = 0  # others that are blocked
        self.excluded = 0  # others that the settings exclude

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the frontier that `without` reads."""
        read = Excluded.COLUMNS if self._excluded else ("url",) if self._blocks else ()
        return tuple(dict.fromkeys((*read, "kind"))) if self._only_external else read

    def without(self, rows: pa.Table) -> pa.Table:
        """The rows that may be requested, or those of external targets alone."""

        def remove(mask: pa.Array | pa.ChunkedArray) -> int:
            nonlocal rows
            before, rows = rows.num_rows, rows.filter(pc.invert(mask))
            return before - rows.num_rows

        if self._only_external:
            rows = rows.filter(pc.equal(rows["kind"], EXTERNAL))
        if len(self._full):
            self.full += remove(pc.is_in(rows["host"], self._full))
        if self._blocks:
            self.blocked += remove(self._blocks.mask(rows["url"]))
        if self._excluded and rows.num_rows:
            self.excluded += remove(self._excluded.mask(rows))
        return rows
