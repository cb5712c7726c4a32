"""URLs that no alias rule changes: those that `release` was given, and those that are blocked."""

import dataclasses
import functools
import re

from ..blocks.files import read_blocks
from ..blocks.rules import expression
from ..directory.crawl_dir import CrawlDir

RELEASED = "released.txt"
"""A file of the crawl directory: the patterns that `release` was given, one a line."""


@dataclasses.dataclass(frozen=True)
class Exempt:
    """Patterns of URLs, in the syntax of `release` and `block`, as a predicate on canonical URLs. Picklable.

    >>> Exempt(("a.org/docs/*",))("http://a.org/docs/1"), Exempt(())("http://a.org/docs/1")
    (True, False)
    """

    patterns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def __call__(self, url: str) -> bool:
        return bool(self.patterns) and bool(self._any.match(url))

    @functools.cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(f"^[a-z]+://(?:{'|'.join(map(expression, self.patterns))})$")


EXEMPT_NOTHING = Exempt()


def released_patterns(crawl: CrawlDir) -> list[str]:
    return crawl.read_text(RELEASED).splitlines() if crawl.exists(RELEASED) else []


def exempt_urls(crawl: CrawlDir) -> Exempt:
    return Exempt((*released_patterns(crawl), *(block.pattern for block in read_blocks(crawl))))
