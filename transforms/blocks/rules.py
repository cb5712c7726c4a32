"""Finds the block that matches a URL: pure functions of URLs and patterns."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ..outcomes import BeamtrawlError
from ..urls.host_patterns import expression


class PatternError(BeamtrawlError):
    """A pattern that is not valid; the message says how it must look."""

    is_usage = True


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a crawl."""

    pattern: str
    since: str  # ISO 8601
    forget: bool = False  # the next compaction removes what is stored of the URLs
    reason: str = ""

    @property
    def error(self) -> str:
        """Why a URL that it matches is not requested: column `error` of its visit."""
        return f"blocked by {self.pattern} since {self.since}"


class Blocks:
    """Some blocks as one predicate on canonical URLs. Equal if the patterns are."""

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks = tuple(sorted(blocks, key=lambda block: (block.since, block.pattern)))

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks) and self._patterns == other._patterns

    def __hash__(self) -> int:
        return hash(self._patterns)

    @functools.cached_property
    def _patterns(self) -> frozenset[str]:
        return frozenset(block.pattern for block in self._blocks)

    @functools.cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self._expression)

    @functools.cached_property
    def _expression(self) -> str:
        return f"^[a-z]+://(?:{'|'.join(expression(block.pattern) for block in self._blocks)})$"

    def match(self, url: str) -> Block | None:
        """The first block that matches a canonical URL, if any."""
        if not self._blocks or not self._any.match(url):
            return None
        return next(block for block in self._blocks if Blocks([block])._any.match(url))

    def mask(self, urls: pa.ChunkedArray) -> pa.ChunkedArray:
        """Whether a block matches each URL, for many canonical URLs at once."""
        if not self._blocks:
            return pa.chunked_array([pa.repeat(False, len(urls))])
        return pc.match_substring_regex(urls, self._expression)


NO_BLOCKS = Blocks()


def check_pattern(text: str) -> str:
    """The pattern with its host in lower case; PatternError if it is neither HOST nor HOST/PATTERN.

    HOST/ is the whole host, as people copy it, and not its home page alone.

    >>> check_pattern("Example.org"), check_pattern("example.org/"), check_pattern("example.org/Private/*")
    ('example.org', 'example.org', 'example.org/Private/*')
    """
    if not _PATTERN.fullmatch(text):
        rest = re.sub("https?://", "", text, count=1)
        meant = f": {check_pattern(rest)}" if _PATTERN.fullmatch(rest) else ""
        raise PatternError(
            f"{text!r} is no pattern: it must be HOST or HOST/PATTERN, without http://{meant}; * is anything"
        )
    host, slash, path = text.partition("/")
    return host.lower() + (slash + path if path else "")


_PATTERN = re.compile(r"(?!\w+:/)[^\s/\0-\x1f\x7f]+(?:/[^\s\0-\x1f\x7f]*)?", re.ASCII)
