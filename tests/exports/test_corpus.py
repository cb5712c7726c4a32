"""`beamtrawl export corpus`: what is chosen, exact rows, and the card."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.runners.exports.corpus import COLUMNS, REASONS, corpus_query, write_corpus
from beamtrawl.runners.exports.output import whole_folder
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.sql.queries import query_batches
from tests.support.command_line import beamtrawl, contents, failure
from tests.support.committed import commit_rows

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def page(path: str, **columns: Any) -> dict[str, Any]:
    return {"url": f"http://a.test/{path}", "text": f"text of {path}", "language": "en", "fetched_at": NOW} | columns


BY = "http://creativecommons.org/licenses/by/4.0/"
HOSTILE = 'A\n---\n| <script>alert(1)</script> \x1b[31m "'
PAGES = [
    page("plain", title=HOSTILE, digest=b"d" * 16, near_key=7, spam_score=0.5, license=BY, license_source="a"),
    page("deutsch", language="de\n| x", ai_training=True, content_usage="train-ai=y", license="http://a.test/terms"),
    page("reserved", ai_training=False, tdm_reservation=True),
    page("robots"),  # robots.txt reserves it since its last visit
    page("copy", duplicate_of=b"x" * 16),
    page("near", near_duplicate_of=b"x" * 16),
    page("noindex", noindex=True),
    page("noarchive", noarchive=True),
    page("late", unavailable_after=NOW),
    page("empty", text=""),
    page("gone"),
    page("old", text="first version"),
]
LEFT = {
    "reserved": {"reserved", "robots"},
    "duplicate": {"copy", "near"},
    "noindex": {"noindex"},
    "noarchive": {"noarchive"},
}
CHOSEN = {"plain", "deutsch", "old"}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    visits = [{"url": "http://a.test/robots", "status": 304, "fetched_at": NOW, "robots_usage": "train-ai=n, search=y"}]
    states = [{"url": "http://a.test/gone", "state": "gone"}, {"url": "http://a.test/plain", "state": "fetched"}]
    commit_rows(folder, "update", 1, {"documents": PAGES, "urls": states})
    commit_rows(folder, "update", 2, {"documents": [page("old", text="second version")], "visits": visits})
    return folder


def read(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("data-*.jsonl.zst")):
        text = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd").read().decode()
        found += [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    return found


def paths(rows: list[dict[str, Any]]) -> set[str]:
    return {row["url"].removeprefix("http://a.test/") for row in rows}


def test_what_is_reserved_is_left_out_and_the_rest_is_whole(crawl: Path, tmp_path: Path) -> None:
    ran = beamtrawl("export", "corpus", crawl, tmp_path / "out")
    assert ran.out == f"3 documents in 1 file, 9 left out: {tmp_path / 'out'}\n"
    rows = {row["url"].removeprefix("http://a.test/"): row for row in read(tmp_path / "out")}
    assert rows.keys() == CHOSEN
    assert all(list(row) == COLUMNS.names for row in rows.values())
    assert rows["old"]["text"] == "second version"
    plain = rows["plain"]
    assert (plain["title"], plain["digest"], plain["cluster"]) == (HOSTILE, (b"d" * 16).hex(), 7)
    assert (plain["license"], plain["license_source"]) == (BY, "a")
    assert (plain["fetched_at"], plain["published_at"]) == ("2026-01-02T03:04:05Z", None)
    assert re.fullmatch("[0-9a-f]{32}", plain["id"])


@pytest.mark.parametrize("name", LEFT)
def test_an_operator_may_include_by_name(crawl: Path, tmp_path: Path, name: str) -> None:
    assert beamtrawl("export", "corpus", crawl, tmp_path / "out", "--include", name).code == 0
    assert paths(read(tmp_path / "out")) == CHOSEN | LEFT[name]
    assert f"The operator included on purpose: {name}.\n" in (tmp_path / "out" / "README.md").read_text()


def test_only_pages_under_some_licences(crawl: Path, tmp_path: Path) -> None:
    for asked, found in {"cc-by,cc0": {"plain"}, "CC-BY": {"plain"}, "cc0": set(), "mit,gpl": set()}.items():
        out = tmp_path / asked
        ran = beamtrawl("export", "corpus", crawl, out, "--license", asked)
        assert (ran.code, paths(read(out))) == (0, found), ran.err
        card = (out / "README.md").read_text(encoding="utf-8")
        assert f"| it states no licence of those asked for | {3 - len(found)} |\n" in card
        assert f"Only pages under these licences were asked for: {', '.join(asked.lower().split(','))}.\n" in card
        assert ("| cc-by | 1 |" in card) == bool(found)


def test_a_licence_that_is_none_is_told_with_those_that_are(crawl: Path, tmp_path: Path) -> None:
    for asked, name in {"cc-by,free": "'free'", "": "''", "cc-by,": "'cc-by,'", "CC BY 4.0": "'cc by 4.0'"}.items():
        code, said = failure("export", "corpus", crawl, tmp_path / "out", "--license", asked)
        assert (code, said.count("\n")) == (2, 0)
        assert f"{name}: no licence; known: cc-by, cc-by-sa" in said and not (tmp_path / "out").exists()


def test_parquet_holds_the_same(crawl: Path, tmp_path: Path) -> None:
    assert beamtrawl("export", "corpus", crawl, tmp_path / "a", "--format", "parquet").code == 0
    assert beamtrawl("export", "corpus", crawl, tmp_path / "b").code == 0
    table = pq.read_table(tmp_path / "a" / "data-00000.parquet")
    assert (table.schema.equals(COLUMNS), table.to_pylist()) == (True, read(tmp_path / "b"))


def test_the_card(crawl: Path, tmp_path: Path) -> None:
    where = "language <> 'xx'\n OR true"
    assert beamtrawl("export", "corpus", crawl, tmp_path / "out", "--where", where).code == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:\n- 'en'\nconfigs:\n- config_name: default\n")
    assert "3 documents with 42 characters, exported on " in card
    assert "\n    language <> 'xx'\n     OR true\n" in card
    counts = dict(re.findall(r"^\| (.*) \| (\d+) \|$", card, re.MULTILINE))
    assert [int(count) for count in counts.values()] == [0, 1, 1, 2, 1, 1, 1, 2, 2, 1, 1, 1, 1]
    assert counts["en"] == "2" and counts["de x"] == "1"
    data = (tmp_path / "out" / "data-00000.jsonl.zst").read_bytes()
    assert f"| data-00000.jsonl.zst | 3 | {len(data)} | `{hashlib.sha256(data).hexdigest()}` |\n" in card


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_shards_end_by_size(crawl: Path, tmp_path: Path, format_: str) -> None:
    with (
        query_batches(CrawlDir(str(crawl)), corpus_query("true", REASONS.keys() - {"unavailable"}), 1) as batches,
        whole_folder(str(tmp_path / "out")) as out,
    ):
        made = write_corpus(batches, out, format_, 1, include=REASONS.keys())
    assert [shard.rows for shard in made.shards] == [1] * (len(PAGES) - 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [shard.name for shard in made.shards]


def test_no_document_is_a_card_that_says_why(crawl: Path, tmp_path: Path) -> None:
    ran = beamtrawl("export", "corpus", crawl, tmp_path / "out", "--where", "url LIKE '%/reserved'")
    assert ran[:3] == (0, f"0 documents in 0 files, 1 left out: {tmp_path}/out\n", "")
    (card,) = (tmp_path / "out").iterdir()
    assert "data_files" not in card.read_text()
    assert "(Content-Usage, Content-Signal, RSL, TDMRep, noai) | 1 |" in card.read_text()


def test_a_condition_that_fails_leaves_nothing(crawl: Path, tmp_path: Path) -> None:
    said = failure("export", "corpus", crawl, tmp_path / "out", "--where", "nonsense (")
    assert said[1].startswith("--where nonsense (: the query failed: Parser Error")
    assert contents(tmp_path) == {}


def test_what_is_blocked_is_left_out(tmp_path: Path) -> None:
    commit_rows(tmp_path / "crawl", "update", 1, {"documents": PAGES[:2]})
    assert beamtrawl("block", tmp_path / "crawl", "a.test/plain").code == 0
    ran = beamtrawl("export", "corpus", tmp_path / "crawl", tmp_path / "out")
    assert ran.out.startswith("1 document in 1 file, 1 left out: "), ran
    assert paths(read(tmp_path / "out")) == {"deutsch"}
    assert "| the operator has blocked it | 1 |\n" in (tmp_path / "out" / "README.md").read_text()
