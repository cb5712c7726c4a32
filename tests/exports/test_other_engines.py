"""The examples of docs/how-to/other_engines.md: they run as they stand, and rank by BM25."""

import contextlib
import io
import math
import re
from ast import literal_eval
from pathlib import Path

import duckdb
import pytest

from beamtrawl.transforms.indexing.write_segment import ROW_POSTINGS
from tests.support.corpus import indexed

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "other_engines.md"
TEXTS = {
    "http://a.test/1": "a polite crawler waits",
    "http://a.test/2": "crawler crawler crawler and more words about many other things",
    "http://b.test/1": "nothing of the kind",
    "http://b.test/2": "polite words",
    "http://b.test/3": "who is polite waits and is polite again",
}


def expected() -> list[tuple[str, float]]:
    """BM25 as in a textbook, k1 = 1.2 and b = 0.6."""
    words = {url: text.split() for url, text in TEXTS.items()}
    mean = sum(map(len, words.values())) / len(words)
    scores = dict.fromkeys(TEXTS, 0.0)
    for term in ("polite", "crawler"):
        having = [url for url in TEXTS if term in words[url]]
        idf = math.log(1 + (len(TEXTS) - len(having) + 0.5) / (len(having) + 0.5))
        for url in having:
            tf = words[url].count(term)
            scores[url] += idf * tf * 2.2 / (tf + 1.2 * (0.4 + 0.6 * len(words[url]) / mean))
    return sorted(((url, score) for url, score in scores.items() if score), key=lambda hit: -hit[1])


@pytest.fixture(params=[1, ROW_POSTINGS], ids=["lists in several rows", "lists in one row"])
def example(tmp_path: Path, request: pytest.FixtureRequest):
    rows = [{"url": url, "title": "Polite", "text": text} for url, text in TEXTS.items()]
    indexed(tmp_path, rows[:2], rows[2:], row_postings=request.param)

    def code(language: str) -> str:
        (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        return found.replace("DIR", str(tmp_path))

    return code


def test_duckdb(example) -> None:
    with duckdb.connect() as connection:
        found = connection.execute(example("sql")).fetchall()
    assert [url for url, _ in found] == [url for url, _ in expected()]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected()])


def test_python(example) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(example("python"), str(PAGE), "exec"), {})
    found = literal_eval(printed.getvalue())
    assert [url for url, _ in found] == [url for url, _ in expected()]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected()])
