"""How many bytes the steps of a crawl shuffle, and how many files they write, by page.

    PYTHONPATH=. python benchmarks/shuffle_bytes.py URL… --max-pages 1000

Crawls in this process, with one worker, and counts what Beam's direct runner appends to the buffers of its
GroupByKeys: keys and values as they are encoded, uncompressed.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable

from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer

from beamtrawl.pipeline.crawl import Step
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.crawls import Silent, crawl


class Counting(Silent):
    """Counts bytes by the kind of the step that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = ""
        self.bytes: Counter[str] = Counter()

    def step_started(self, step: Step, progress: str, rows: int) -> None:
        self.kind = step.kind

    def counted(self, append: Callable[[GroupingBuffer, bytes], None]) -> Callable[[GroupingBuffer, bytes], None]:
        def count_and_append(buffer: GroupingBuffer, data: bytes) -> None:
            self.bytes[self.kind] += len(data)
            append(buffer, data)

        return count_and_append


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--max-pages", type=int, default=1000)
    given = parser.parse_args()
    observer = Counting()
    GroupingBuffer.append = observer.counted(GroupingBuffer.append)
    with tempfile.TemporaryDirectory() as directory:
        crawl(directory, given.urls, observer=observer, limits__max_pages=given.max_pages)
        manifests = CrawlDir(directory).manifests()
    pages = sum(manifest.counters.get("fetched", 0) for manifest in manifests if manifest.step == "fetch")
    print(f"{pages} pages; shuffled, kB a page:")
    for kind, size in observer.bytes.items():
        print(f"  {kind}: {size / pages / 1000:.2f}")
    for kind in ("fetch", "update"):
        steps = [manifest for manifest in manifests if manifest.step == kind]
        files = sum(len(manifest.files) + len(manifest.index_files) for manifest in steps)
        print(f"  files of a {kind} step: {files / len(steps):.1f}")


if __name__ == "__main__":
    main()
