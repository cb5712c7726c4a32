"""What an update step is given, its sizes and the names of its stages."""

import dataclasses
from collections.abc import Sequence

from ..transforms.aliases.learned_rules import KnownRules
from ..transforms.batches.stage_progress import StageProgress
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.revisit_plan import Plan
from ..transforms.memory.bounds import ONE, Parts
from ..transforms.parsing.crawl_scope import CrawlScope
from ..transforms.settings import Settings
from ..transforms.urls.index_scope import IndexScope

STAGES = {
    "ParseVisits": "parsing pages",
    "ReadEarlier": "reading earlier contents",
    "JudgeContents": "finding duplicates",
    "FindNearDuplicates": "finding near duplicates",
    "FinishPages": "writing documents and index",
    "ScanTrapped": "reading the URLs of traps",
    "ReadUrls": "reading the known URLs",
    "LearnAliases": "learning aliases",
    "AdvanceUrls": "writing the states of URLs",
    "WriteFrontier": "writing the next frontier",
}
"""The stages on which workers report, by label and in the order in which they run, with what they do."""

_LINKS_PER_VISIT = 40  # distinct targets that the visit of a page adds to a round, roughly
_ROWS_PER_PARTITION = 100_000
_ROWS_PER_FRONTIER_FILE = 500_000
_PAGES_PER_SHARD = 5_000
_PARSED_BYTES = 64_000_000  # their pages take as much memory
_PARTS_PER_WORKER = 16
_COMPRESSION = 6  # the most that counts; pages of thirteen sites of documentation have 4


@dataclasses.dataclass(frozen=True)
class UpdateStep:
    """The inputs and outputs of one update step; paths are below the crawl directory."""

    root: str
    round: int
    settings: Settings
    robot: str  # the name that page directives may address
    aliases: KnownRules | None  # None: alias detection is off
    secret: bytes  # of the crawl: no site can foresee which aliases are fetched, nor the URLs that cannot exist
    visits: Sequence[str]
    visit_rows: int
    visit_bytes: int  # of the files
    sitemap_entries: int  # upper bound, in the visited sitemaps
    turns: Sequence[str]
    robots: Sequence[str]  # of this round
    waiting: Waiting
    urls: Sequence[str]
    digests: Sequence[str]
    near: Sequence[str]
    hosts: Sequence[str]
    trap_files: Sequence[str]
    trap_samples: Sequence[str]
    trap_queues: Sequence[str]
    seeds: Sequence[str]
    report: str
    progress: str = ""  # prefix of the workers' reports; empty: they report nothing
    plan: Plan | None = None  # of revisits
    body_bytes: int = 0  # of the visits, uncompressed; 0: not known
    external: tuple[Sequence[str], int] | None = None  # files of table external, and how many URLs it may have
    parts: Parts = ONE  # whose sizes bound the memory of a worker
    follows: bool = True  # URLs that are found are visited; else they are in table links only

    @property
    def scope(self) -> CrawlScope:
        """What decides which links belong to the crawl."""
        return CrawlScope.of(self.root, self.settings.scope, self.settings.documents, self.seeds)

    @property
    def index_scope(self) -> IndexScope:
        """Which documents are indexed."""
        return IndexScope.of(self.settings.index)

    @property
    def partitions(self) -> int:
        """Partitions of the key space: enough to use all workers, and few enough that small rounds write few files."""
        return _share(self.links, _ROWS_PER_PARTITION, self.parts.workers)

    @property
    def links(self) -> int:
        """Estimate of the round's distinct link targets; it sizes filters and partitions."""
        return self.visit_rows * _LINKS_PER_VISIT + self.sitemap_entries

    @property
    def parsed_bytes(self) -> int:
        """Bytes of visits that a worker parses at a time; a small share of the round, so that all work to its end."""
        size = self.body_bytes or self.visit_bytes * _COMPRESSION
        return min(_PARSED_BYTES, size // (_PARTS_PER_WORKER * self.parts.workers))

    @property
    def shards(self) -> int:
        """Shards of the hosts: each is the work of one worker.

        Pages of one template compress to much less than others, and take as much memory.
        """
        size = max(self.visit_bytes, self.body_bytes // _COMPRESSION)
        by_bytes = _share(size, self.parts.shard_bytes, self.parts.workers)
        return max(by_bytes, _share(self.visit_rows, _PAGES_PER_SHARD, 1))

    @property
    def frontier_shards(self) -> int:
        """Files of the frontier that the step writes."""
        return _share(self.links, _ROWS_PER_FRONTIER_FILE, 1)

    def stage(self, label: str) -> StageProgress | None:
        """Return where workers report that they process a stage, by its label; None: they do not."""
        if not self.progress or label not in STAGES:
            return None
        return StageProgress(self.progress, STAGES[label], list(STAGES).index(label) + 1, len(STAGES))


def _share(rows: int, most: int, least: int) -> int:
    return min(256, max(least, -(-rows // most)))
