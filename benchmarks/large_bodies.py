"""Large pages of slow hosts beside small pages of many others: is all fetched, and are the small ones held up?

    python benchmarks/large_bodies.py

64 hosts have a page of 2 MB each, 20 of 5 MB and 64 of 10 MB, all at 300 kB/s; 200 hosts have ten small pages each. One
round with default settings (but for a delay of 0.5 s) fetches the small hosts alone, another all of them. Shown are
the outcomes, the seconds from the first visit to the last one of a small page, and the largest resident memory of the
process until the fetch step is over.
"""

import asyncio
import collections
import multiprocessing
import resource
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.storage.crawl_dir import Manifest
from tests.support.crawls import Silent, crawl, rows

LARGE = [2 << 20] * 64 + [5 << 20] * 20 + [10 << 20] * 64
SMALL_HOSTS, SMALL_PAGES, RATE, DELAY = 200, 10, 300_000, 0.5
TICK = 0.1  # seconds
LINE = b"<p>What a large page says, line by line, until it is as long as it is meant to be.\n"


class Memory(Silent):
    """Remembers how much memory the process had taken when the fetch step was over."""

    most = 0.0

    def step_committed(self, manifest: Manifest) -> None:
        super().step_committed(manifest)
        if manifest.step == "fetch":
            self.most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    """Serve a host whose pages have so many bytes; large ones come at `RATE`."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /robots.txt"):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            body = (head.split()[1] + LINE * (size // len(LINE) + 1))[:size]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size)
            step = size if size < 100_000 else int(RATE * TICK)
            for start in range(0, size, step):
                if start:
                    await asyncio.sleep(TICK)
                writer.write(body[start : start + step])
                await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def serve(ready: Connection) -> None:
    servers = []
    for number, size in enumerate(LARGE + [2_000] * SMALL_HOSTS):
        address = f"127.9.{number // 200}.{number % 200 + 1}"

        def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int = size) -> asyncio.Task:
            return asyncio.ensure_future(answer(reader, writer, size))

        servers.append(await asyncio.start_server(handler, address, 0))
    ready.send(["{}:{}".format(*server.sockets[0].getsockname()) for server in servers])
    await asyncio.Event().wait()


def measure(hosts: list[str]) -> None:
    """Fetch a round, and print how it went."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = [f"http://{host}/" for host in hosts[: len(LARGE)]] if len(hosts) > SMALL_HOSTS else []
        small = hosts[-SMALL_HOSTS:]
        seeds += [f"http://{host}/{page}" for host in small for page in range(SMALL_PAGES)]
        observer = Memory()
        crawl(Path(folder), seeds, rounds=1, observer=observer, politeness__delay=DELAY)
        visits = rows(Path(folder), "visits")
    times = [visit["fetched_at"] for visit in visits if visit["host"] in small]
    seconds = (max(times) - min(visit["fetched_at"] for visit in visits)).total_seconds()
    ends = collections.Counter(visit["outcome"] for visit in visits)
    whole = sum(visit["body_bytes"] for visit in visits) / 2**20
    print(
        f"{len(hosts)} hosts: {dict(ends)}, {whole:.0f} MB,"
        f" small pages in {seconds:.2f} s, at most {observer.most:.0f} MB"
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
    server.terminate()


if __name__ == "__main__":
    main()
