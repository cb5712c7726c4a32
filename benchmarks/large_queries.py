"""How fast a large index answers, and in how much memory, beside tantivy.

    python benchmarks/large_queries.py DIR [--queries N] [--segments N] [--cold]

DIR is what large_index.py wrote. tantivy indexes the same terms of titles and texts, with positions, in DIR/tantivy-N,
and is asked over both for the ten best and the number of matching documents, as Beamtrawl is; and once more for the ten
best alone. Queries are titles of pages, cut to three words, and one of three words that nearly all texts have. Each
engine has a process of its own, as it would have in service, and Beamtrawl reads the most frequent words ahead, as the
gateway does in the background; with --cold it does not. They take turns, query by query, so that ratios hold on a
busy machine. `first` is the first time that a query is asked, `again` the best of three more times. Times are in
milliseconds. Memory is the largest resident size of the process when the engine is opened and after all queries, and
what of the latter is not mapped from files.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import tantivy

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.segment import Segment
from benchmarks.asking import best

COMMON = "the of and"
HEAP = 1_000_000_000
WORDS_OF_HOSTS = {"test"}  # each document of large_index.py has them in its URL


def written(root: Path, segments: int) -> list[Path]:
    return sorted((root / "texts").glob("*.parquet"))[:segments]


def tantivy_index(root: Path, segments: int) -> tantivy.Index:
    path = root / f"tantivy-{segments}"
    builder = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name="en_stem", index_option="position")
    if path.exists():
        return tantivy.Index.open(str(path))
    path.mkdir()
    index = tantivy.Index(builder.build(), path=str(path))
    writer = index.writer(HEAP, 1)
    for file in written(root, segments):
        rows = pq.read_table(file)
        for title, text in zip(rows["title"].to_pylist(), rows["text"].to_pylist(), strict=True):
            writer.add_document(tantivy.Document(title=title, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def engines(root: Path, segments: int, is_cold: bool = False) -> dict[str, Callable[[], Callable[[str], object]]]:
    """By name, what opens an engine and returns what asks it."""

    def beamtrawl() -> Callable[[str], object]:
        index = Index(
            [Segment(str(root), f"segments/{file.stem}") for file in written(root, segments)], cache_bytes=3 << 30
        )
        if not is_cold:
            index.warm()
        return lambda text: best(index, text)

    def other(count: bool) -> Callable[[], Callable[[str], object]]:
        def opened() -> Callable[[str], object]:
            index = tantivy_index(root, segments)
            searcher = index.searcher()
            return lambda text: searcher.search(index.parse_query_lenient(text, ["title", "text"])[0], 10, count=count)

        return opened

    return {"Beamtrawl": beamtrawl, "tantivy": other(True), "tantivy, no total": other(False)}


def queries(root: Path, count: int) -> list[str]:
    titles = set(pq.read_table(written(root, 1)[0], columns=["title"])["title"].to_pylist())
    words = (title.split()[:3] for title in sorted(titles))
    fit = [" ".join(some) for some in words if len(some) == 3 and not WORDS_OF_HOSTS & {*some}]
    return random.Random(0).sample(fit, count)


def milliseconds(ask: Callable[[str], object], text: str) -> float:
    start = time.perf_counter()
    ask(text)
    return (time.perf_counter() - start) * 1000


def serve(root: Path, name: str, segments: int, is_cold: bool) -> None:
    """Ask one engine for each line of standard input; print the times as lines of JSON, and at the end the memory."""
    start = time.perf_counter()
    ask = engines(root, segments, is_cold)[name]()
    opened = time.perf_counter() - start, megabytes("VmHWM")
    for line in sys.stdin:
        text = line.rstrip("\n")
        first = milliseconds(ask, text)
        print(json.dumps([first, min(milliseconds(ask, text) for _ in range(3))]), flush=True)
    print(json.dumps([*opened, megabytes("VmHWM"), megabytes("RssAnon")]))


def megabytes(name: str) -> int:
    """A size of this process, by its name in /proc/self/status."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) >> 10


def compare(root: Path, segments: int, texts: list[str], is_cold: bool) -> dict[str, float]:
    """Print the times and the memory of all engines; the median and 95th percentile of times in milliseconds."""
    figures: dict[str, float] = {}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    command = [sys.executable, __file__, str(root), "--segments", str(segments), *["--cold"] * is_cold, "--serve"]
    served = {name: subprocess.Popen([*command, name], **pipes) for name in engines(root, segments)}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in served}
    for text in ["warm up", *texts, COMMON]:
        for name, process in served.items():
            print(text, file=process.stdin)
            times[name].append(json.loads(process.stdout.readline()))
    for place, label in enumerate(("first", "again")):
        for name, found in times.items():
            *all_, common = (time_[place] for time_ in found[1:])
            median, p95, worst = np.percentile(all_, [50, 95, 100]).tolist()
            figures |= {f"{name}, {label}, median ms": median, f"{name}, {label}, p95 ms": p95}
            print(f"{label}: {name}: median {median:.1f}, p95 {p95:.1f}, worst {worst:.1f}; {COMMON!r} {common:.1f}")
    for name, process in served.items():
        rest, _ = process.communicate()
        seconds, opened, most, own = json.loads(rest)
        print(
            f"{name}: opened in {seconds:.1f} s with {opened} MB at most; with all queries {most} MB at most, "
            f"{own} MB of it not mapped files"
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--segments", type=int, default=20, help="of the first ones alone (20)")
    parser.add_argument("--cold", action="store_true", help="no words are read ahead")
    parser.add_argument("--serve", metavar="ENGINE", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    arguments = parser.parse_args()
    root, segments = arguments.root, arguments.segments
    if arguments.serve:
        serve(root, arguments.serve, segments, arguments.cold)
        return
    figures = compare(root, segments, queries(root, arguments.queries), arguments.cold)
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
