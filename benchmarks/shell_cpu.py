"""What the acting shell costs: CPU time per page against a plain `requests.Session.get` of the same pages.

    python benchmarks/shell_cpu.py --runs 5

One process serves hosts on loopback; each way of asking has a fresh process of its own in each run, and they take
turns. In it, 16 threads ask for all pages of a host in turn, connections kept alive, each host by a client of its own.
Shown is the process' CPU time (user and system, all threads) per page, after a first round over all pages that does
not count: medians, ranges, and the ratio to the plain session.
"""

import argparse
import contextlib
import functools
import gzip
import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.http.address_guard import connect
from beamtrawl.transforms.http.client import HostClient, allowed_networks
from beamtrawl.transforms.http.connect import Dialer, Origin
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.http.requests_transport import ThroughRequests
from beamtrawl.transforms.http.response import Response
from beamtrawl.transforms.http.transport import Direct, Method
from beamtrawl.transforms.settings import Fetch, Robot
from beamtrawl.transforms.urls.canonical import origin
from tests.support.web import Answer, Web

HOSTS, PAGES, ROUNDS, THREADS = 16, 20, 10, 16
HEADERS = Identity.of(Robot("Bench", "me@example.org", "https://example.org/bot")).headers("http://a.test/")
TYPICAL = (
    ("Server", "nginx/1.22.1"),
    ("Date", "Sun, 01 Mar 2026 12:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT"),
    ("ETag", '"65e1c2f0-8f3b"'),
    ("Cache-Control", "max-age=600"),
    ("Vary", "Accept-Encoding"),
    ("X-Content-Type-Options", "nosniff"),
)


class Pooled:
    """urllib3's connection pool: what requests has below it."""

    def __init__(self, dialer: Dialer, max_header_bytes: int) -> None:
        self._dialer = dialer
        self._pools: dict[str, HTTPConnectionPool] = {}
        self._connection = dialled(dialer, max_header_bytes)

    def ask(self, method: Method, url: str, headers: Mapping[str, str]) -> "Raw":
        if (pool := self._pools.get(origin(url))) is None:
            pool = self._pools[origin(url)] = HTTPConnectionPool(Origin.of(url).host, Origin.of(url).port)
            pool.ConnectionCls = self._connection
        target, fields = self._dialer.request(url, headers)
        how: dict[str, Any] = {"redirect": False, "retries": False, "preload_content": False, "decode_content": False}
        return Raw(pool.urlopen(method, target, headers=fields, **how))

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


class Connected:
    """urllib3's connection, without a pool."""

    def __init__(self, dialer: Dialer, max_header_bytes: int) -> None:
        self._dialer = dialer
        self._connections: dict[str, Any] = {}
        self._connection = dialled(dialer, max_header_bytes)

    def ask(self, method: Method, url: str, headers: Mapping[str, str]) -> "Raw":
        if (connection := self._connections.get(origin(url))) is None:
            connection = self._connections[origin(url)] = self._connection(Origin.of(url).host, Origin.of(url).port)
        target, fields = self._dialer.request(url, headers)
        connection.request(method, target, headers=fields, preload_content=False, decode_content=False)
        return Raw(connection.getresponse())

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def dialled(dialer: Dialer, max_header_bytes: int) -> Any:
    """A class of urllib3's connections to http origins, with our sockets."""

    class Dialled(HTTPConnection):
        response_class: Any = functools.partial(Response, limit=max_header_bytes)

        def connect(self) -> None:
            self.sock = dialer.dial(Origin("http", self.host, self.port))

    return Dialled


class Raw:
    """An answer of urllib3's."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.status = raw.status
        self.fields = list(raw.headers.iteritems())
        self.close = raw.close

    def read1(self, n: int) -> bytes:
        return self._raw.read1(n, decode_content=False)


def plain() -> Callable[[str], bytes]:
    session = requests.Session()
    return lambda url: session.get(url, headers=HEADERS).content


def shell(transport: Any) -> Callable[[str], bytes]:
    fetch = Fetch(allow_addresses=["127.0.0.0/8"])
    client = HostClient(fetch, functools.partial(connect, allowed=allowed_networks(fetch)), transport)
    return lambda url: client.get(url, HEADERS).body


WAYS: dict[str, Callable[[], Callable[[str], bytes]]] = {
    "requests.Session.get": plain,
    "shell, requests' adapter": functools.partial(shell, ThroughRequests),
    "shell, urllib3's pool": functools.partial(shell, Pooled),
    "shell, urllib3's connection": functools.partial(shell, Connected),
    "shell, http.client": functools.partial(shell, Direct),
}


def serve() -> None:
    """Serve until the input ends; the URLs of all pages, by host, are the one line of output."""
    chance = random.Random(1)
    words = [f"{chance.getrandbits(28):x}" for _ in range(2000)]
    sites: dict[str, dict[str, Any]] = {f"host{number}.test": {} for number in range(HOSTS)}
    for pages, number in itertools.product(sites.values(), range(PAGES)):
        body = " ".join(chance.choices(words, k=chance.randint(2500, 6200))).encode()  # 20 to 50 kB
        zipped = number % 2 == 1
        headers = (*TYPICAL, ("Content-Encoding", "gzip")) if zipped else TYPICAL
        pages[f"/{number}.html"] = Answer(body=gzip.compress(body) if zipped else body, headers=headers)
    with Web(sites) as web:
        print(json.dumps([[web.url(site, path) for path in pages] for site, pages in sites.items()]), flush=True)
        sys.stdin.read()


def ask(way: str) -> None:
    """CPU milliseconds per page, and the bytes of all pages: one line."""
    hosts = [(WAYS[way](), urls) for urls in json.loads(sys.stdin.readline())]

    def turn(rounds: int, host: tuple[Callable[[str], bytes], list[str]]) -> int:
        get, urls = host
        return sum(len(get(url)) for _ in range(rounds) for url in urls)

    with ThreadPoolExecutor(THREADS) as threads:
        size = sum(threads.map(functools.partial(turn, 1), hosts))
        started = time.process_time()
        for _ in threads.map(functools.partial(turn, ROUNDS), hosts):
            pass
        seconds = time.process_time() - started
    print(1000 * seconds / (HOSTS * PAGES * ROUNDS), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
    elif arguments.ask:
        ask(arguments.ask)
    else:
        compare(arguments.runs)


def compare(runs: int) -> None:
    this = [sys.executable, __file__]
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    sizes = set()
    with subprocess.Popen([*this, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        with contextlib.closing(server.stdin):
            urls = server.stdout.readline()
            for _, way in itertools.product(range(runs), WAYS):
                answer = subprocess.run(
                    [*this, "--ask", way], input=urls, text=True, check=True, stdout=subprocess.PIPE
                )
                milliseconds, size = answer.stdout.split()
                spent[way].append(float(milliseconds))
                sizes.add(size)
    assert len(sizes) == 1, "not all have read the same"
    plainly = statistics.median(spent["requests.Session.get"])
    for way, times in spent.items():
        middle = statistics.median(times)
        print(f"{way:30} {middle:.3f} ms ({min(times):.3f} to {max(times):.3f})  {middle / plainly:.2f}")


if __name__ == "__main__":
    main()
