"""The projected bound of memory beside the measured peak, by step, in five differing crawls.

    python benchmarks/memory_bounds.py [--scale 1] [--workers 1 2] [--only NAME…] [--json]

Crawls synthetic pages from loopback: many small pages, few huge ones, many hosts, many links a page, and a long
frontier of which little is fetched. Each crawl is one round with its ranking, and `beamtrawl compact` after it. Shown
are both figures, as manifests have them, and the ratio: a bound must not be below the peak, and should be at most twice
the peak. The exit code is 1 if a bound was exceeded. Linux only.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple


class Site(NamedTuple):
    """What is served: so many pages on each host, of about so many bytes of text."""

    hosts: int
    pages: int
    text_bytes: int
    links: int = 20
    listed: int = 0  # URLs that are seeds besides; none is fetched
    max_pages: int = 0


SITES = {
    "many small pages": Site(4, 750, 2_000),
    "few huge pages": Site(2, 20, 2_500_000),
    "many hosts": Site(250, 4, 10_000),
    "many links a page": Site(4, 75, 5_000, links=1_500),
    "long frontier": Site(4, 50, 5_000, listed=200_000, max_pages=200),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(seed: str, size: int) -> str:
    """Return words of about so many bytes in all."""
    chance = random.Random(seed)
    some = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) for _ in range(max(20, min(5_000, size // 7)))]
    return " ".join(chance.choices(some, k=size // 7))


def page(site: Site, host: int, path: str) -> bytes:
    """Return a page, whose links lead to others of its host that are mostly not there."""
    chance = random.Random(f"{host} {path}")
    links = "".join(
        f'<li><a href="/{number}">chapter {number % 997}</a>'
        for number in (chance.randrange(50 * site.pages) for _ in range(site.links))
    )
    text = words(f"{host}{path}", site.text_bytes)
    paragraphs = "".join(f"<p>{text[start : start + 500]}</p>" for start in range(0, len(text), 500))
    return f"<!doctype html><title>{host} {path}</title><h1>{path}</h1>{paragraphs}<ul>{links}</ul>".encode()


async def serve(site: Site, pipe: Connection) -> None:
    """Send the URLs of all pages; serve until the pipe sends something."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: int) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(None, 2)[1].decode()
                is_there = path[1:].isdigit() and int(path[1:]) < site.pages
                status, body = (b"200 OK", page(site, host, path)) if is_there else (b"404 Not Found", b"")
                head = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
                writer.write(head + body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    names = []
    for host in range(site.hosts):

        def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: int = host) -> object:
            return answer(reader, writer, host)

        server = await asyncio.start_server(handle, f"127.9.{host // 200}.{host % 200 + 1}", 0)
        names.append("{}:{}".format(*server.sockets[0].getsockname()))
    urls = [f"http://{name}/{number}" for number in range(site.pages) for name in names]
    listed = [f"http://{names[number % len(names)]}/listed/{number}" for number in range(site.listed)]
    pipe.send(urls + listed)
    await asyncio.to_thread(pipe.recv)


def crawl(site: Site, urls: list[str], workers: int, folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield (step, projected, peak) of a crawl."""
    seeds, root = Path(folder, "seeds.txt"), Path(folder, "crawl")
    seeds.write_text("\n".join(urls))
    command = [sys.executable, "-m", "beamtrawl", "crawl", str(root), "--seeds", str(seeds), "--rounds", "1"]
    command += ["--delay", "0", "--allow-address", "127.0.0.0/8", "--workers", str(workers)]
    command += ["--max-pages", str(site.max_pages)] if site.max_pages else []
    for each in (command, [*command[:3], "compact", str(root), "--workers", str(workers)]):
        done = subprocess.run(each, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(each)} ended with {done.returncode}: {done.stderr}")
    for path in sorted((root / "manifests").glob("*.json")):
        manifest = json.loads(path.read_text())
        if memory := manifest.get("memory"):
            yield manifest["step"], memory["projected"], memory["peak"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of pages (1)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=SITES, default=list(SITES), metavar="NAME")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON")
    arguments = parser.parse_args()
    if not arguments.json:
        print("| crawl | workers | step | projected, MB | peak, MB | ratio |\n|---|---|---|---|---|---|")
    rows = []
    for name in arguments.only:
        site = SITES[name]
        site = site._replace(pages=max(1, round(site.pages * arguments.scale)))
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.Process(target=lambda s, p: asyncio.run(serve(s, p)), args=(site, theirs), daemon=True)
        server.start()
        urls = ours.recv()
        for workers in arguments.workers:
            with TemporaryDirectory() as folder:
                for step, projected, peak in crawl(site, urls, workers, folder):
                    rows.append((projected, peak))
                    if not arguments.json:
                        figures = f"{projected / 1e6:.0f} | {peak / 1e6:.0f} | {projected / peak:.2f}"
                        print(f"| {name} | {workers} | {step} | {figures} |", flush=True)
        server.terminate()
    ratios = [projected / peak for projected, peak in rows]
    if arguments.json:
        print(json.dumps({"least_ratio": min(ratios), "largest_ratio": max(ratios)}))
    sys.exit(min(ratios) < 1)


if __name__ == "__main__":
    main()
