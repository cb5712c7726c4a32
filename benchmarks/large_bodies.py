"""Large pages of slow hosts beside small pages of many others: is all fetched, and are the small ones held up?

    python benchmarks/large_bodies.py

64 hosts have a page of 2 MB each, 20 of 5 MB and 64 of 10 MB, all at 300 kB/s; 200 hosts have ten small pages each. The
servers have a process of their own. One round with default settings fetches the small hosts alone, another all of them.
Shown are the outcomes; of the small pages, the mean time from an answer to the host's next request, which is the delay
of a second and what the fetcher adds to it, and the time from a host's first request to its last; the CPU time of the
fetching process; and its largest resident memory until the fetch step is over. Server and fetcher share the machine: on
one that is busy with other work, the times measure that work.
"""

import asyncio
import collections
import contextlib
import functools
import itertools
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import Manifest
from tests.support.crawls import Silent, crawl, rows

LARGE = [2 << 20] * 64 + [5 << 20] * 20 + [10 << 20] * 64
SMALL_HOSTS, SMALL_PAGES, RATE, DELAY = 200, 10, 300_000, 1.0
TICK = 0.1  # seconds
TEXT = b"<p>What a large page says, line by line, until it is as long as it is meant to be.\n" * (max(LARGE) // 80)


class Fetched(Exception):
    """The fetch step is over; what follows is not measured."""


class Usage(Silent):
    """Remembers what the process had taken when the fetch step was over."""

    most = seconds = 0.0

    def step_committed(self, manifest: Manifest) -> None:
        if manifest.step == "fetch":
            usage = resource.getrusage(resource.RUSAGE_SELF)
            self.most, self.seconds = usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime
            raise Fetched


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int, times: list[tuple[float, float]]
) -> None:
    """Serve a host whose pages have so many bytes; large ones come at `RATE`. Notes start and end of each answer."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            started = time.monotonic()
            if head.startswith(b"GET /robots.txt"):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                times.append((started, time.monotonic()))
                continue
            name = head.split()[1]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size)
            step = size if size < 100_000 else int(RATE * TICK)
            for start in range(0, size, step):
                if start:
                    await asyncio.sleep(TICK)
                lines = TEXT[start : min(start + step, size)]
                writer.write(lines if start else name + lines[len(name) :])
                await writer.drain()
            times.append((started, time.monotonic()))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def serve(pipe: Connection) -> None:
    """Send the hosts; then, at each message, the times of all answers since the last, by small host."""
    servers = []
    noted: list[list[tuple[float, float]]] = []
    for number, size in enumerate(LARGE + [2_000] * SMALL_HOSTS):
        address = f"127.9.{number // 200}.{number % 200 + 1}"

        noted.append([])
        handler = functools.partial(answer, size=size, times=noted[-1])
        servers.append(await asyncio.start_server(handler, address, 0))
    pipe.send(["{}:{}".format(*server.sockets[0].getsockname()) for server in servers])
    while await asyncio.to_thread(pipe.recv):
        pipe.send([list(times) for times in noted[-SMALL_HOSTS:]])
        for times in noted:
            times.clear()


def measure(hosts: list[str]) -> None:
    """Fetch a round, and print how it went."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = [f"http://{host}/" for host in hosts[: len(LARGE)]] if len(hosts) > SMALL_HOSTS else []
        small = hosts[-SMALL_HOSTS:]
        seeds += [f"http://{host}/{page}" for host in small for page in range(SMALL_PAGES)]
        observer = Usage()
        with contextlib.suppress(Fetched):
            defaults = {"politeness__delay": DELAY, "politeness__response_factor": 1.0}
            crawl(Path(folder), seeds, rounds=1, observer=observer, **defaults)
        visits = rows(Path(folder), "visits")
    ends = collections.Counter(visit["outcome"] for visit in visits)
    whole = sum(visit["body_bytes"] for visit in visits) / 2**20
    print(f"{len(hosts)} hosts: {dict(ends)}, {whole:.0f} MB")
    print(f"    {observer.seconds:.1f} CPU s, at most {observer.most:.0f} MB")


def show(times: list[list[tuple[float, float]]]) -> None:
    """Print how the small hosts were asked."""
    gaps = sorted(after[0] - before[1] for host in times for before, after in itertools.pairwise(host))
    spans = [host[-1][0] - host[0][0] for host in times]
    print(
        f"    small pages: {1000 * statistics.mean(gaps):.0f} ms from an answer to the next request (median"
        f" {1000 * statistics.median(gaps):.0f}, 95 % below {1000 * gaps[len(gaps) * 95 // 100]:.0f}),"
        f" {statistics.mean(spans):.2f} s for a host"
    )


def main() -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=lambda: asyncio.run(serve(theirs)), daemon=True)
    server.start()
    hosts = ours.recv()
    for chosen in (hosts[-SMALL_HOSTS:], hosts):
        run = multiprocessing.Process(target=measure, args=(chosen,))
        run.start()
        run.join()
        ours.send("times")
        show(ours.recv())
    server.terminate()


if __name__ == "__main__":
    main()
