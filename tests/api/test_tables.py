"""`beamtrawl.open`: the tables of a crawl, SQL, search and status from Python."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import beamtrawl
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.sql.queries import open_tables
from beamtrawl.transforms.sql.views import SNAPSHOTS
from beamtrawl.transforms.tables.schemas import TABLES
from tests.support import stores
from tests.support.command_line import beamtrawl as command
from tests.support.web import Web

ROOT = Path(__file__).resolve().parents[2]


def test_each_table_has_the_rows_that_sql_shows(crawl: beamtrawl.Crawl) -> None:
    directory = CrawlDir(crawl.directory)
    with open_tables(directory, directory.manifests(), TABLES) as connection:
        for name in TABLES:
            table: beamtrawl.Table = getattr(crawl, name)
            found, shown = table.to_arrow(), connection.sql(f"SELECT * FROM {name}")
            names, rows = shown.columns, shown.fetchall()
            assert found.schema.equals(TABLES[name])
            assert table.columns == names
            assert len(table) == found.num_rows == len(rows), name
            key = (SNAPSHOTS.get(name) or names[0]).split(", ")
            places = [names.index(column) for column in key]
            assert sorted(tuple(row[column] for column in key) for row in found.to_pylist()) == sorted(
                tuple(row[place] for place in places) for row in rows
            ), name


def test_a_crawl_has_a_property_for_each_table_and_no_other() -> None:
    properties = {name for name, value in vars(beamtrawl.Crawl).items() if type(value).__name__ == "_TableProperty"}
    assert properties == TABLES.keys()
    assert all(getattr(beamtrawl.Crawl, name).__doc__ for name in properties)


def test_a_snapshot_has_the_newest_row_of_each_key_and_its_history_all(crawl: beamtrawl.Crawl) -> None:
    assert len(crawl.urls) == len(set(crawl.urls.to_arrow()["url"].to_pylist())) == 5
    assert len(crawl.urls.history) == crawl.status().tables["urls"] > 5
    assert len(crawl.urls.history.to_arrow()) == len(crawl.urls.history)
    assert set(crawl.urls.to_arrow()["state"].to_pylist()) == {"fetched", "redirected", "gone"}
    assert "due" in crawl.urls.history.to_arrow()["state"].to_pylist()
    assert len(crawl.documents.history) == len(crawl.documents) == 3


def test_columns_and_rows_are_chosen_before_they_are_read(crawl: beamtrawl.Crawl) -> None:
    for table in (crawl.visits, crawl.urls):
        chosen = table.filter(pc.field("depth") == 1).select(["depth", "url"]).filter(pc.field("host") != "b.test")
        assert chosen.schema == pa.schema([TABLES[table.name].field("depth"), TABLES[table.name].field("url")])
        assert chosen.to_arrow().schema == chosen.schema
        assert len(chosen) == 4
        assert set(chosen.to_arrow()["depth"].to_pylist()) == {1}
        assert len(chosen.filter(pc.field("url") == "")) == 0
        assert sum(batch.num_rows for batch in chosen.to_batches(batch_size=3)) == 4
        assert chosen.head(2).num_rows == 2
        assert chosen.scanner(columns=["host"]).to_table().column_names == ["host"]


def test_a_single_column_and_a_condition_that_is_none(crawl: beamtrawl.Crawl) -> None:
    assert crawl.seeds.select("url").columns == ["url"]
    with pytest.raises(
        TypeError, match=r"filter takes an Arrow expression, such as .* and not 'depth = 1'; .* crawl\.sql"
    ):
        crawl.urls.filter("depth = 1")  # type: ignore[arg-type]


def test_a_column_that_is_not_there(crawl: beamtrawl.Crawl) -> None:
    with pytest.raises(KeyError, match="table seeds has no column 'colour'; it has url_key, url, "):
        crawl.seeds.select(["url", "colour"])
    with pytest.raises(KeyError, match="there is no table 'pages'; there are frontier, frontier_left, "):
        crawl.table("pages")


def test_rows_in_pandas_and_polars(crawl: beamtrawl.Crawl) -> None:
    titles = crawl.documents.select(["title", "fetched_at"])
    frame, polars = titles.to_pandas(), titles.to_polars()
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert sorted(frame["title"]) == sorted(polars["title"]) == ["Fishing by the moon", "Nets", "Tide tables"]
    assert str(frame["fetched_at"].dt.tz) == "UTC"
    assert titles.to_pylist()[0].keys() == {"title", "fetched_at"}
    for name in TABLES:
        assert crawl.table(name).to_polars().shape == crawl.table(name).to_pandas().shape


def test_a_library_that_is_missing_is_named_with_its_extra(finished: beamtrawl.Report) -> None:
    program = (
        "import sys, beamtrawl\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "table = beamtrawl.open(sys.argv[1]).seeds\n"
        "for method in table.to_pandas, table.to_polars:\n"
        "    try: method()\n"
        "    except beamtrawl.MissingLibraryError as error: print(error, isinstance(error, ImportError))"
    )
    words = [sys.executable, "-c", program, finished.directory]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.splitlines() == [
        "to_pandas() needs pandas; install it: pip install 'beamtrawl[pandas]' True",
        "to_polars() needs polars; install it: pip install 'beamtrawl[polars]' True",
    ]


def test_a_table_keeps_the_rows_of_its_moment_and_the_crawl_sees_new_ones(planned: Path) -> None:
    crawl = beamtrawl.open(planned)
    seeds = crawl.seeds
    beamtrawl.crawl(planned, "http://127.0.0.1:9/other", rounds=0)
    assert (len(seeds), len(crawl.seeds)) == (1, 2)


def test_files_are_those_that_manifests_name(finished: beamtrawl.Report, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(finished.directory, tmp_path / "copy"))
    crawl = beamtrawl.open(copy)
    (file,) = crawl.seeds.files
    shutil.copy(file, Path(file).with_name("stray.parquet"))
    assert (len(crawl.seeds), crawl.seeds.to_arrow().num_rows) == (1, 1)


def test_sql(crawl: beamtrawl.Crawl) -> None:
    found = crawl.sql("SELECT depth, count(*) AS n FROM urls WHERE depth < ? GROUP BY 1 ORDER BY 1", [9])
    assert found.fetchall() == [(0, 1), (1, 4)]
    assert (found.columns, len(found)) == (["depth", "n"], 2)
    assert found.to_arrow()["n"].to_pylist() == found.to_pandas()["n"].tolist() == found.to_polars()["n"].to_list()
    assert found.to_pylist()[0] == {"depth": 0, "n": 1}
    with pytest.raises(beamtrawl.QueryError, match="there is no table pages; the tables are alerts, "):
        crawl.sql("SELECT * FROM pages")


def test_a_connection_of_duckdb(crawl: beamtrawl.Crawl) -> None:
    with crawl.connect() as connection:
        assert connection.sql("FROM urls").filter("state = 'gone'").count("*").fetchall() == [(1,)]
        assert connection.sql("FROM urls_history").count("*").fetchall() == [(len(crawl.urls.history),)]


def test_a_connection_names_the_damaged_file(finished: beamtrawl.Report, tmp_path: Path) -> None:
    crawl = beamtrawl.open(shutil.copytree(finished.directory, tmp_path / "copy"))
    (file,) = crawl.seeds.files
    Path(file).write_bytes(Path(file).read_bytes()[:-9])
    with pytest.raises(beamtrawl.CrawlDirError) as caught:
        crawl.connect()
    assert str(caught.value).startswith("seeds/round=000000/part-")
    assert "bytes" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_search(crawl: beamtrawl.Crawl, web: Web) -> None:
    hits = crawl.search("herring", limit=1)
    assert (hits.query, hits.total, hits.suggestion, len(hits)) == ("herring", 2, None, 1)
    (hit,) = hits
    assert isinstance(hit, beamtrawl.Hit)
    assert hits[0] is hit
    assert str(hit.snippet) == "".join(text for text, _ in hit.snippet) != ""
    assert crawl.search("herring", offset=1)[0].url != hit.url
    assert crawl.search("herring", after=hits.next)[0].url == crawl.search("herring", offset=1)[0].url
    assert crawl.search("herring", after=hits.next).next is None
    assert not hits.is_partial
    assert crawl.search("herring", timeout=1e-9).is_partial
    with pytest.raises(ValueError, match="'odd' is not a cursor"):
        crawl.search("herring", after="odd")
    with pytest.raises(ValueError, match="neither offset nor per_host"):
        crawl.search("herring", after=hits.next, offset=1)
    with pytest.raises(ValueError, match="as_of = 1: the hits of after are of the index as of round"):
        crawl.search("herring", after=hits.next, as_of=1)
    with pytest.raises(ValueError, match="timeout = 0: must be more than 0"):
        crawl.search("herring", timeout=0)
    assert crawl.search("herring", as_of=1).total == 1
    assert crawl.search("hering").suggestion == "herring"
    assert crawl.search("herring submarine").unknown_words == ("submarine",)
    assert crawl.search("tow", explain=True)[0].explanation is not None
    frame = crawl.search("title:tide").to_pandas()
    assert frame[["title", "url"]].to_numpy().tolist() == [["Tide tables", web.url("a.test", "/tides")]]
    assert hits.to_dict()["hits"][0]["url"] == hit.url
    for wrong in ({"limit": 0}, {"offset": -1}, {"per_host": 0}):
        with pytest.raises(ValueError, match="must be at least"):
            crawl.search("herring", **wrong)
    with pytest.raises(beamtrawl.CrawlDirError, match="no index as of round 0"):
        crawl.search("herring", as_of=0)


def test_a_url_is_explained_as_by_the_command(crawl: beamtrawl.Crawl, web: Web) -> None:
    for url in (web.url("a.test", "/tides"), "http://nowhere.test/"):
        found = json.dumps(crawl.explain(url), default=str)
        assert json.loads(found) == json.loads(command("explain", crawl.directory, url, "--json").out)
    with pytest.raises(ValueError, match="tides: not a URL that can be fetched"):
        crawl.explain("tides")


def test_an_index_serves_until_another_step_is_committed(finished: beamtrawl.Report, tmp_path: Path) -> None:
    crawl = beamtrawl.open(shutil.copytree(finished.directory, tmp_path / "copy"))
    index = crawl._index(None)
    assert crawl._index(None) is index
    assert crawl._index(1) is not index
    assert crawl._index(None) is index
    CrawlDir(crawl.directory).commit(Manifest("seeds", 0, "", (), {}, (), "", ""), "-more")
    assert crawl._index(None) is not index


def test_what_a_notebook_shows(crawl: beamtrawl.Crawl, finished: beamtrawl.Report) -> None:
    assert repr(crawl) == f"<Crawl {finished.directory}>"
    assert repr(crawl.seeds) == f"<Table seeds: {len(TABLES['seeds'])} columns, 1 files>"
    shown = crawl.sql("SELECT '<b>' AS a, 'x'::BLOB AS b, repeat('y', 99) AS c, NULL AS d")
    assert repr(shown) == "<QueryResult: 1 rows of a, b, c, d>"
    assert shown._repr_html_() == (
        "<table><caption>1 of 1 rows</caption><tr><th>a</th><th>b</th><th>c</th><th>d</th></tr>"
        f"<tr><td>&lt;b&gt;</td><td>78</td><td>{'y' * 59}…</td><td></td></tr></table>"
    )
    assert "urls: 5 of 5 rows" in crawl.urls._repr_html_()
    assert repr(crawl.search("herring", 1)) == "<Hits for 'herring': 1 of 2>"
    assert "herring: 1 of 2 documents" in crawl.search("herring", 1)._repr_html_()


def test_a_directory_without_a_crawl(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", str(tmp_path)):
        with pytest.raises(beamtrawl.CrawlDirError, match="holds no crawl; start one with: beamtrawl crawl"):
            beamtrawl.open(path)


def test_a_crawl_without_an_index(planned: Path) -> None:
    with pytest.raises(beamtrawl.CrawlDirError, match="has no index yet"):
        beamtrawl.open(planned).search("fish")


@pytest.mark.slow("object stores")
def test_tables_of_an_object_store(finished: beamtrawl.Report, tmp_path: Path) -> None:
    local = beamtrawl.open(shutil.copytree(finished.directory, tmp_path / "copy"))
    crawl = beamtrawl.open(stores.url(tmp_path / "copy"))
    assert crawl.directory.startswith("store://")
    for name in TABLES:
        assert crawl.table(name).to_arrow().num_rows == local.table(name).to_arrow().num_rows == len(crawl.table(name))
    chosen = crawl.documents.filter(pc.field("depth") == 0).select(["title"])
    assert chosen.to_pylist() == [{"title": "Fishing by the moon"}]
    assert crawl.sql("SELECT count(*) FROM urls").fetchall() == [(5,)]
    assert [hit.url for hit in crawl.search("tide")] == [hit.url for hit in local.search("tide")] != []
