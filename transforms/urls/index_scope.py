"""Decides by URL which documents are indexed (`[index]`)."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ..settings import Index


@dataclasses.dataclass(frozen=True)
class IndexScope:
    """The patterns of `[index]` as one predicate on canonical URLs. Can be pickled."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Index) -> "IndexScope":
        return cls(tuple(settings.include), tuple(settings.exclude))

    @classmethod
    def recorded(cls, settings: Mapping[str, Any]) -> "IndexScope":
        """The scope in what `record` returns, or in other changes of the default settings."""
        return cls(*(tuple(settings.get(f"index.{name}", ())) for name in ("include", "exclude")))

    def record(self) -> dict[str, Any]:
        """The scope as a manifest keeps it (`Manifest.settings`)."""
        patterns = {"index.include": list(self.include), "index.exclude": list(self.exclude)}
        return {name: some for name, some in patterns.items() if some}

    def __bool__(self) -> bool:
        """Whether it may keep a document out."""
        return bool(self.include or self.exclude)

    def keeps_out(self, url: str) -> str | None:
        """Why a URL is not indexed, with the setting that decides; None if it is.

        >>> IndexScope(exclude=("/tag/",)).keeps_out("http://a.org/tag/b")
        'the pattern "/tag/" of index.exclude matches it'
        >>> IndexScope(include=("/docs/",)).keeps_out("http://a.org/tag/b")
        'no pattern of index.include matches it'
        """
        if not self:
            return None
        for pattern in self.exclude:
            if re.search(pattern, url):
                return f'the pattern "{pattern}" of index.exclude matches it'
        if self.include and not any(re.search(pattern, url) for pattern in self.include):
            return "no pattern of index.include matches it"
        return None

    def mask(self, urls: pa.ChunkedArray) -> pa.Array:
        """Whether each URL is kept out."""
        if not self:
            return pa.repeat(False, len(urls))
        return pa.array([self.keeps_out(url) is not None for url in urls.to_pylist()], pa.bool_())


WHOLE = IndexScope()
"""All documents."""
