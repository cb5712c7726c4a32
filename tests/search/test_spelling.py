"""Which words of an index stand for one that no page has, or hardly any."""

import random
import string

import pyarrow as pa
import pyarrow.parquet as pq
from rapidfuzz.distance import OSA

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.query.spelling import MAX_NEAR, Dictionary
from beamtrawl.transforms.directory.own_files import is_own
from beamtrawl.transforms.indexing import write_segment
from tests.support.corpus import indexed

WORDS = Dictionary([pa.table({"term": ["harbour", "harbor", "labour", "lighthouse"], "df": [40, 50, 50, 1]})])

# a word: the nearest words
NEAR = {
    "harbur": ["harbor", "harbour"],  # by one letter, the most frequent first
    "labuor": ["labour"],  # two letters changed places
    "lebuor": [],  # two mistakes in a word of less than eight letters
    "lihgthuse": ["lighthouse"],
    "lihgthus": [],
    "har": [],
}


def test_the_nearest_words_differ_by_one_letter_or_in_a_long_word_by_two() -> None:
    assert {word: WORDS.near(word) for word in NEAR} == NEAR


def test_a_word_is_a_misspelling_of_one_that_is_twenty_times_as_frequent() -> None:
    words = Dictionary([pa.table({"term": ["harbour", "labour"], "df": [40, 50]})])
    assert [words.usual("harbur", documents) for documents in (1, 2, 3)] == ["harbour", "harbour", None]


def test_the_documents_of_all_segments_count() -> None:
    tables = ({"term": ["sand", "send"], "df": [5, 4]}, {"term": ["send"], "df": [2]})
    assert Dictionary(map(pa.table, tables)).near("sxnd") == ["send", "sand"]


def test_words_of_several_segments_and_scripts_are_compared_as_if_one_by_one() -> None:
    """Most words are excluded by their letters and lengths: none that is near may be."""
    pick = random.Random(1)
    letters = "abcé語" + "жзи" + chr(ord("a") + 64)  # of which some share a bit
    words = sorted({"".join(pick.choices(letters, k=pick.randint(3, 9))) for _ in range(3_000)})
    frequency = {word: pick.randint(1, 99) for word in words}
    tables = [[word for word in words if pick.random() < share] for share in (0.5, 0.7)] + [words, []]
    dictionary = Dictionary(
        pa.table({"term": pa.array(some, pa.string()), "df": pa.array([frequency[word] for word in some], pa.int32())})
        for some in tables
    )
    total = {word: frequency[word] * sum(word in some for some in tables) for word in words}
    for word in pick.sample(words, 60):
        asked = word[:2] + pick.choice(letters) + word[3:] + pick.choice(string.ascii_lowercase)
        distances = {other: OSA.distance(asked, other) for other in words}
        most = 1 + (len(asked) >= 8)
        near = sorted((distances[w], -total[w], w) for w in words if distances[w] <= most)[:MAX_NEAR]
        expected = [found for distance, _, found in near if distance == near[0][0]] if len(asked) >= 4 else []
        assert dictionary.near(asked) == expected


def test_a_large_segment_has_a_list_of_its_words_and_the_same_suggestions(tmp_path, monkeypatch) -> None:
    rows = [
        {"url": f"http://a.test/{n}", "title": "Signals at sea", "text": "push_back lighthouse w7 " + "f" * 30}
        for n in range(9)
    ]
    asked = ("lihgthouse", "pushback", "signols", "w8", "f" * 29)
    found = []
    for few in (64, 0):  # row groups
        monkeypatch.setattr(write_segment, "FEW_GROUPS", few)
        crawl = indexed(tmp_path / str(few), rows[:4], rows[4:])
        paths = sorted((tmp_path / str(few)).rglob("words.parquet"))
        listed = [pq.read_table(path).to_pylist() for path in paths]
        found.append([Index.open(crawl).search(word).suggestion for word in asked])
    assert all(is_own(path.relative_to(tmp_path / "0").as_posix()) for path in paths)
    assert found == [["lighthouse", "push_back", "signals", None, None]] * 2
    assert [{row["term"]: row["df"] for row in some} for some in listed] == [
        {"lighthouse": n, "push_back": n, "push": n, "back": n, "signals": n, "sea": n, "test": n} for n in (4, 5)
    ]
