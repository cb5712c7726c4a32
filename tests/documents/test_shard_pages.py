"""The pages of a shard part by part: together, they are the pages of all batches, in order."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.batches.batch_schemas import PAGES
from beamtrawl.transforms.documents.finish_pages import mark_duplicates
from beamtrawl.transforms.documents.shard_pages import CONTENT, PART_BYTES, ShardPages
from beamtrawl.transforms.duplicates.exact import DUPLICATES
from beamtrawl.transforms.tables.batches import read_ipc, to_ipc
from beamtrawl.transforms.urls import host
from tests.documents.test_finish_pages import link, page, table

URLS = [f"http://{name}.test/{number}" for name in ("b", "a.z") for number in range(4)]
IN_ORDER = sorted(URLS, key=lambda url: (".".join(reversed(host(url).split("."))), url))


def some_page(url, text, links):
    found = page(url, [link(f"http://c.test/{number}") for number in range(links)], text=text)
    return found | {"host": host(url), "headings": None if text is None else [text, "a heading"]}


PAGE = st.builds(some_page, st.sampled_from(URLS), st.none() | st.text("né ", max_size=40), st.integers(0, 3))
BATCHES = st.lists(PAGE, unique_by=lambda one: one["url"]).flatmap(
    lambda pages: st.lists(st.integers(0, 2), min_size=len(pages), max_size=len(pages)).map(
        lambda numbers: [[one for one, at in zip(pages, numbers, strict=True) if at == number] for number in range(3)]
    )
)


@given(BATCHES, st.sampled_from([1, 300, 1_000, PART_BYTES]), st.sets(st.sampled_from(URLS)))
def test_parts_are_all_pages_in_order_duplicates_without_text(batches, most, copies):
    pages = [one for batch in batches for one in batch]
    read = ShardPages([to_ipc(table(*batch)) for batch in batches], most)
    assert not {*CONTENT} & {*read.facts.column_names}

    keys = {url: page(url)["url_key"] for url in URLS}
    duplicates = [{"url_key": keys[url], "duplicate_of": keys[URLS[0]], "shard": 0} for url in sorted(copies)]
    facts = mark_duplicates(read.facts, pa.Table.from_pylist(duplicates, schema=DUPLICATES))
    parts = list(read.parts(facts))

    expected = sorted(pages, key=lambda one: IN_ORDER.index(one["url"]))
    without_text = {"duplicate_of": keys[URLS[0]], "text": None, "headings": None}
    expected = [one | (without_text if one["url"] in copies else {}) for one in expected]
    assert pa.concat_tables([PAGES.empty_table(), *parts]).equals(table(*expected))
    for part in parts:
        content = sum(len((row["text"] or "").encode()) + 250 * len(row["links"]) for row in part.to_pylist())
        assert part.num_rows == 1 or content <= most
    assert len(parts) <= 1 or most < PART_BYTES

    chosen = [one for one in pages if one["url"] not in copies]
    assert read.texts([one["url_key"] for one in chosen]) == {one["url_key"]: one["text"] or "" for one in chosen}


def test_only_the_columns_asked_for_are_read():
    batch = to_ipc(table(page(URLS[0], [link(URLS[1])]), page(URLS[1])))
    assert read_ipc(batch, ("text", "links")).to_pylist() == [
        {"text": "text", "links": [link(URLS[1])]},
        {"text": "text", "links": []},
    ]
