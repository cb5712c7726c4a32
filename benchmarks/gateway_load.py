"""How the gateway bears many clients at once.

    python benchmarks/gateway_load.py DIR [--clients N] [--seconds S] [--pause S]

DIR is a crawl; `beamtrawl serve` serves it, in a process of its own. Queries are titles of its pages, cut to three
words, each asked for as a person does: the page of results, over a connection that is kept. First one client asks
without a pause, then N clients ask for S seconds. Between an answer and its next query a client pauses, as long as
people look at results: at random, exponentially, so many seconds on average; 0 is a flood. Times are those that
clients see. Anything but a page of results is an error.
"""

import argparse
import http.client
import random
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.storage.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.storage.schemas import DOCUMENTS
from beamtrawl.transforms.storage.table_files import read_table
from tests.support.gateways import serving

ALONE = 300  # queries of the single client


class Asked(NamedTuple):
    """What came of queries."""

    seconds: list[float]
    errors: list[str]


def queries(crawl: CrawlDir) -> list[str]:
    paths = [file.path for file in files_of(crawl.require_manifests(), "documents")]
    titles = read_table(crawl.root, paths, DOCUMENTS, ["title"])["title"].to_pylist()
    words = [re.findall(r"\w+", title)[:3] for title in sorted({title for title in titles if title})]
    return [" ".join(found) for found in words if len(found) == 3]


def ask(authority: str, texts: Iterator[str], until: float, pauses: Iterator[float]) -> Asked:
    """Ask one query after another, until a moment of the clock or the last query."""
    asked = Asked([], [])
    connection = http.client.HTTPConnection(authority, timeout=60)
    for text in texts:
        time.sleep(next(pauses))
        if (begin := time.perf_counter()) >= until:
            break
        try:
            connection.request("GET", f"/?q={quote(text)}")
            response = connection.getresponse()
            page = response.read()
        except OSError as error:
            asked.errors.append(repr(error))
            connection.close()
            continue
        asked.seconds.append(time.perf_counter() - begin)
        if response.status != 200 or b'class="count"' not in page:
            asked.errors.append(f"{response.status} for {text}")
    connection.close()
    return asked


def together(authority: str, texts: list[str], clients: int, seconds: float, pause: float) -> Asked:
    until = time.perf_counter() + seconds
    done: list[Asked] = []

    def client(number: int) -> None:
        chance = random.Random(number)
        shuffled = iter(lambda: chance.choice(texts), None)
        pauses = iter(lambda: chance.expovariate(1 / pause) if pause else 0.0, None)
        done.append(ask(authority, shuffled, until, pauses))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(1, clients + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Asked([s for asked in done for s in asked.seconds], [e for asked in done for e in asked.errors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds, on average")
    arguments = parser.parse_args()
    texts = queries(CrawlDir(arguments.dir))
    with serving(arguments.dir, "--rate", "0") as authority:
        sample = random.Random(0).sample(texts, min(len(texts), ALONE))
        alone = ask(authority, iter(sample), float("inf"), iter(lambda: 0.0, None))
        many = together(authority, texts, arguments.clients, arguments.seconds, arguments.pause)
    base = statistics.median(alone.seconds)
    for name, asked in (("alone", alone), (f"{arguments.clients} clients", many)):
        median, worst = statistics.median(asked.seconds), statistics.quantiles(asked.seconds, n=20)[18]
        print(
            f"{name}: {len(asked.seconds)} queries, {len(asked.errors)} errors, median {median * 1000:.0f} ms,"
            f" 95th percentile {worst * 1000:.0f} ms, {worst / base:.1f} times the single median"
        )
    print(f"{len(many.seconds) / arguments.seconds:.1f} queries/s", *many.errors[:5], sep="\n")


if __name__ == "__main__":
    main()
