"""The pages of a shard in parts: together, they are the pages of all batches, marked."""

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import PAGES, STALE
from beamtrawl.transforms.documents.finish_pages import FinishFn
from beamtrawl.transforms.documents.mark_pages import LEAST_BYTES, MarkFn, content_bytes, pages_of, texts_of
from beamtrawl.transforms.duplicates.exact import DUPLICATES
from beamtrawl.transforms.tables.batches import read_ipc, to_ipc
from beamtrawl.transforms.urls.canonical import host
from tests.documents.test_finish_pages import link, page, table

URLS = [f"http://{name}.test/{number}" for name in ("b", "a.z") for number in range(4)]
IN_ORDER = sorted(URLS, key=lambda url: (".".join(reversed(host(url).split("."))), url))


def some_page(url, text, links):
    found = page(url, [link(f"http://c.test/{number}") for number in range(links)], text=text)
    size = len((text or "").encode()) + 250 * links
    return found | {"host": host(url), "headings": None if text is None else [text, "a heading"], "content_bytes": size}


PAGE = st.builds(some_page, st.sampled_from(URLS), st.none() | st.text("né ", max_size=40), st.integers(0, 3))
BATCHES = st.lists(PAGE, unique_by=lambda one: one["url"]).flatmap(
    lambda pages: st.lists(st.integers(0, 2), min_size=len(pages), max_size=len(pages)).map(
        lambda numbers: [[one for one, at in zip(pages, numbers, strict=True) if at == number] for number in range(3)]
    )
)


@given(BATCHES, st.sampled_from([1, 4 << 20, 9 << 20]), st.sets(st.sampled_from(URLS)), st.randoms())
def test_parts_are_all_pages_duplicates_without_text_whatever_the_order_of_batches(batches, size, copies, random):
    batches = [[one | {"content_bytes": size} for one in batch] for batch in batches]
    key = page(URLS[0])["url_key"]
    rows = [{"url_key": page(url)["url_key"], "duplicate_of": key, "shard": 7} for url in sorted(copies)]
    sides = dict.fromkeys(("stale", "copies", "near"), ()) | {
        "pages": [to_ipc(table(*batch)) for batch in batches if batch],
        "duplicates": [to_ipc(pa.Table.from_pylist(rows, schema=DUPLICATES))],
    }
    parts = list(MarkFn(2).process((7, sides), []))
    random.shuffle(sides["pages"])
    assert list(MarkFn(2).process((7, sides), [])) == parts

    assert [batch for part in parts for batch in part.batches] == sorted(sides["pages"])
    without_text = {"duplicate_of": key, "text": None, "headings": None}
    pages = {one["url"]: one | (without_text if one["url"] in copies else {}) for batch in batches for one in batch}
    for part in parts:
        expected = [
            pages.pop(url) for url in IN_ORDER if url in {row["url"] for row in read_ipc(part.facts).to_pylist()}
        ]
        found = pages_of(part)
        shown = [name for name in PAGES.names if name not in ("links_without_news", "canonical_ignored")]
        assert found.select(shown).equals(table(*expected).select(shown))
        assert len(part.batches) == 1 or size * len(expected) <= 24 << 20
        assert part.shard == 7
    assert not pages
    total = size * sum(map(len, batches))
    assert len(parts) <= 1 or total >= 2 * LEAST_BYTES, "a part is worth a worker"


def test_a_page_that_its_host_gives_to_any_path_is_no_document_and_removes_its_older_version(tmp_path):
    batch = to_ipc(table(*(page(url) | {"host": host(url), "content_bytes": 9} for url in URLS[:3])))
    key = page(URLS[1])["url_key"]
    stale = pa.Table.from_pylist([{"url_key": key, "is_gone": True}], schema=STALE)
    sides = dict.fromkeys(("duplicates", "copies", "near"), ()) | {"pages": [batch], "stale": [to_ipc(stale)]}
    (part,) = MarkFn().process((7, sides), [])
    assert [row["url"] for row in pages_of(part).to_pylist()] == [URLS[0], URLS[2]]
    outputs = finished(tmp_path, [part])
    removals = [read_ipc(one.value[1]).to_pylist() for one in outputs if one.tag == "removals"]
    assert {"url_key": key, "reason": "gone_by_content"} in [row for rows in removals for row in rows]


def test_small_parts_share_a_segment_and_a_large_one_is_not_held_back(tmp_path):
    parts = []
    for url in URLS[:3]:
        batch = to_ipc(table(page(url, text="t" * 500) | {"host": host(url), "content_bytes": 9}))
        sides = dict.fromkeys(("stale", "duplicates", "copies", "near"), ()) | {"pages": [batch]}
        parts += MarkFn().process((7, sides), [])
    for most, documents in ((1, [1, 1, 1]), (1_500, [1, 2]), (1 << 20, [3])):
        outputs = finished(tmp_path, parts, most)
        files = [getattr(one.value, "value", one.value) for one in outputs if one.tag == "files"]
        assert sorted(file.rows for file in files if file.table == "index") == documents


def finished(root, parts, most=1 << 20):
    """What is made of the parts of one bundle, with so much text in a segment."""
    finish = FinishFn(str(root), 3, False, 1, segment_text=most)
    finish.start_bundle()
    return [*(output for part in parts for output in finish.process(part)), *finish.finish_bundle()]


@given(BATCHES)
def test_texts_and_sizes_are_those_of_the_pages(batches):
    pages = [one for batch in batches for one in batch]
    assert content_bytes(table(*pages)).to_pylist() == [one["content_bytes"] for one in pages]
    assert texts_of([to_ipc(table(*batch)) for batch in batches], [one["url_key"] for one in pages]) == {
        one["url_key"]: one["text"] or "" for one in pages
    }


def test_only_the_columns_asked_for_are_read():
    batch = to_ipc(table(page(URLS[0], [link(URLS[1])]), page(URLS[1])))
    assert read_ipc(batch, ("text", "links")).to_pylist() == [
        {"text": "text", "links": [link(URLS[1])]},
        {"text": "text", "links": []},
    ]
