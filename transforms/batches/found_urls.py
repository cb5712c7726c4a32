"""URLs that visits have found otherwise than by links: candidates, and those that a rule rejects."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..tables.batches import split
from ..tables.bloom import shard
from ..urls.canonical import host, url_key
from .batch_schemas import CANDIDATES, CandidateRow
from .partitions import tagged


class FoundUrls(NamedTuple):
    """The URLs of a visit, or of several."""

    candidates: list[CandidateRow]
    rejected: Counter[tuple[str, str]]  # by (reason, URL); what has no URL counts for the file that names it

    @classmethod
    def none(cls) -> "FoundUrls":
        return cls([], Counter())

    def add(self, others: "FoundUrls") -> None:
        self.candidates.extend(others.candidates)
        self.rejected.update(others.rejected)

    def outputs(self, tag: str, shards: int, partitions: int) -> Iterator[TaggedOutput]:
        """CANDIDATES by url_key, with a tag, and `rejections` by shard of the host."""
        table = pa.Table.from_pylist(self.candidates, schema=CANDIDATES)
        yield from tagged(tag, split(table, "url_key", partitions))
        for (reason, url), count in self.rejected.items():
            if count:
                rejection = ((reason, host(url)), (count, [url]))
                yield TaggedOutput("rejections", (shard(host(url), shards), [rejection]))


def candidate(url: str, referrer: str, depth: int, score: float = 0.0, redirects: int = 0) -> CandidateRow:
    """The row of CANDIDATES for a canonical URL, without what not all of them have."""
    return {
        "url_key": url_key(url),
        "url": url,
        "host": host(url),
        "depth": depth,
        "redirects": redirects,
        "score": score,
        "referrer": referrer,
    }
