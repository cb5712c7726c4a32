"""How the gateway bears many clients at once.

    python benchmarks/gateway_load.py DIR [--clients N] [--seconds S] [--pause S] [--hostile]

DIR is a crawl; `beamtrawl serve` serves it, in a process of its own. Queries are titles of its pages, cut to three
words, each asked for as a person does: the page of results, over a connection that is kept. First one client asks
without a pause, then N clients ask for S seconds. Between an answer and its next query a client pauses, as long as
people look at results: at random, exponentially, so many seconds on average; 0 is a flood. Times are those that
clients see. Anything but a page of results is an error. Meanwhile `/healthz` is requested four times a second.

With --hostile, thirty connections of another address send the head of a request a byte at a time, another client sends
ten requests at once without waiting for answers, and `beamtrawl compact DIR --drop-history` runs again and again: DIR
should be a copy with several rounds.
"""

import argparse
import contextlib
import http.client
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import read_table
from tests.support.command_line import PROGRAM
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


def ask(
    authority: str, texts: Iterator[str], until: float, pauses: Iterator[float], source: str = "127.0.0.1"
) -> Asked:
    """Ask one query after another from an address, until a moment of the clock or the last query."""
    asked = Asked([], [])
    connection = http.client.HTTPConnection(authority, timeout=60, source_address=(source, 0))
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
        done.append(ask(authority, shuffled, until, pauses, f"127.1.0.{number}"))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(1, clients + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Asked([s for asked in done for s in asked.seconds], [e for asked in done for e in asked.errors])


def watch_health(authority: str, over: threading.Event, health: Asked) -> None:
    while not over.wait(0.25):
        begin = time.perf_counter()
        connection = http.client.HTTPConnection(authority, timeout=60)
        try:
            connection.request("GET", "/healthz")
            response = connection.getresponse()
            response.read()
            health.seconds.append(time.perf_counter() - begin)
            if response.status != 200:
                health.errors.append(f"/healthz: {response.status}")
        except OSError as error:
            health.errors.append(f"/healthz: {error!r}")
        connection.close()


def connect(authority: str, source: str) -> socket.socket:
    host, port = authority.split(":")
    return socket.create_connection((host, int(port)), 10, (source, 0))


def drip(authority: str, over: threading.Event) -> None:
    """Heads of requests that never end, a byte at a time; connections that the server ends are made again."""
    open_ones: list[socket.socket] = []
    while not over.wait(1):
        while len(open_ones) < 30:
            open_ones.append(connect(authority, "127.0.0.2"))
        for connection in open_ones[:]:
            try:
                connection.sendall(b"G")
            except OSError:
                open_ones.remove(connection)
                connection.close()
    for connection in open_ones:
        connection.close()


def pipeline(authority: str, over: threading.Event, errors: list[str]) -> None:
    """Ten requests at once over one connection, again and again."""
    request = f"GET /?q=the HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()
    last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    while not over.is_set():
        with contextlib.closing(connect(authority, "127.0.0.3")) as connection:
            connection.settimeout(60)
            try:
                connection.sendall(9 * request + last)
                answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
                if answer.count(b"HTTP/1.1 200 OK") != 10:
                    errors.append("pipelined requests without an answer")
            except OSError as error:
                errors.append(f"pipelining: {error!r}")


def merge(directory: str, over: threading.Event, errors: list[str]) -> None:
    while not over.wait(2):
        command = [*PROGRAM, "compact", directory, "--drop-history"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            errors.append(f"compact: {done.stderr[-200:]}")


@contextlib.contextmanager
def beside(actions: list[Callable[[], None]], over: threading.Event) -> Iterator[None]:
    """Run actions in threads until the block ends."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--clients", type=int, default=50, help="at most 254, each of an address of its own")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds, on average")
    parser.add_argument("--hostile", action="store_true", help="slow heads, pipelining and merges meanwhile")
    arguments = parser.parse_args()
    health, over = Asked([], []), threading.Event()
    texts = queries(CrawlDir(arguments.dir))
    with serving(arguments.dir, "--rate", "0") as authority:
        sample = random.Random(0).sample(texts, min(len(texts), ALONE))
        alone = ask(authority, iter(sample), float("inf"), iter(lambda: 0.0, None))
        actions = [lambda: watch_health(authority, over, health)]
        if arguments.hostile:
            actions.append(lambda: drip(authority, over))
            actions.append(lambda: pipeline(authority, over, health.errors))
            actions.append(lambda: merge(arguments.dir, over, health.errors))
        with beside(actions, over):
            many = together(authority, texts, arguments.clients, arguments.seconds, arguments.pause)
    base = statistics.median(alone.seconds)
    for name, asked in (("alone", alone), (f"{arguments.clients} clients", many)):
        median, worst = statistics.median(asked.seconds), statistics.quantiles(asked.seconds, n=20)[18]
        print(
            f"{name}: {len(asked.seconds)} queries, {len(asked.errors)} errors, median {median * 1000:.0f} ms,"
            f" 95th percentile {worst * 1000:.0f} ms, {worst / base:.1f} times the single median"
        )
    print(f"/healthz: {len(health.seconds)} answers, worst {max(health.seconds) * 1000:.0f} ms")
    print(f"{len(many.seconds) / arguments.seconds:.1f} queries/s", *many.errors[:5], *health.errors[:5], sep="\n")


if __name__ == "__main__":
    main()
