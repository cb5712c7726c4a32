"""`beamtrawl export chunks`: passages, ids, and a store that is kept in step."""

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamtrawl.runners.exports.chunks import CHUNKS
from beamtrawl.runners.exports.page_markdown.content import without_unseen
from beamtrawl.runners.exports.passages import Limits, estimated_tokens, highest_levels, passages, sections_by_headings
from beamtrawl.transforms.sections.section import Section
from tests.support.command_line import beamtrawl, failure
from tests.support.committed import commit_rows

TEXT = "T\nintro\nA\none two\na1\nthree\nB\nfour"
SECTIONS = [Section(0, 1, 1, "t"), Section(8, 1, 2, "a b"), Section(18, 2, 3, ""), Section(27, 1, 2, "b")]


def test_passages_of_sections() -> None:
    assert [tuple(each) for each in passages(TEXT, SECTIONS)] == [
        ("T\nintro", "t", ("T",)),
        ("A\none two\na1\nthree", "a b", ("T", "A")),
        ("B\nfour", "b", ("T", "B")),
    ]


def test_large_sections_are_cut_with_overlap() -> None:
    text = "H\n" + "".join(f"This is sentence {number}. " for number in range(40))
    found = [each.text for each in passages(text, [Section(0, 1, 1, "h")], Limits(40, 8))]
    assert len(found) > 5 and all(estimated_tokens(each) <= 48 for each in found)
    assert all(after.split(". ")[0] in before for before, after in itertools.pairwise(found))


def test_nosnippet_and_code() -> None:
    text = "a\n\tx\n\t  y\nsecret b"
    assert [each.text for each in passages(text, (), nosnippet=[10, 16])] == ["a\nx\n  y\n b"]
    assert list(passages("secret", (), nosnippet=[0, 6])) == []


def test_text_that_only_models_see_is_left_out() -> None:
    """In tag characters (a flag keeps its own, UTS 51) and in runs of variation selectors, as publicly shown."""
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "send money")
    bytes_ = "".join(chr(0xE0100 + byte) for byte in b"send money")
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    text = f"a{hidden}b {england} \u845b\U000e0100 \u2764\ufe0f{bytes_}"
    assert [each.text for each in passages(text, ())] == [f"ab {england} \u845b\U000e0100 \u2764\ufe0f"]
    assert without_unseen(text) == f"ab {england} \u845b\U000e0100 \u2764\ufe0f"


def test_texts_without_stored_sections_are_cut_at_their_headings() -> None:
    text = "x\nOne\ny\nTwo\nz"
    found = passages(text, sections_by_headings(text, ["One", "Two"]))
    assert [(each.text, each.headings) for each in found] == [
        ("x", ()),
        ("One\ny", ("One",)),
        ("Two\nz", ("Two",)),
    ]


_LINES = st.lists(st.tuples(st.text("ab. 한", min_size=1, max_size=90), st.integers(0, 8)), max_size=25)


@given(_LINES, st.integers(16, 60), st.integers(0, 8))
def test_no_passage_crosses_a_section_of_the_two_highest_levels(
    lines: list[tuple[str, int]], tokens: int, overlap: int
) -> None:
    offset, sections, borders = 0, [], []
    for line, level in lines:
        if level:
            sections.append(Section(offset, len(line), level, ""))
        offset += len(line) + 1
    marked, high = "", highest_levels(sections)
    starts = {section.offset for section in sections if section.level in high}
    number, offset = 0, 0
    for line, _ in lines:  # the digit of a line says in which of these sections it is
        number += offset in starts
        marked += chr(0x2460 + number) * len(line) + "\n"
        offset += len(line) + 1
    found = list(passages(marked, sections, Limits(tokens, overlap)))
    assert all(len(set(each.text.replace("\n", ""))) == 1 for each in found)
    assert all(estimated_tokens(each.text) <= tokens + overlap for each in found)
    borders = "".join(each.text for each in found)
    assert set(borders) - {"\n"} == set(marked) - {"\n"}


def test_a_page_with_many_sections_is_cut_in_bounded_time() -> None:
    text = "h\n" * 10_000
    assert len(list(passages(text, [Section(2 * n, 1, 1 + n % 2, "") for n in range(10_000)]))) == 10_000


def page(path: str, text: str, **columns: Any) -> dict[str, Any]:
    return {"url": f"http://a.test/{path}", "text": text, "title": path, "headings": ["H", "I"]} | columns


def visit(path: str, at: int, outcome: str = "fetched") -> dict[str, Any]:
    return {"url": f"http://a.test/{path}", "outcome": outcome, "fetched_at": at * 1_000_000}


