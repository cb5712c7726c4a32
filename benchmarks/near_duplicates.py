"""How many near duplicates are found, how many of those found are none, and what it costs.

    python benchmarks/near_duplicates.py DIRECTORY...

Takes up to 1,500 pages of HTML from each directory (as benchmarks/duplicates.py). Recall: 2,000 of them, each with 1, 3
and 5 % of its words replaced by others, against their originals. Precision: of the pairs found among all of the real
pages, the share whose exact similarity is at least the threshold. Cost: signing a page, and judging 10,000 and 100,000
made-up documents, one in ten of them a near duplicate.
"""

import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.duplicates import minhash
from beamtrawl.transforms.duplicates.clusters import DOCUMENT, decide, entries, find_pairs
from beamtrawl.transforms.settings import Documents
from benchmarks.duplicates import parsed, read

SIMILARITY = Documents().similarity


def document(number: int, signature: bytes | None) -> dict[str, Any]:
    row = {"url_key": number.to_bytes(16, "big"), "url": f"http://a.test/{number:08}", "depth": 1, "round": 1}
    return row | {"signature": signature, "stays": None, "shard": 0}


def near(rows: list[dict[str, Any]]) -> dict[int, int]:
    """{near duplicate: its representative}."""
    pairs = find_pairs(entries(pa.Table.from_pylist(rows, schema=DOCUMENT)), 1, SIMILARITY)
    verdicts = decide(pairs.to_pylist(), {}, set(), 1, SIMILARITY)
    number = int.from_bytes
    return {number(row["url_key"], "big"): number(row["near_duplicate_of"], "big") for row in verdicts}


def edited(text: str, share: float, chance: random.Random) -> str:
    """The text with that share of its words replaced."""
    words = text.split(" ")
    return " ".join(f"edited{chance.randrange(10**6)}" if chance.random() < share else word for word in words)


def similarity(one: str, other: str) -> float:
    """The exact share of pairs of words that two texts have in common."""
    sets = []
    for text in (one, other):
        words = minhash._words(text)
        sets.append(set(zip(words[:-1].tolist(), words[1:].tolist(), strict=True)))
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def recall_and_precision(directories: list[str]) -> None:
    pages = list({page.digest: (page.title, page.text) for page in map(parsed, read(directories))}.values())
    started = time.process_time()
    signed = [(page, minhash.signature(*page)) for page in pages]
    milliseconds = (time.process_time() - started) * 1000 / len(pages)
    signed = [(page, signature) for page, signature in signed if signature]
    print(f"{len(pages):,} distinct pages, {len(signed):,} long enough; signing: {milliseconds:.3f} ms each")
    chance = random.Random(3)
    chosen = chance.sample(signed, min(2_000, len(signed)))
    for share in (0.01, 0.03, 0.05):
        versions = [minhash.signature(title, edited(text, share, chance)) for (title, text), _ in chosen]
        found = sum(
            bool(near([document(1, original), document(2, version)]))
            for (_, original), version in zip(chosen, versions, strict=True)
        )
        print(f"{share:.0%} of the words edited: {found / len(chosen):.2%} found")
    found_near = near([document(number, signature) for number, (_, signature) in enumerate(signed)])
    exact = np.array([similarity(signed[a][0][1], signed[b][0][1]) for a, b in found_near.items()])
    print(f"{len(found_near):,} of the real pages are near duplicates ({len(found_near) / len(signed):.1%})")
    for least in (SIMILARITY, SIMILARITY - 0.02, SIMILARITY - 0.05):
        print(f"  with an exact similarity of at least {least:.2f}: {(exact >= least).mean():.2%}")


def cost(count: int) -> None:
    chance = random.Random(4)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        if number % 10 == 9:
            old = bytearray(rows[chance.randrange(number)]["signature"])
            for _ in range(10):
                old[chance.randrange(minhash.SLOTS)] ^= 1
            rows.append(document(number, bytes(old)))
        else:
            rows.append(document(number, chance.randbytes(minhash.SLOTS)))
    started = time.process_time()
    found = near(rows)
    seconds = time.process_time() - started
    print(
        f"{count:,} documents: {seconds:.1f} s CPU, {seconds / count * 1e6:.0f} µs each; {len(found):,} near duplicates"
    )


if __name__ == "__main__":
    recall_and_precision(sys.argv[1:])
    cost(10_000)
    cost(100_000)
