"""Who is near whom, and who represents: decided from signatures and bands, in any order of arrival."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import PAGES
from beamtrawl.transforms.duplicates import minhash
from beamtrawl.transforms.duplicates.clusters import (
    DOCUMENT,
    ENTRIES,
    MOST_COMPARED,
    PAIRS,
    VERDICTS,
    decide,
    entries,
    find_pairs,
)
from beamtrawl.transforms.duplicates.near_rows import mark_near_duplicates, near_key, near_rows
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.tables import each_row

NOW, SIMILARITY = 5, 0.75
HOST = "http://a.test"
BASE = random.Random(1).randbytes(minhash.SLOTS)


def like(slots: int, base: bytes = BASE) -> bytes:
    """A signature that has so many slots other than the base, from the end."""
    return base[: len(base) - slots] + bytes(255 - byte for byte in base[len(base) - slots :])


def document(url, signature=BASE, *, depth=1, round_=NOW, stays=None, shard=0):
    row = {"url_key": url_key(url), "url": f"{HOST}{url}", "depth": depth, "round": round_}
    return row | {"signature": signature, "stays": stays, "shard": shard}


def table(*documents):
    return pa.Table.from_pylist(list(documents), schema=DOCUMENT)


def verdicts(*documents, changed=(), duplicates=()):
    """{near duplicate: its representative}, by URL."""
    pairs = find_pairs(entries(table(*documents)), NOW, SIMILARITY)
    names = {row["url_key"]: row["url"].removeprefix(HOST) for row in documents}
    newest = {}
    for row in documents:
        if row["round"] < NOW:
            newest[row["url_key"]] = max(row["round"], newest.get(row["url_key"], 0))
    newest |= dict.fromkeys(map(url_key, changed), NOW)
    found = decide(pairs.to_pylist(), newest, set(map(url_key, duplicates)), NOW, SIMILARITY)
    return {names[row["url_key"]]: names[row["near_duplicate_of"]] for row in found}


A, B, C = document("/a"), document("/bb", like(20)), document("/ccc", like(45))

# documents, what else is known, {near duplicate: its representative}
CASES = {
    "nobody": ((), {}, {}),
    "one": ((A,), {}, {}),
    "two": ((A, B), {}, {"/bb": "/a"}),
    "not alike enough": ((A, C), {}, {}),
    "no chains: near the second, not the first": ((A, B, C), {}, {"/bb": "/a"}),
    "all alike": ((A, B, document("/c", like(10))), {}, {"/bb": "/a", "/c": "/a"}),
    "the smaller depth": ((document("/a", depth=2), B), {}, {"/a": "/bb"}),
    "the earlier round": ((A, document("/long", like(20), round_=2)), {}, {"/a": "/long"}),
    "the earliest": ((A, document("/b", round_=3), document("/long", round_=2)), {}, {"/a": "/long"}),
    "one that has changed since": (
        (A, document("/long", round_=2), document("/long", like(128), round_=3)), {}, {},
    ),
    "one that changes now": ((A, document("/long", round_=2)), {"changed": ["/long"]}, {}),
    "two like one that changes now": (
        (A, B, document("/long", round_=2)), {"changed": ["/long"]}, {"/bb": "/a"},
    ),
    "three like one that changes now, and one is a duplicate": (
        (A, B, document("/c", like(10)), document("/long", round_=2)),
        {"changed": ["/long"], "duplicates": ["/a"]}, {"/bb": "/c"},
    ),
    "two like an exact duplicate": ((A, B, document("/c", like(10))), {"duplicates": ["/a"]}, {"/bb": "/c"}),
    "one that stays is never near another": ((A, document("/b", stays=True)), {}, {"/a": "/b"}),
    "two that stay": ((document("/a", stays=True), document("/b", stays=True)), {}, {}),
    "an exact duplicate represents nobody": ((A, B), {"duplicates": ["/a"]}, {}),
    "an exact duplicate is near nobody": ((A, B), {"duplicates": ["/bb"]}, {}),
    "itself in an earlier round": ((A, document("/a", round_=2)), {}, {}),
    "without a signature": ((A, document("/b", None)), {}, {}),
}  # fmt: skip


@each_row(CASES)
def test_the_first_document_represents(documents, known, near):
    assert verdicts(*documents, **known) == near


DOCUMENTS = st.lists(
    st.builds(
        document,
        st.text("ab/", min_size=1, max_size=3),
        st.sampled_from([like(slots) for slots in (0, 10, 20, 30, 45, 60, 128)]),
        depth=st.integers(0, 1),
        round_=st.sampled_from([3, NOW, NOW]),
        stays=st.sampled_from([None, None, True]),
    ),
    unique_by=lambda row: row["url"],
    max_size=12,
)


@given(DOCUMENTS, st.data())
def test_the_order_of_arrival_and_the_partitions_do_not_matter(documents, data):
    shuffled = data.draw(st.permutations(documents))
    assert verdicts(*shuffled) == verdicts(*documents)
    whole = entries(table(*documents))
    half = np.array([band[0] % 2 for band in whole["band"].to_pylist()], bool)
    parts = [find_pairs(whole.filter(pa.array(mask)), NOW, SIMILARITY) for mask in (half, ~half)]
    newest = {row["url_key"]: row["round"] for row in documents if row["round"] < NOW}
    together = [decide(t.to_pylist(), newest, set(), NOW, SIMILARITY)
                for t in (pa.concat_tables(parts), find_pairs(whole, NOW, SIMILARITY))]  # fmt: skip
    assert sorted(map(str, together[0])) == sorted(map(str, together[1]))


@given(DOCUMENTS)
def test_a_representative_represents_itself_and_is_alike(documents):
    found = verdicts(*documents)
    rows = {row["url"].removeprefix(HOST): row for row in documents}
    assert found.keys().isdisjoint(found.values())
    for near, of in found.items():
        assert rows[near]["round"] == NOW
        assert not rows[near]["stays"]
        alike = sum(a == b for a, b in zip(rows[near]["signature"], rows[of]["signature"], strict=True))
        assert alike >= SIMILARITY * minhash.SLOTS


def test_documents_of_different_owners_are_never_compared():
    urls = ["http://a.test/x", "http://www.a.test/y", "http://b.test/z", "http://a.test/~eve/x", "http://a.test/~bob/x"]
    rows = [document("/") | {"url": url, "url_key": url_key(url)} for url in urls]
    pairs = find_pairs(entries(table(*rows)), NOW, SIMILARITY).to_pylist()
    assert [(pair["url"], pair["like_url"]) for pair in pairs] == [("http://www.a.test/y", "http://a.test/x")]


def test_in_a_crowded_band_the_work_is_bounded():
    """Documents that share a band and little else: each is compared with the first few."""
    crowd = [document(f"/{n:04}", BASE[:5] + random.Random(n).randbytes(123)) for n in range(MOST_COMPARED + 40)]
    again = [document(f"/{n:04}/", crowd[n]["signature"]) for n in (0, MOST_COMPARED + 20)]
    only_first_band = entries(table(*crowd, *again)).slice(0)
    keys = only_first_band["band"].to_pylist()
    first = only_first_band.filter(pa.array([key == keys[0] for key in keys]))
    pairs = find_pairs(first, NOW, SIMILARITY)
    assert [row["url"] for row in pairs.to_pylist()] == [f"{HOST}/0000/"]


def test_bands_of_many_documents_in_many_batches():
    """A batch for each document, and more entries than become rows at a time."""
    numbers = range(150)
    both = [document(f"/{n}{end}", random.Random(n).randbytes(minhash.SLOTS)) for end in ("", "/copy") for n in numbers]
    pairs = find_pairs(pa.concat_tables([entries(table(one)) for one in both]), NOW, SIMILARITY)
    found = sorted((row["like_url"], row["url"]) for row in pairs.to_pylist())
    assert found == sorted((f"{HOST}/{n}", f"{HOST}/{n}/copy") for n in numbers)


def test_no_entries_no_pairs():
    assert entries(DOCUMENT.empty_table()).equals(ENTRIES.empty_table())
    assert find_pairs(ENTRIES.empty_table(), NOW, SIMILARITY).equals(PAIRS.empty_table())


def pages(*rows):
    return pa.Table.from_pylist([{"round": NOW, "is_document": True} | row for row in rows], schema=PAGES)


def test_pages_are_marked_and_rows_of_near_follow():
    """A representative, its near duplicate, an exact one, a short text, one that became short, a redirect."""
    key = {name: url_key(name) for name in "abcdef"}
    found = pages(
        {"url_key": key["a"], "signature": BASE},
        {"url_key": key["b"], "signature": like(9), "stays": None},
        {"url_key": key["c"], "signature": BASE, "duplicate_of": key["a"]},
        {"url_key": key["d"]},
        {"url_key": key["e"], "stays": True},
        {"url_key": key["f"], "is_document": False, "stays": True},
    )
    verdict = {"url_key": key["b"], "near_duplicate_of": key["a"], "shard": 0}
    marked = mark_near_duplicates(found, pa.Table.from_pylist([verdict], schema=VERDICTS))
    assert marked.schema == found.schema
    assert marked["near_duplicate_of"].to_pylist() == [None, key["a"], None, None, None, None]
    cluster = near_key(key["a"])
    assert marked["near_key"].to_pylist() == [cluster, cluster, None, None, None, None]
    assert [(row["url_key"], row["signature"]) for row in near_rows(marked).to_pylist()] == [
        (key["a"], BASE),
        (key["e"], None),
    ]


@pytest.mark.parametrize(("similarity", "pairs"), [(1.0, 1), (1.01, 0)])
def test_documents_as_similar_as_that_are_a_pair(similarity, pairs):
    found = find_pairs(entries(table(document("/a"), document("/b"))), NOW, similarity)
    assert found.num_rows == pairs
