"""Memory and rate of one large round of real pages.

    python benchmarks/large_round.py DIRECTORY… [--pages 20000] [--hosts 20] [--workers 2] [--json]

Serves `--pages` distinct pages: the HTML files below the directories whose sizes are within `--bytes`, in one word of
ten of whose text the benchmark puts a word of another page, so that no two are near duplicates and the vocabulary is
that of real pages. Links stay as they are. The hosts are addresses on loopback, in a process of their own. All pages
are seeds of one round. Shown are pages a second, the CPU seconds of the crawl (not of the server), and the largest
memory of all processes of the crawl together by kind of step: the sum of their proportional set sizes, read when their
resident sizes, looked at every 50 ms, come near the largest so far. Linux only.
"""

import argparse
import asyncio
import functools
import hashlib
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_TICK = 0.05  # seconds
_NEAR = 0.97  # of the largest resident size; beyond it, the proportional one is read, which takes longer
_PAGE_SIZE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_WORD = re.compile(rb"(?i)<(script|style)\b.*?</\1\s*>|<[^>]*>|&\w*;|[a-z]{4,}", re.DOTALL)


class Source(NamedTuple):
    """An HTML file: its path below the directory of its site, cut into what changes from page to page, and the rest."""

    path: str
    parts: list[bytes]
    words: list[int]  # numbers of the parts that are words of text


def source(path: str, body: bytes) -> Source:
    """The parts of a page.

    >>> source("a.html", b"<p>Some text<p>")
    Source(path='a.html', parts=[b'<p>', b'Some', b' ', b'text', b'<p>'], words=[1, 3])
    """
    parts, words, end = [], [], 0
    for found in _WORD.finditer(body):
        if found.start() > end:
            parts.append(body[end : found.start()])
        if found[0][:1] not in b"<&":
            words.append(len(parts))
        parts.append(found[0])
        end = found.end()
    return Source(path, [*parts, body[end:]] if end < len(body) else parts, words)


def sources(folders: Sequence[Path], sizes: tuple[int, int], most: int) -> list[Source]:
    """At most so many HTML files, by a hash of their paths."""
    found = {}
    for number, folder in enumerate(folders):
        for path in folder.rglob("*.html"):
            if sizes[0] <= path.stat().st_size <= sizes[1]:
                found[f"{number}/{path.relative_to(folder).as_posix()}"] = path
    chosen = sorted(found, key=lambda name: hashlib.blake2b(os.fsencode(name)).digest())[:most]
    return [source(name, found[name].read_bytes()) for name in chosen if name.isascii() and " " not in name]


def page(of: Source, host: int, vocabulary: Sequence[bytes]) -> bytes:
    """The page of a host: a tenth of its words replaced."""
    chance = random.Random(f"{host} {of.path}")
    parts = of.parts.copy()
    for number in chance.sample(of.words, len(of.words) // 10):
        parts[number] = chance.choice(vocabulary)
    return b"".join(parts)


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: int, known: dict[str, Source], words: list[bytes]
) -> None:
    """Serve the requests of a connection to a host."""
    try:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(None, 2)[1].decode()
            found = known.get(path[1:])
            body = page(found, host, words) if found else b""
            status, media_type = (b"200 OK", b"text/html") if found else (b"404 Not Found", b"text/plain")
            head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % (status, media_type, len(body)) + body)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def serve(pipe: Connection, arguments: argparse.Namespace) -> None:
    """Send the URLs and their mean size; serve until the pipe sends something."""
    each = -(-arguments.pages // arguments.hosts)
    found = sources(arguments.directories, tuple(arguments.bytes), each)
    if len(found) < each:
        sys.exit(f"{len(found)} files of {arguments.bytes} bytes, {each} are needed: name more directories")
    words = [of.parts[number] for of in found for number in of.words[::50]]
    known, servers = {of.path: of for of in found}, []
    for host in range(arguments.hosts):
        handler = functools.partial(answer, host=host, known=known, words=words)
        servers.append(await asyncio.start_server(handler, f"127.8.{host // 200}.{host % 200 + 1}", 0))
    names = ["{}:{}".format(*server.sockets[0].getsockname()) for server in servers]
    urls = [f"http://{name}/{path}" for path in known for name in names][: arguments.pages]
    pipe.send((urls, sum(sum(map(len, of.parts)) for of in found) / len(found)))
    await asyncio.to_thread(pipe.recv)


def family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def resident(pid: int) -> int:
    """Bytes of a process in memory, without pages of files."""
    _, all_, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(all_) - int(shared)) * _PAGE_SIZE


