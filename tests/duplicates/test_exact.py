"""Content seen before: who keeps it, and who is a duplicate of whom."""

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import CONTENTS, FACTS
from beamtrawl.transforms.duplicates.exact import (
    DUPLICATES,
    PAIRS,
    RELEASED,
    JudgeFn,
    judge_contents,
    released_contents,
)
from beamtrawl.transforms.tables.batches import from_ipc, to_ipc
from beamtrawl.transforms.tables.schemas import DIGESTS
from beamtrawl.transforms.tables.table_files import read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.outputs import outputs
from tests.support.tables import each_row

TEXT, OTHER = b"t" * 16, b"o" * 16


def host(url):
    return url.split("/")[2] if "//" in url else "one.test"


def content(url, depth=1, digest=TEXT, shard=0, yields=False):
    row = {"digest": digest, "url_key": url_key(url), "url": url, "host": host(url), "depth": depth, "shard": shard}
    return row | {"yields": yields}


def earlier(url, digest=TEXT):
    row = {"digest": digest, "url_key": url_key(url), "url": url, "depth": 9, "round": 1}
    return row | {"site": host(url).removeprefix("www.")}


NOBODY = {"digest": TEXT, "url_key": None, "url": None, "depth": None, "round": 2, "site": "one.test"}


def judged(contents, known=()):
    """({duplicate: of what}, the URLs of new contents)."""
    names = {url_key(row["url"]): row["url"] for row in [*contents, *known]}
    duplicates, _, new = judge_contents(contents, list(known))
    return {names[d["url_key"]]: names[d["duplicate_of"]] for d in duplicates}, {c["url"] for c in new}


# contents of the round, earlier digests, {duplicate: of what}, who has a new content
CASES = {
    "nothing": ([], [], {}, set()),
    "two contents": ([content("/a"), content("/b", digest=OTHER)], [], {}, {"/a", "/b"}),
    "the smaller depth": ([content("/a", depth=2), content("/b/long", depth=1)], [], {"/a": "/b/long"}, {"/b/long"}),
    "the shorter URL": ([content("/aaa"), content("/b")], [], {"/aaa": "/b"}, {"/b"}),
    "the alphabet": ([content("/b"), content("/a")], [], {"/b": "/a"}, {"/a"}),
    "the earlier round": ([content("/a", depth=0)], [earlier("/long/and/deep")], {"/a": "/long/and/deep"}, set()),
    "three": ([content("/c"), content("/b"), content("/a")], [], {"/b": "/a", "/c": "/a"}, {"/a"}),
    "one that its own site links": (
        [content("/a", depth=0) | {"foreign": True}, content("/b/long", depth=3)],
        [],
        {"/a": "/b/long"},
        {"/b/long"},
    ),
    "one that its own site links, later": (
        [content("/b"), content("/c")],
        [earlier("/a") | {"foreign": True}],
        {"/c": "/b"},
        {"/b"},
    ),
    "one that only others link, later": ([content("/b") | {"foreign": True}], [earlier("/a")], {"/b": "/a"}, set()),
    "two that only others link": (
        [content("/a") | {"foreign": True}, content("/b") | {"foreign": True}],
        [],
        {"/b": "/a"},
        {"/a"},
    ),
    "one that names another as canonical": (
        [content("/a", depth=0, yields=True), content("/b")],
        [],
        {"/a": "/b"},
        {"/b"},
    ),
    "all name another as canonical": (
        [content("/a", yields=True), content("/b", yields=True)],
        [],
        {"/b": "/a"},
        {"/a"},
    ),
    "a page again": ([content("/a")], [earlier("/a")], {}, set()),
    "a page again, and a copy of it": (
        [content("/b"), content("/longer")],
        [earlier("/longer")],
        {"/b": "/longer"},
        set(),
    ),
    "digests of other pages": ([content("/a")], [earlier("/b", OTHER)], {}, {"/a"}),
}


@each_row(CASES)
def test_the_first_document_keeps_the_content(contents, known, duplicates, new):
    assert judged(contents, known) == (duplicates, new)


A, WWW, B, C = "http://a.test/long/path", "http://www.a.test/x", "http://b.test/", "http://c.test/c"


def naming(url, canonical, **facts):
    return content(url, yields=True, **facts) | {"canonical_key": url_key(canonical)}


# contents of the round, earlier digests, {duplicate: of what}, {copy: the first with the content}
SITES = {
    "a shorter URL of another site": ([content(A), content(B, depth=0)], [], {}, {A: B}),
    "seen first on another site": ([content(A)], [earlier(B)], {}, {A: B}),
    "seen first, on three sites": ([content(A), content(C)], [earlier(B)], {}, {A: B, C: B}),
    "with and without www": ([content(A), content(WWW)], [], {A: WWW}, {}),
    "one that names the other as canonical": ([naming(B, A, depth=0), content(A)], [], {B: A}, {}),
    "one that names an earlier one as canonical": ([naming(B, A)], [earlier(A)], {B: A}, {}),
    "each names the other as canonical": ([naming(B, A), naming(A, B)], [], {}, {B: A}),
    "one that names a page with another content": ([naming(B, A), content(A, digest=OTHER)], [], {}, {}),
    "a copy has a copy": ([content(A), content(WWW), content(B)], [], {A: WWW}, {WWW: B}),
}


@each_row(SITES)
def test_no_site_holds_back_a_page_of_another(contents, known, duplicates, copies):
    for order in (contents, contents[::-1]):
        found = judge_contents(order, known)
        names = {url_key(row["url"]): row["url"] for row in [*contents, *known]}
        assert {names[row["url_key"]]: names[row["duplicate_of"]] for row in found.duplicates} == duplicates
        assert {names[row["url_key"]]: names[row["same_content_as"]] for row in found.copies} == copies


