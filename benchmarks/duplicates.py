"""How many duplicates digests find behind notices, clocks, sessions and advertisements, and how many false ones.

    python benchmarks/duplicates.py DIRECTORY...

Takes up to 1,500 pages of HTML from each directory, and makes two versions of each: before and behind the content
stands what a site adds to it on two visits. A pair with one digest is found; a false duplicate is a page with another
title or text than the first one with its digest.
"""

import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.duplicates.digest import content_digest
from beamtrawl.transforms.parsing.html_page import Page, parse_page

MOST = 1_500
ADVERTS = ("boots", "flights", "pans", "lamps", "sale", "now", "cheap", "warm", "best", "only", "today")


def read(directories: Iterable[str]) -> Iterator[bytes]:
    """The bodies of pages below some directories, the same choice each time."""
    for directory in directories:
        found = {path.resolve() for path in Path(directory).rglob("*.htm*") if path.suffix in (".htm", ".html")}
        paths = sorted(path for path in found if path.is_file())
        yield from (path.read_bytes() for path in random.Random(1).sample(paths, min(MOST, len(paths))))


def noise(chance: random.Random) -> tuple[str, str]:
    """What one visit finds before and behind the content."""
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(10**8))
    session = f"{chance.getrandbits(128):032x}"
    advert = " ".join(chance.choices(ADVERTS, k=6))
    before = (
        f"<aside>{advert}</aside><p>Today is {now:%A, %d %B %Y}</p><p>{now:%H:%M:%S}</p>"
        f"<p>Advertisement: {advert}</p><a href='/login?sid={session}'>Log in</a>"
    )
    behind = (
        f"<p>Page generated on {now:%Y-%m-%d %H:%M:%S} in {chance.random():.3f} seconds</p>"
        f"<p>Last updated: {now:%d %b %Y}</p><p>You are visitor number {chance.randrange(10**6):,}</p>"
        f"<p>Posted {chance.randrange(2, 60)} minutes ago</p><p>Session: {session}</p>"
        f"<p>&copy; {now:%Y} The site</p><a href='/next;jsessionid={session}'>Next</a>"
    )
    return before, behind


def with_noise(body: bytes, chance: random.Random) -> bytes:
    before, behind = noise(chance)
    head, tag, rest = body.partition(b"<body")
    attributes, end, content = rest.partition(b">")
    if not tag or not end:
        return before.encode() + body + behind.encode()
    content, tail_tag, tail = content.rpartition(b"</body>")
    return head + tag + attributes + end + before.encode() + (content or tail) + behind.encode() + (tail_tag and tail)


def parsed(body: bytes) -> Page:
    page = parse_page(body, "http://a.test/", "text/html", [], "x")
    assert page is not None
    return page


def main() -> None:
    chance = random.Random(2)
    by_digest: defaultdict[bytes, set[tuple[str, str]]] = defaultdict(set)
    contents, pages, pairs, found, milliseconds = set(), 0, 0, 0, 0.0
    for body in read(sys.argv[1:]):
        page = parsed(body)
        pages += 1
        started = time.process_time()
        digest = content_digest(page.title, page.text, body)
        milliseconds += (time.process_time() - started) * 1000
        if len(page.text) >= 64:
            by_digest[digest].add((page.title, page.text))
            contents.add((page.title, page.text))
            pairs += 1
            found += parsed(with_noise(body, chance)).digest == parsed(with_noise(body, chance)).digest
    false = sum(len(same) - 1 for same in by_digest.values())
    print(f"{pages:,} pages, {pairs:,} with text, {len(contents):,} distinct")
    print(f"digests: {milliseconds / pages:.3f} ms each")
    print(f"found: {found / pairs:.2%} of the pairs; false: {false}")


if __name__ == "__main__":
    main()
