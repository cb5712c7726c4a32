"""Words around what a host calls a page, such as "previous" in "previous Installation", as votes of their own.

A host that calls a page "Installation" and "previous Installation" has said "previous" of it, too. Words that it says
of many pages describe none of them, in any language, as with whole anchors.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

MAX_AROUND = 3
"""The most words around a name."""

_PAGE = ["host", "target", "is_section"]


def with_words_around(votes: pa.Table, folded: pa.Array) -> tuple[pa.Table, pa.Array]:
    """Votes with a column `around`, and the texts of which `folded` and `around` are numbers.

    `around` stands for the words before or after another anchor of the same host for the same page; the fewest that
    there are, or null. For each there is a vote more, without `anchor`, which has these words as `folded`.
    `votes` has `host`, `folded`, `target`, `fragment`, `is_section`, `is_own` and `anchor`, each row once.
    """
    columns = [*votes.column_names, "around"]
    pages = votes.filter(pc.invert(votes["is_section"]))
    divided, texts = _divided(folded, pages)
    others = pages.select(["host", "target", "folded"]).rename_columns(["host", "target", "rest"])
    found = pages.join(divided, "folded", join_type="inner").join(others, others.column_names, join_type="left semi")
    fewest = found.group_by([*_PAGE, "folded"]).aggregate([("around", "min")])
    fewest = fewest.rename_columns({"around_min": "around"})
    votes = votes.join(fewest, [*_PAGE, "folded"], join_type="left outer").select(columns)
    said = votes.filter(pc.is_valid(votes["around"])).drop_columns(["folded", "anchor"])
    said = said.group_by(said.column_names).aggregate([]).rename_columns({"around": "folded"})
    for name in ("anchor", "around"):
        said = said.append_column(name, pa.nulls(len(said), votes[name].type))
    return pa.concat_tables([votes, said.select(columns)]), pa.concat_arrays([folded, texts])


def without_words_around(votes: pa.Table) -> pa.Table:
    """The votes of `with_words_around` of which words around them are left, without these words and their column.

    Needs all votes that are left for these targets.
    """
    is_anchor, has_around = pc.is_valid(votes["anchor"]), pc.is_valid(votes["around"])
    words = votes.filter(pc.invert(is_anchor)).select(["host", "target", "folded"])
    words = words.rename_columns(["host", "target", "around"])
    left = votes.filter(has_around).join(words, words.column_names, join_type="left semi")
    others = votes.filter(pc.and_not(is_anchor, has_around))
    return pa.concat_tables([others, left.select(votes.column_names)]).drop_columns("around")


def _divided(folded: pa.Array, pages: pa.Table) -> tuple[pa.Table, pa.Array]:
    """`folded`, `around` and `rest` of each way to divide a text into words around another text, fewest words first."""
    numbers = pc.unique(pages["folded"])
    texts = folded.take(numbers)
    parts, words, count = list[pa.Table](), [folded.slice(0, 0)], 0
    for around, rest in _ways(texts):
        place = pc.index_in(rest, value_set=texts)
        is_text = pc.is_valid(place)
        distinct = around.filter(is_text).dictionary_encode()
        codes = pc.add(distinct.indices.cast(pa.int64()), len(folded) + count)
        columns = [numbers.filter(is_text), codes, numbers.take(place.drop_null())]
        parts.append(pa.table(columns, ["folded", "around", "rest"]))
        words.append(distinct.dictionary)
        count += len(distinct.dictionary)
    return pa.concat_tables(parts), pa.concat_arrays(words)


def _ways(texts: pa.Array) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The words around the rest of each text, and that rest; null if there are too few words."""
    for more in range(MAX_AROUND):
        words = rf"\S+(?: \S+){{{more}}}"
        for pattern in (rf"^(?P<around>{words} )(?P<rest>.+)$", rf"^(?P<rest>.+)(?P<around> {words})$"):
            parts = pc.extract_regex(texts, pattern)
            yield parts.field("around"), parts.field("rest")
