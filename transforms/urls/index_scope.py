"""Which documents are indexed by their URLs (`[index]`)."""

import dataclasses
import functools
import re
from collections.abc import Sequence

import pyarrow as pa


@dataclasses.dataclass(frozen=True)
class IndexScope:
    """The patterns of `[index]` as one predicate on canonical URLs. Can be pickled."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, include: Sequence[str], exclude: Sequence[str]) -> "IndexScope":
        return cls(tuple(include), tuple(exclude))

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
        for pattern, compiled in zip(self.exclude, self._excluding, strict=True):
            if compiled.search(url):
                return f'the pattern "{pattern}" of index.exclude matches it'
        if self.include and not any(compiled.search(url) for compiled in self._including):
            return "no pattern of index.include matches it"
        return None

    def mask(self, urls: pa.ChunkedArray) -> pa.Array:
        """Whether each URL is kept out."""
        if not self:
            return pa.repeat(False, len(urls))
        return pa.array([self.keeps_out(url) is not None for url in urls.to_pylist()], pa.bool_())

    @functools.cached_property
    def _excluding(self) -> list[re.Pattern[str]]:
        return [re.compile(pattern) for pattern in self.exclude]

    @functools.cached_property
    def _including(self) -> list[re.Pattern[str]]:
        return [re.compile(pattern) for pattern in self.include]