def test_each_site_has_a_digest_of_its_own_and_gives_it_back_alone():
    round_1 = judge_contents([content(A), content(B)], [])
    assert {(row["url"], row["site"]) for row in round_1.changed} == {(A, "a.test"), (B, "b.test")}
    known = [row | {"round": 1} for row in round_1.changed]
    round_2 = judge_contents([], known, [left(A)])
    assert [(row["url"], row["site"]) for row in round_2.changed] == [(None, "a.test")]
    known += [row | {"round": 2} for row in round_2.changed]
    assert judge_contents([content(WWW)], known).duplicates == []
    assert judge_contents([content(B + "b")], known).duplicates[0]["duplicate_of"] == url_key(B)


def left(url, digest=TEXT):
    return {"digest": digest, "url_key": url_key(url)}


# contents of the round, earlier digests, which pages have them no longer, {duplicate: of what}, who has a new content
RELEASES = {
    "nobody has it": ([], [earlier("/a")], [left("/a")], {}, {None}),
    "another page has it now": ([content("/b")], [earlier("/a")], [left("/a")], {}, {"/b"}),
    "two others": ([content("/b"), content("/c")], [earlier("/a")], [left("/a")], {"/c": "/b"}, {"/b"}),
    "a duplicate has it no longer": ([content("/c")], [earlier("/a")], [left("/b")], {"/c": "/a"}, set()),
    "another content": ([content("/c")], [earlier("/a")], [left("/a", OTHER)], {"/c": "/a"}, set()),
    "since an earlier round": ([content("/b")], [earlier("/a"), NOBODY], [], {}, {"/b"}),
    "kept by another since": (
        [content("/c")],
        [earlier("/a"), NOBODY, earlier("/b") | {"round": 3}],
        [],
        {"/c": "/b"},
        set(),
    ),
    "once more": ([], [earlier("/a"), NOBODY], [left("/a")], {}, set()),
}


@each_row(RELEASES)
def test_a_content_that_its_keeper_has_no_longer_is_free(contents, known, released, duplicates, new):
    found, _, kept = judge_contents(contents, known[::-1], released)
    names = {url_key(row["url"]): row["url"] for row in [*contents, *known] if row["url"]}
    assert {names[d["url_key"]]: names[d["duplicate_of"]] for d in found} == duplicates
    assert {row["url"] for row in kept} == new


def test_which_visits_leave_a_content():
    visits = {
        "the same": {"outcome": "fetched", "digest": TEXT, "digest_before": TEXT},
        "another": {"outcome": "fetched", "digest": OTHER, "digest_before": TEXT},
        "first visit": {"outcome": "fetched", "digest": TEXT},
        "gone": {"outcome": "gone", "digest_before": TEXT},
        "never there": {"outcome": "gone"},
        "trouble": {"outcome": "timeout", "digest_before": TEXT},
        "not modified": {"outcome": "not_modified", "digest_before": TEXT},
    }
    facts = pa.Table.from_pylist([{"url": url} | fact for url, fact in visits.items()], schema=FACTS)
    found = released_contents(facts).to_pylist()
    assert [(row["url"], row["is_gone"]) for row in found] == [
        ("another", False),
        ("gone", True),
    ]


CONTENT = st.builds(content, st.text("ab", min_size=1, max_size=3), st.integers(0, 2), st.sampled_from([TEXT, OTHER]))


@given(
    st.lists(CONTENT, unique_by=lambda c: c["url"]),
    st.lists(st.builds(earlier, st.text("abc", max_size=2)), max_size=1),
    st.data(),
)
def test_the_order_of_arrival_does_not_matter(contents, known, data):
    assert judged(data.draw(st.permutations(contents)), known) == judged(contents, known)


@given(st.lists(CONTENT, unique_by=lambda c: c["url"]))
def test_each_content_has_one_keeper_and_every_other_is_its_duplicate(contents):
    duplicates, new = judged(contents)
    assert len(new) == len({c["digest"] for c in contents})
    assert new.isdisjoint(duplicates)
    assert new | duplicates.keys() == {c["url"] for c in contents}
    assert set(duplicates.values()) <= new


def test_a_round_writes_its_new_digests_and_tells_each_shard_its_duplicates(tmp_path):
    contents = [content("/a", shard=1), content("/bb", shard=2), content("/c", digest=OTHER), content("/dd", shard=3)]
    sides = {
        "new": [to_ipc(pa.Table.from_pylist(contents, schema=CONTENTS))],
        "earlier": [to_ipc(pa.Table.from_pylist([earlier("/old", OTHER)], schema=DIGESTS))],
        "released": [to_ipc(RELEASED.empty_table())],
    }
    root = str(tmp_path)
    found = outputs(JudgeFn(root, 5).process((0, sides)))
    duplicates = {number: from_ipc([data], DUPLICATES).to_pylist() for number, data in found["duplicates"]}
    assert {n: [(r["url_key"], r["duplicate_of"]) for r in rows] for n, rows in duplicates.items()} == {
        0: [(url_key("/c"), url_key("/old"))],
        2: [(url_key("/bb"), url_key("/a"))],
        3: [(url_key("/dd"), url_key("/a"))],
    }
    pairs = from_ipc([data for _, data in found["pairs"]], PAIRS).to_pylist()
    assert {(row["url"], row["other_url"], row["digest"]) for row in pairs} == {
        ("/c", "/old", OTHER),
        ("/bb", "/a", TEXT),
        ("/dd", "/a", TEXT),
    }
    assert read_table(root, [file.path for file in found["files"]], DIGESTS).to_pylist() == [
        {"digest": TEXT, "url_key": url_key("/a"), "url": "/a", "depth": 1, "round": 5, "site": "one.test"}
        | {"foreign": None}
    ]
