"""The index gives what the plainest reading of the documents gives, for hundreds of queries."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.korean import morphemes
from beamtrawl.transforms.indexing.merge_policy import ALL, Policy
from tests.support.corpus import commit
from tests.support.crawls import InProcess
from tests.support.merging import merge
from tests.support.naive_search import Naive

WORDS = [
    *("run", "runs", "running", "runner", "naïve", "naive", "gift", "gifts", "Gifte", "the", "of"),
    *("node.js", "foo_bar", "3.11", "C++", ".NET", "네이버", "검색엔진", "물을 마신", "全文検索", "全文"),
    *("b", "c", "d", "__run__", "foo_bars", "é—foo_bar", "全文_x"),
]
SITES = ["a.test", "b.a.test", "c.test"]
QUERIES = 100


def corpus(seed, rounds):
    """Rounds of rows: few words, so that every query meets several documents; some pages are visited again."""
    pick = random.Random(seed)

    def some(most):
        return " ".join(pick.choices(WORDS, weights=range(len(WORDS), 0, -1), k=pick.randint(0, most)))

    def row(number, round_):
        day = datetime(2026, 1, round_, tzinfo=UTC)
        published = day - timedelta(days=pick.randint(-10, 900)) if pick.random() < 0.5 else None
        return {
            "url": f"http://{SITES[number % 3]}/{number:03d}/{some(1)}",
            "title": some(3),
            "text": some(30),
            "headings": [some(2), some(2)],
            "language": pick.choice(["en", "en", "de", "ko", None]),
            "media_type": pick.choice(["text/html", "text/plain", "application/pdf"]),
            "spam_score": pick.choice([None, 0.0, 0.25, 1.0]),
            "anchors": [some(2) for _ in range(pick.randint(0, 3))],
            "names": [some(3) for _ in range(number % 3)],
            "link_rank": pick.choice([0.0, 0.5, 1.0, 30.0]),
            "fetched_at": day,
            "published_at": published,
            "round": round_,
        }

    first = [row(number, 1) for number in range(40)]
    first += [r | {"url": r["url"] + "x"} for r in first[:5]]  # for equal scores
    later = [
        [{**row(n, round_), "url": first[n]["url"]} for n in pick.sample(range(40), 12)]
        for round_ in range(2, rounds + 1)
    ]
    return [first, *later]


def query(pick):
    """A text that asks for something, often in odd ways."""
    words = [*WORDS, "_", "run_", "missing", "RUN", "Geschenk", "don't", "node", "bar", "검색", "물", "엔진은"]

    def part():
        word = pick.choice(words)
        kind = pick.choices(range(12), weights=[40, 8, 6, 3, 3, 4, 4, 3, 3, 3, 3, 2])[0]
        return [
            word,
            f'"{word} {pick.choice(words)}"',
            f"-{word}",
            f"title:{word}",
            f"url:{word}",
            f"{word} AND {pick.choice(words)}",
            f"{word} OR {pick.choice(words)}",
            f"({word} {pick.choice(words)}) AND NOT {pick.choice(words)}",
            f"site:{pick.choice(SITES)}",
            f"lang:{pick.choice(['en', 'de', 'ko'])}",
            f"type:{pick.choice(['html', 'application/pdf', 'text'])}",
            f"{pick.choice(['after', 'before'])}:{pick.choice(['2024', '2025-06', '2026-01-02'])}",
        ][kind]

    return " ".join(part() for _ in range(pick.choice([1, 2, 3, 4, 14])))


@pytest.mark.parametrize(
    ("segments", "rounds", "korean"),
    [(1, 1, False), (3, 1, False), (2, 3, False), (2, 1, True)],
    ids=["one segment", "many", "pages visited again", "Korean morphemes"],
)
def test_scores_and_order_are_those_of_the_formula(tmp_path, segments, rounds, korean):
    written = corpus(segments * 10 + rounds, rounds)
    crawl = CrawlDir(str(tmp_path))
    for number, rows in enumerate(written, 1):
        commit(crawl, number, *(rows[n::segments] for n in range(segments)), korean_morphemes=korean)
    naive = Naive([row for rows in written for row in rows], morphemes=morphemes if korean else None)
    assert_same_answers(Index.open(crawl), naive, random.Random(segments), QUERIES)


def test_they_are_through_updates_removals_and_merges_now_and_as_of_earlier_rounds(tmp_path):
    pick, crawl, rows, gone = random.Random(5), CrawlDir(str(tmp_path)), [], []
    urls = [row["url"] for row in corpus(5, 1)[0]]

    def check(as_of=None):
        known = [row for row in rows if as_of is None or row["round"] <= as_of]
        naive = Naive(known, [(round_, url) for round_, url in gone if as_of is None or round_ <= as_of])
        assert_same_answers(Index.open(crawl, as_of), naive, pick, 10)

    for round_, written in enumerate(corpus(5, 6), 1):
        seen = {row["url"] for row in written}
        removed = [url for url in pick.sample(urls, 6) if url not in seen] if round_ > 1 else []
        shards = pick.randint(1, 3)
        commit(crawl, round_, *(written[n::shards] for n in range(shards)), gone=removed)
        rows += written
        gone += [(round_, url) for url in removed]
        if round_ in (2, 3, 4):
            merge(crawl, InProcess(), Policy(lambda sizes: some_of(sizes, pick), 0.0))
        if round_ == 5:
            merge(crawl, InProcess(), ALL)
        check()
    for as_of in range(1, 7):
        check(as_of)


def some_of(sizes, pick):
    """Two groups of some segments."""
    chosen = pick.sample(range(len(sizes)), min(4, len(sizes)))
    return [group for group in (chosen[:2], chosen[2:]) if group]


def assert_same_answers(index, naive, pick, queries):
    total = 0
    for _ in range(queries):
        text, limit = query(pick), pick.choice((8, 8, 40))
        (strong, weaker), found = naive.search(text), index.search(text, limit=limit)
        expected = strong + weaker
        assert (found.total, found.weaker) == (len(strong), len(weaker)), text
        assert [hit.url for hit in found.hits] == [url for _, url in expected[:limit]], text
        assert [hit.score for hit in found.hits] == pytest.approx([score for score, _ in expected[:limit]], 1e-6), text
        total += found.total
    assert total > queries  # or most queries find nothing, and it shows little


def test_an_explanation_adds_up(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, 1, *(corpus(7, 1)[0][n::2] for n in range(2)))
    hits = Index.open(crawl).search('running naive node.js "b c" OR the', limit=40, explain=True).hits
    assert len(hits) > 20
    for hit in hits:
        told = hit.explanation
        assert hit.score == pytest.approx(
            sum(part.score for part in told.parts) * told.links * told.quality * told.freshness
        )
        assert all(part.score > 0 and sum(part.frequencies.values()) for part in told.parts)