def proportional(pid: int) -> int:
    """Bytes of a process in memory; what several have is divided among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def cpu(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


class Step(NamedTuple):
    """What a step of a crawl took."""

    seconds: float
    cpu_s: float
    peak: int  # bytes, of all processes
    processes: list[int]  # bytes of each at the peak


def watch(process: "subprocess.Popen[bytes]", manifests: Path, timeline: Path | None) -> dict[str, Step]:
    """What the steps of a crawl took, by name; writes memory by time as JSON lines."""
    steps: dict[str, Step] = {}
    started = last = time.monotonic()
    before, highest, peak, at_peak = 0.0, 0, 0, list[int]()
    lines, spent = [], 0.0
    while True:
        ended = process.poll() is not None
        try:
            alive = list(family(process.pid)) if not ended else []
            sizes = [resident(pid) for pid in alive]
            spent = sum(map(cpu, alive)) if alive else spent
            if sum(sizes) > _NEAR * highest:
                highest = max(highest, sum(sizes))
                parts = [proportional(pid) for pid in alive]
                if sum(parts) > peak:
                    peak, at_peak = sum(parts), parts
            lines.append(json.dumps([round(time.monotonic() - started, 2), *(size >> 20 for size in sizes)]))
        except (OSError, StopIteration):
            pass  # a process ended in between
        done = sorted(path.stem for path in manifests.glob("*.json"))
        if names := [name for name in done if name not in steps]:
            now = time.monotonic()
            steps |= dict.fromkeys(names, Step(now - last, spent - before, peak, at_peak))
            last, before, highest, peak, at_peak = now, spent, 0, 0, []
        if ended:
            break
        time.sleep(_TICK)
    if timeline:
        timeline.write_text("\n".join(lines))
    return steps


def measure(arguments: argparse.Namespace, urls: Sequence[str], size: float) -> dict[str, float]:
    """Crawl the URLs; prints what the steps of each kind took."""
    with TemporaryDirectory(dir=arguments.dir) as folder:
        seeds, root = Path(folder, "seeds.txt"), Path(folder, "crawl")
        seeds.write_text("\n".join(urls))
        command = [sys.executable, "-m", "beamtrawl", "crawl", str(root), "--seeds", str(seeds)]
        command += ["--rounds", "1", "--delay", "0", "--allow-address", "127.0.0.0/8"]
        command += ["--max-pages-per-host", str(len(urls))]
        command += ["--workers", str(arguments.workers)] if arguments.workers else []
        output = subprocess.DEVNULL if arguments.json else None
        process = subprocess.Popen(command, stdout=output, stderr=output)
        steps = watch(process, root / "manifests", arguments.timeline)
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        manifests = {path.stem: json.loads(path.read_text()) for path in (root / "manifests").glob("*.json")}
    pages = sum(manifest["counters"].get("documents_rows", 0) for manifest in manifests.values())
    result = {"pages": pages, "page_kb": size / 1000, "workers": arguments.workers or os.cpu_count() or 1}
    for kind in ("fetch", "update", "compact", "rank"):
        if not (some := [step for name, step in steps.items() if manifests[name]["step"] == kind]):
            continue
        largest = max(some, key=lambda step: step.peak)
        seconds, cpu_s = (sum(getattr(step, name) for step in some) for name in ("seconds", "cpu_s"))
        result |= {f"{kind}_s": seconds, f"{kind}_cpu_s": cpu_s, f"{kind}_peak_mb": largest.peak / 1e6}
        if not arguments.json:
            parts = " + ".join(f"{part / 1e6:.0f}" for part in largest.processes)
            print(f"{kind}: {seconds:.1f} s, {cpu_s:.1f} CPU s, {largest.peak / 1e6:.0f} MB ({parts})")
    seconds, cpu_s = (sum(getattr(step, name) for step in steps.values()) for name in ("seconds", "cpu_s"))
    result |= {"cpu_ms_per_page": 1000 * cpu_s / pages, "pages_per_s": pages / seconds}
    return result | {"peak_mb": max(step.peak for step in steps.values()) / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIRECTORY")
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--bytes", type=int, nargs=2, default=[30_000, 90_000], help="of the files (30000 90000)")
    parser.add_argument("--dir", help="for the crawl; deleted at the end")
    parser.add_argument(
        "--timeline", type=Path, metavar="FILE", help="write seconds and MB of each process (JSON lines)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON")
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=lambda: asyncio.run(serve(theirs, arguments)), daemon=True)
    server.start()
    theirs.close()
    urls, size = ours.recv()
    result = measure(arguments, urls, size)
    print(json.dumps(result) if arguments.json else f"{result['pages']} pages of {size / 1000:.0f} kB: {result}")
    server.terminate()


if __name__ == "__main__":
    main()
