"""Words around what a host calls a page, such as "previous" in "previous Installation", as votes of their own.

A host that calls a page "Installation" and "previous Installation" has said "previous" of it, too. Words that it says
of many pages describe none of them, in any language, as with whole anchors.
"""

import itertools

import numpy as np
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
    for more, is_before in itertools.product(range(1, MAX_AROUND + 1), (True, False)):
        pieces = pc.split_pattern(texts, " ", max_splits=more, reverse=not is_before)
        rows = np.flatnonzero(pc.equal(pc.list_value_length(pieces), more + 1).to_numpy(zero_copy_only=False))
        rest = pc.list_element(pieces.take(pa.array(rows)), more if is_before else 0)
        place = pc.index_in(rest, value_set=texts)  # of few: most words around a text leave no other
        found, rows = place.drop_null(), rows[place.is_valid().to_numpy(zero_copy_only=False)]
        pattern = rf"\S+(?: \S+){{{more - 1}}}"
        pattern = rf"^(?P<around>{pattern} ).+$" if is_before else rf"^.+(?P<around> {pattern})$"
        around = pc.extract_regex(texts.take(pa.array(rows)), pattern).field("around").dictionary_encode()
        is_around = around.is_valid()
        codes = pc.add(around.indices.cast(pa.int64()), len(folded) + count)
        columns = [numbers.take(pa.array(rows)), codes, numbers.take(found)]
        parts.append(pa.table(columns, ["folded", "around", "rest"]).filter(is_around))
        words.append(around.dictionary)
        count += len(around.dictionary)
    return pa.concat_tables(parts), pa.concat_arrays(words)