ROUNDS: list[tuple[list[dict[str, Any]], dict[str, str]]] = [
    ([page("a", "x\nH\none"), page("b", "b"), page("c", "c"), page("d", "d", noindex=True), page("e", "e")], {}),
    ([page("a", "x\nH\ntwo\nI\nthree"), page("f", "f")], {"b": "gone"}),
    (
        [page("b", "b"), page("d", "d", license="MIT", license_source="meta")],
        {},
    ),  # b is back as it was, d may be indexed now
    ([page("a", "x\nI\nthree"), page("c", "c", max_snippet=0)], {"f": "gone"}),
    ([page("c", "c"), page("e", "e", title="new"), page("g", "g\ng", ai_input=False)], {"d": "gone"}),
]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[dict[str, Any]]]]:
    """The crawl after each of five rounds, and what `--since` the round before it gives."""
    found = []
    states = dict[str, str]()
    folder = tmp_path_factory.mktemp("chunked", numbered=False)
    for number, (documents, changed) in enumerate(ROUNDS, 1):
        paths = [row["url"].rpartition("/")[2] for row in documents]
        states |= dict.fromkeys(paths, "fetched") | changed
        outcomes = dict.fromkeys(paths, "fetched") | changed
        rows = {
            "documents": documents,
            "urls": [{"url": f"http://a.test/{path}", "state": state} for path, state in states.items()],
            "visits": [visit(path, number, outcome) for path, outcome in outcomes.items()],
        }
        commit_rows(folder, "update", number, rows)
        out = folder.parent / f"out{number}.jsonl"
        since = ["--since", str(number - 1)] if number > 1 else []
        assert beamtrawl("export", "chunks", folder, out, *since).code == 0
        assert beamtrawl("export", "chunks", folder, out.with_suffix(".whole.jsonl")).code == 0
        found.append((out.with_suffix(".whole.jsonl"), read(out)))
    return found


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_store_kept_by_since_equals_a_whole_export(exports: list[tuple[Path, list[dict[str, Any]]]]) -> None:
    store = dict[str, dict[str, Any]]()
    for whole, changes in exports:
        for row in changes:
            if row["deleted"]:
                store.pop(row["id"])
            else:
                store[row["id"]] = row
        assert store == {row["id"]: row for row in read(whole)}


def test_only_what_changed_is_exported(exports: list[tuple[Path, list[dict[str, Any]]]]) -> None:
    changed = [sorted((row["page"][-1], str(row["text"]), row["deleted"]) for row in rows) for _, rows in exports]
    assert changed[1] == [
        ("a", "H\ntwo", False),
        ("a", "I\nthree", False),
        ("a", "None", True),
        ("b", "None", True),
        ("f", "f", False),
    ]
    licences = {row["page"][-1]: (row["license"], row["license_source"]) for row in exports[2][1]}
    assert licences == {"b": (None, None), "d": ("MIT", "meta")}
    assert changed[3] == [("a", "None", True), ("c", "None", True), ("f", "None", True)]


def test_parquet_and_messages(exports: list[tuple[Path, list[dict[str, Any]]]], tmp_path: Path) -> None:
    folder = exports[0][0].parent / "chunked"
    ran = beamtrawl("export", "chunks", folder, tmp_path / "c.parquet")
    assert (
        ran.out
        == f"5 chunks of 4 pages as of round 5 (pages left out: 2 gone, 1 reserved_input): {tmp_path / 'c.parquet'}\n"
    )
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.schema.equals(CHUNKS) and table.to_pylist() == read(exports[-1][0])
    words = ("--include", "reserved_input", "--where", "url LIKE '%/g'")
    assert beamtrawl("export", "chunks", folder, tmp_path / "g.jsonl", *words).code == 0
    assert [row["text"] for row in read(tmp_path / "g.jsonl")] == ["g\ng"]
    said = failure("export", "chunks", folder, tmp_path / "x.jsonl", "--since", "6")
    assert said == (2, "--since 6: the last round with documents is 5; name it, or one before it")
    assert failure("export", "chunks", folder, tmp_path / "x.txt")[0] == 2
    assert failure("export", "chunks", folder, tmp_path / "x.jsonl", "--tokens", "20")[0] == 2
    empty = beamtrawl("export", "chunks", folder, tmp_path / "x.jsonl", "--where", "false")
    assert (empty.code, (tmp_path / "x.jsonl").read_bytes()) == (0, b"")
    assert empty.out.startswith("0 chunks of 0 pages as of round 5")


def test_what_is_blocked_is_deleted(exports: list[tuple[Path, list[dict[str, Any]]]], tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    commit_rows(
        crawl, "update", 1, {"documents": [page("a", "a"), page("b", "b")], "visits": [visit("a", 1), visit("b", 1)]}
    )
    assert beamtrawl("block", crawl, "a.test/a").code == 0
    assert beamtrawl("export", "chunks", crawl, tmp_path / "out.jsonl", "--since", "1").code == 0
    assert [(row["page"], row["deleted"]) for row in read(tmp_path / "out.jsonl")] == [("http://a.test/a", True)]
