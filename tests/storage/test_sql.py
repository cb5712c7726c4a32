"""The tables of a crawl in SQL: what is committed, the newest row of a key, and errors in one line."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest
from beamtrawl.transforms.outcomes import QueryTimeout
from beamtrawl.transforms.sql.queries import QueryError, open_tables, query, query_arrow, query_batches
from beamtrawl.transforms.sql.views import SNAPSHOTS, columns_of
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.committed import commit_rows

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def write(root, table, round_, *rows):
    writer = TableWriter(root, table, round_)
    writer.write_rows(list(rows))
    return writer.close()


def commit(crawl, step, round_, *files):
    crawl.commit(Manifest(step, round_, "", files, {}, (), "", ""))


def document(url, round_, **fields):
    return {"url_key": url_key(url), "url": url, "host": url.split("/")[2], "round": round_, "fetched_at": NOW} | fields


def url_row(url, round_, state):
    return {"url_key": url_key(url), "url": url, "round": round_, "state": state}


def robots(origin, fetched_at, verdict):
    return {"origin": origin, "round": 1, "fetched_at": fetched_at, "verdict": verdict}


def fill(root):
    """A crawl of two rounds; a file of a third lies there uncommitted."""
    crawl = CrawlDir(str(root))
    a, b, c = (f"http://{host}.test/" for host in "abc")
    commit(
        crawl,
        "seeds",
        0,
        write(crawl.root, "urls", 0, url_row(a, 0, "due"), url_row(b, 0, "due")),
    )
    commit(
        crawl,
        "update",
        1,
        write(crawl.root, "urls", 1, url_row(a, 1, "fetched"), url_row(c, 1, "due")),
        write(crawl.root, "documents", 1, document(a, 1, headings=["h1", "h2"]), document(a + "x", 1)),
        write(crawl.root, "robots", 1, robots(a, NOW, "unreachable"), robots(a, NOW + timedelta(hours=1), "rules")),
    )
    commit(crawl, "update", 2, write(crawl.root, "documents", 2, document(c, 2)))
    write(crawl.root, "documents", 3, document(b, 3))
    return crawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("crawl"))


# query, column names, rows
QUERIES = {
    "documents by host": (
        "SELECT host, count(*) AS n FROM documents GROUP BY host ORDER BY host",
        ["host", "n"],
        [("a.test", 2), ("c.test", 1)],
    ),
    "the newest row of a URL": (
        "SELECT url, state, round FROM urls ORDER BY url",
        ["url", "state", "round"],
        [("http://a.test/", "fetched", 1), ("http://b.test/", "due", 0), ("http://c.test/", "due", 1)],
    ),
    "every row of a URL": (
        "SELECT state FROM urls_history WHERE url = 'http://a.test/' ORDER BY round",
        ["state"],
        [("due",), ("fetched",)],
    ),
    "the newest of a round": ("SELECT verdict FROM robots", ["verdict"], [("rules",)]),
    "lists": (
        "SELECT unnest(headings) AS heading FROM documents ORDER BY heading",
        ["heading"],
        [("h1",), ("h2",)],
    ),
    "times are UTC": (
        "SELECT DISTINCT fetched_at::VARCHAR AS at FROM documents",
        ["at"],
        [("2026-03-01 12:00:00+00",)],
    ),
    "keys are bytes": (
        "SELECT url_key FROM documents WHERE host = 'c.test'",
        ["url_key"],
        [(url_key("http://c.test/"),)],
    ),
    "tables join": (
        "SELECT d.url FROM documents d JOIN urls u USING (url_key) WHERE u.state = 'fetched'",
        ["url"],
        [("http://a.test/",)],
    ),
}


@pytest.mark.parametrize(("text", "names", "rows"), QUERIES.values(), ids=QUERIES)
def test_a_query_sees_what_is_committed(crawl, text, names, rows):
    assert query(crawl, text) == (names, rows)


def test_a_column_that_an_older_file_lacks_is_null(tmp_path):
    crawl = fill(tmp_path)
    (tmp_path / "documents").mkdir(exist_ok=True)
    pq.write_table(pa.table({"url": ["http://old.test/"]}), tmp_path / "documents" / "old.parquet")
    commit(crawl, "update", 0, TableFile("documents", "documents/old.parquet", 1, 0, {}))
    assert query(crawl, "SELECT url, host FROM documents WHERE host IS NULL")[1] == [("http://old.test/", None)]


def test_a_column_that_every_file_lacks_is_null(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    (tmp_path / "documents").mkdir(exist_ok=True)
    pq.write_table(pa.table({"url": ["http://old.test/"]}), tmp_path / "documents" / "old.parquet")
    commit(crawl, "update", 1, TableFile("documents", "documents/old.parquet", 1, 0, {}))
    assert query(crawl, "SELECT url, host, year(fetched_at) FROM documents")[1] == [("http://old.test/", None, None)]
    assert query(crawl, "SELECT * FROM documents")[0] == TABLES["documents"].names


def test_a_query_as_an_arrow_table_with_parameters(crawl):
    text = "SELECT url, round FROM documents WHERE host = ? AND round < ? ORDER BY url DESC"
    found = query_arrow(crawl, text, ["a.test", 2])
    assert found.to_pydict() == {"url": ["http://a.test/x", "http://a.test/"], "round": [1, 1]}


def test_every_table_can_be_asked_before_it_has_rows(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "seeds", 0)
    every = [*TABLES, *(f"{name}_history" for name in SNAPSHOTS)]
    with open_tables(crawl, crawl.manifests(), TABLES) as connection:
        for table in every:
            found = connection.sql(f"SELECT * FROM {table}")
            assert (found.columns, found.fetchall()) == (TABLES[table.removesuffix("_history")].names, []), table
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in every)
    assert query(crawl, f"SELECT {counts}")[1] == [(0,) * len(every)]


def test_the_empty_tables_have_the_types_as_which_duckdb_reads_arrow():
    with duckdb.connect() as connection:
        for name, schema in TABLES.items():
            connection.register("rows", schema.empty_table())
            connection.execute(f"CREATE TABLE {name}_read AS FROM rows; CREATE TABLE {name} ({columns_of(schema)})")
            declared, read = (connection.execute(f"DESCRIBE {each}").fetchall() for each in (name, f"{name}_read"))
            assert declared == read


@pytest.mark.parametrize("text", ["SELECT year(fetched_at) FROM visits", "SELECT octet_length(body) FROM visits"])
def test_a_table_without_rows_has_the_types_of_its_columns(tmp_path, text):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "seeds", 0)
    assert query(crawl, text)[1] == []


BAD = {
    "no SQL": ("SELEC 1", 'syntax error at or near "SELEC"'),
    "a variable of the program": ("SELECT * FROM text", "there is no table text; the tables are alerts, "),
    "no such table": ("SELECT * FROM pages", "there is no table pages; the tables are alerts, "),
    "a misspelled table": ("SELECT * FROM document", "there is no table document; did you mean documents?"),
    "no such column": ("SELECT colour FROM documents", '"colour" not found'),
    "two values for one": ("SELECT * FROM documents WHERE host = ?", "parameter"),
    "a value that cannot be": ("SELECT 'x'::INT", "Could not convert string 'x'"),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD)
def test_a_query_that_fails_says_why_in_one_line(crawl, text, reason):
    with pytest.raises(QueryError) as caught:
        query(crawl, text)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "-- only a comment"])
def test_an_empty_query_is_an_error(crawl, text):
    with pytest.raises(QueryError):
        query(crawl, text)


def test_a_directory_without_a_crawl_is_an_error(tmp_path):
    with pytest.raises(CrawlDirError, match="holds no crawl"):
        query(CrawlDir(str(tmp_path)), "SELECT 1")


@pytest.mark.parametrize("name", ["it's", "한글", "a[b]"])
def test_a_crawl_may_lie_in_a_directory_of_any_name(tmp_path, name):
    assert query(fill(tmp_path / name), "SELECT count(*) FROM documents")[1] == [(3,)]


def test_a_query_that_takes_too_long_is_interrupted(tmp_path):
    crawl = commit_rows(tmp_path, "fetch", 1, {"visits": [{"url": "http://a.test/"}]})
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range < 0"
    with (
        pytest.raises(QueryTimeout, match=r"the query took longer than 0\.1 seconds"),
        open_tables(crawl, crawl.manifests(), ("visits",), timeout_s=0.1) as connection,
    ):
        connection.sql(endless).fetchall()


def test_a_query_that_begins_when_the_time_is_over_is_interrupted_too(tmp_path):
    """An interrupt in the moment before a query begins, or between two of them, has no effect on the next one."""
    crawl = commit_rows(tmp_path, "fetch", 1, {"visits": [{"url": "http://a.test/"}]})
    long = "SELECT count(*) FROM range(1000000) a, range(30000) b WHERE a.range + b.range < 0"
    with (
        pytest.raises(QueryTimeout),
        open_tables(crawl, crawl.manifests(), ("visits",), timeout_s=0.01) as connection,
    ):
        interrupted = [is_interrupted(connection, long) for _ in range(3)]
    assert interrupted == [True] * 3


def is_interrupted(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        connection.sql(text).fetchall()
    except duckdb.InterruptException:
        return True
    return False


def _as_rows(crawl: CrawlDir, text: str) -> object:
    return query(crawl, text)


def _as_arrow(crawl: CrawlDir, text: str) -> object:
    return query_arrow(crawl, text)


def _as_batches(crawl: CrawlDir, text: str) -> object:
    with query_batches(crawl, text, 10) as batches:
        return batches.read_all()


ELSEWHERE = {
    "another file": "SELECT * FROM read_text('OTHER')",
    "another file, in an error": "SELECT * FROM urls WHERE (SELECT content FROM read_text('OTHER'))::INT = 1",
    "the settings": "SELECT * FROM read_text('DIR/crawl.toml')",
    "the settings, by another path": "SELECT * FROM read_text('DIR/urls/../crawl.toml')",
    "names of files": "SELECT * FROM glob('DIR/*')",
    "a copy": "COPY (SELECT 1) TO 'DIR/urls/copy.csv'",
    "a statement behind a query": "SELECT 1; COPY (SELECT 1) TO 'DIR/urls/copy.csv'",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A crawl whose settings are a secret, and another file that is one."""
    folder, other = tmp_path_factory.mktemp("crawl"), tmp_path_factory.mktemp("other") / "file"
    commit_rows(folder, "update", 1, {"urls": [{"url": "http://a.test/"}]})
    for file in (other, folder / "crawl.toml"):
        file.write_text("a secret")
    return folder, other


@pytest.mark.parametrize("ask", [_as_rows, _as_arrow, _as_batches])
@pytest.mark.parametrize("text", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_query_reads_only_the_tables(
    guarded: tuple[Path, Path], ask: Callable[[CrawlDir, str], object], text: str
) -> None:
    folder, other = guarded
    with pytest.raises(QueryError) as refused:
        ask(CrawlDir(str(folder)), text.replace("OTHER", str(other)).replace("DIR", str(folder)))
    assert "a secret" not in str(refused.value)
    assert not (folder / "urls" / "copy.csv").exists()


@pytest.mark.parametrize("ask", [partial(query, unsafe=True), partial(query_arrow, unsafe=True)])
def test_an_unsafe_query_reads_other_files(tmp_path: Path, ask: Callable[[CrawlDir, str], object]) -> None:
    commit_rows(tmp_path, "update", 1, {"urls": [{"url": "http://a.test/"}]})
    (tmp_path / "other").write_text("a secret")
    assert "a secret" in str(ask(CrawlDir(str(tmp_path)), f"SELECT content FROM read_text('{tmp_path}/other')"))
