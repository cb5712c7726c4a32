"""URLs that nobody knew, by columns: the same rows as `url_states.advance` makes of them."""

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import CANDIDATES, FACTS
from beamtrawl.transforms.frontier.link_targets import discovered_tables, separate
from beamtrawl.transforms.frontier.url_states import advance
from beamtrawl.transforms.settings import Limits
from beamtrawl.transforms.tables.schemas import FRONTIER, URLS
from beamtrawl.transforms.tables.sitemap_terms import EXTERNAL, REQUISITE, SITEMAP, terms
from tests.frontier.test_url_states import due, found, known, visited

NO_ROWS = [FACTS.empty_table(), URLS.empty_table(), FRONTIER.empty_table()]


def separated(candidates, facts=(), earlier=(), frontier=(), judged_hosts=()):
    """The URLs of the new candidates, and those of the others."""
    rows = ((candidates, CANDIDATES), (facts, FACTS), (earlier, URLS), (frontier, FRONTIER))
    first, *others = (pa.Table.from_pylist(list(some), schema=schema) for some, schema in rows)
    new, rest = separate(first, others, judged_hosts)
    return new["url"].to_pylist(), rest["url"].to_pylist()


def test_a_new_url_is_found_once_and_nothing_else_says_something_of_it():
    candidates = [found(path) for path in ("/visited", "/known", "/waits", "/twice", "/new", "/twice", "/stands-in")]
    candidates.append(found("http://b.test/") | {"host": "b.test"})
    earlier = [known("/known"), known("/other", stand_ins=["/stands-in"])]
    facts, frontier = [visited("/visited")], [due("/waits")]
    new, others = separated(candidates, facts, earlier, frontier, {"b.test"})
    assert new == ["/new"]
    assert others == ["/visited", "/known", "/waits", "/twice", "/twice", "/stands-in", "http://b.test/"]
    assert separated(candidates) == (
        ["/visited", "/known", "/waits", "/new", "/stands-in", "http://b.test/"],
        ["/twice", "/twice"],
    )
    assert separated([]) == ([], [])


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "path": st.integers(0, 5).map(lambda number: f"/{number}"),
                "depth": st.integers(0, 3),
                "redirects": st.integers(0, 3),
                "score": st.sampled_from([0.0, 0.5]),
                "kind": st.sampled_from([None, SITEMAP, REQUISITE, EXTERNAL]),
                "foreign": st.sampled_from([None, False, True]),
                "links_without_news": st.sampled_from([None, False, True]),
                "referrer": st.sampled_from(["http://a.test/x", "http://b.test/y"]),
                "sitemap": st.sampled_from([None, terms(0, 9, ["a.test"])]),
            }
        ),
        max_size=8,
    )
)
def test_the_rows_are_those_that_are_made_one_by_one(drawn):
    rows = [found(one["path"], one["depth"]) | {k: v for k, v in one.items() if k != "path"} for one in drawn]
    candidates = pa.Table.from_pylist(rows, schema=CANDIDATES)
    new, others = separate(candidates, NO_ROWS, ())
    of_columns = discovered_tables(new, 7)
    of_rows = advance(others.to_pylist(), [], [], [], round_=7, limits=Limits())
    whole = advance(candidates.to_pylist(), [], [], [], round_=7, limits=Limits())
    for table, some, expected in zip(of_columns, of_rows, whole, strict=True):
        both = pa.concat_tables([table, pa.Table.from_pylist(some, schema=table.schema)])
        assert both.sort_by("url_key").equals(pa.Table.from_pylist(expected, schema=table.schema))
        assert table.num_rows == len({row["url_key"] for row in rows if sum(r["url"] == row["url"] for r in rows) == 1})
