"""Public collections: from the forms in which repositories publish them to that of the benchmarks."""

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.public_collections import NTREX, Clones, lisa, news, passages, records, smart


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"data": [{"paragraphs": [{"context": "a", "qas": [{"question": "b", "answers": [1]}]}]}]}, [("a", ["b"])]),
        ([{"context": "a", "qas": [{"question": "b", "answers": []}, {"question": "c"}]}], [("a", ["c"])]),
        ([{"context": "a", "question": "b"}, {"context": "a", "question": "c"}], [("a", ["b"]), ("a", ["c"])]),
        ({"version": "1.0", "data": []}, []),
    ],
    ids=["articles", "without answers", "a line for each question", "empty"],
)
def test_questions_about_passages(found: object, expected: list[tuple[str, list[str]]]) -> None:
    assert list(passages(found)) == expected


def test_records_of_smart() -> None:
    text = ".I 1\n.T\nof titles\n.W\nof texts\n.I 2 \n.W \nmore\n"
    assert list(records(text)) == [{"I": "1", "T": "of titles\n", "W": "of texts\n"}, {"I": "2", "W": "more\n"}]


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    """Two small repositories in the form of those that publish collections."""
    files = {
        "lailaglez+belief-network-irs": {
            "adi/ADI.ALL": ".I 1\r\n.T\r\nan index\r\n.W\r\nof words\r\n.I 2\r\n.W\r\nof pages\r\n",
            "adi/ADI.QRY": ".I 1\r\n.W\r\nwhich\r\nwords?\r\n.I 2\r\n.W\r\nnever judged\r\n",
            "adi/ADI.REL": "1   2   0   0.000000\r\n",
        },
        NTREX: {
            "DOCUMENT_IDS.tsv": "a\na\na\na\na\na\na\nb\nb\n",
            "NTREX-128/newstest2019-ref.tha.txt": "หัว\n1\n2\n3\n4\n5\n6\nหัวข้อ\nข่าว\n",
        },
        "zer01ike+Search_BM25": {
            "lisa/lisa.all.txt": "Document  1\nA TITLE\n\nA TEXT\n****\nDocument  2\nTWO\nLINES\n\nMORE\n****\n",
            "lisa/lisa.queries.txt": "1\nI WANT\nTHIS #\n2\nTHAT #\n",
            "lisa/lisa.relevance.txt": "   1   1   2\n   2   2   1\n   2\n",
        },
    }
    for repository, contents in files.items():
        for path, text in contents.items():
            file = tmp_path / repository / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        git = ["git", "-C", str(tmp_path / repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "data"]):
            subprocess.run([*git, *command], check=True)
    return Clones(tmp_path)


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_abstracts(clones: Clones, tmp_path: Path) -> None:
    smart("adi", clones, into := tmp_path / "adi")
    assert [(doc["id"], doc["title"], doc["text"]) for doc in rows(into / "docs.jsonl")] == [
        ("1", "an index", "of words"),
        ("2", "", "of pages"),
    ]
    assert rows(into / "queries.jsonl") == [{"id": "1", "text": "which words?"}]
    assert (into / "qrels.tsv").read_text() == "1\t2\t1\n"


def test_headlines_lead_to_all_parts_of_their_text(clones: Clones, tmp_path: Path) -> None:
    news("tha", clones, into := tmp_path / "news")
    assert [(doc["id"], doc["text"]) for doc in rows(into / "docs.jsonl")] == [
        ("a.0", "1 2 3 4 5"),
        ("a.5", "6"),
        ("b.0", "ข่าว"),
    ]
    assert rows(into / "queries.jsonl") == [{"id": "a", "text": "หัว"}, {"id": "b", "text": "หัวข้อ"}]
    assert (into / "qrels.tsv").read_text() == "a\ta.0\t1\na\ta.5\t1\nb\tb.0\t1\n"


def test_lisa(clones: Clones, tmp_path: Path) -> None:
    lisa(clones, into := tmp_path / "lisa")
    assert [(doc["title"], doc["text"]) for doc in rows(into / "docs.jsonl")] == [
        ("A TITLE", "A TEXT"),
        ("TWO LINES", "MORE"),
    ]
    assert rows(into / "queries.jsonl") == [{"id": "1", "text": "I WANT THIS"}, {"id": "2", "text": "THAT"}]
    assert (into / "qrels.tsv").read_text() == "1\t2\t1\n2\t1\t1\n2\t2\t1\n"
