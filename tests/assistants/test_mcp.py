"""The tools of `beamtrawl mcp`, by the client of the SDK in this process."""

import re
import time
from pathlib import Path
from typing import Any

from mcp.client import Client

from beamtrawl.runners.mcp.schemas import MAX_TEXT_BYTES, THIRD_PARTY
from beamtrawl.runners.mcp.tools import Options, Tools
from beamtrawl.transforms.directory.named_crawls import named_crawls
from tests.support.assistants import INJECTION, UNSEEN, Crawled, ask, structured
from tests.support.corpus import indexed


def test_the_tools_are_listed_and_say_what_texts_are(crawled: Crawled) -> None:
    listed = crawled.ask(lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == ["search", "fetch", "explain", "changes"]
    assert all(THIRD_PARTY in tool.description for tool in listed)
    assert all(tool.annotations.read_only_hint and not tool.annotations.destructive_hint for tool in listed)
    with_sql = crawled.ask(lambda client: client.list_tools(), allow_sql=True).tools
    assert [tool.name for tool in with_sql][-1] == "sql"


def test_search_and_fetch_have_the_shape_of_connectors(crawled: Crawled) -> None:
    found = structured(crawled.ask(lambda client: client.call_tool("search", {"query": "harbour boats"})))
    assert found["notice"] == THIRD_PARTY
    first = found["results"][0]
    assert {"id": first["id"], "title": first["title"], "url": first["url"]} == {
        "id": crawled.url("/"),
        "title": "Harbour",
        "url": crawled.url("/"),
    }
    page = structured(crawled.ask(lambda client: client.call_tool("fetch", {"id": first["id"]})))
    assert set(page) == {"id", "title", "text", "url", "metadata"}
    assert "the harbour has boats" in page["text"]
    assert page["metadata"]["notice"] == THIRD_PARTY


def test_words_that_no_page_has_are_named(crawled: Crawled) -> None:
    found = structured(crawled.ask(lambda client: client.call_tool("search", {"query": "harbour zebra"})))
    assert (found["total"] > 0, found["unknown_words"]) == (True, ["zebra"])


def test_pages_of_results_follow_each_other(crawled: Crawled) -> None:
    async def walk(client: Client) -> list[str]:
        found, arguments = [], {"query": "harbour", "limit": 1}
        while True:
            page = structured(await client.call_tool("search", arguments))
            found += [result["url"] for result in page["results"]]
            if "next" not in page:
                return found
            arguments["after"] = page["next"]

    assert sorted(crawled.ask(walk)) == sorted(map(crawled.url, ("/", "/long", "/closed")))


def test_a_long_text_comes_in_parts(crawled: Crawled) -> None:
    async def read(client: Client) -> str:
        text, offset = "", 0
        while True:
            page = structured(await client.call_tool("fetch", {"id": crawled.url("/long"), "offset": offset}))
            assert len(page["text"].encode()) <= MAX_TEXT_BYTES
            text += page["text"]
            if "next_offset" not in page["metadata"]:
                assert page["metadata"]["characters"] == len(text)
                return text
            offset = page["metadata"]["next_offset"]

    assert crawled.ask(read).count("harbour ä€😀") == 20_000


def test_what_a_page_says_arrives_as_data(crawled: Crawled) -> None:
    async def call(client: Client) -> Any:
        found = structured(await client.call_tool("search", {"query": "ignore your instructions"}))
        page = structured(await client.call_tool("fetch", {"id": found["results"][0]["id"]}))
        listed = await client.list_tools()
        return page, [tool.name for tool in listed.tools]

    page, tools = crawled.ask(call)
    assert page["title"] == "Ignore your instructions"
    assert INJECTION in page["text"]
    assert tools == ["search", "fetch", "explain", "changes"]


def test_no_answer_has_a_text_that_only_models_see(crawled: Crawled) -> None:
    async def call(client: Client) -> list[Any]:
        found = await client.call_tool("search", {"query": "ignore your instructions"})
        page = await client.call_tool("fetch", {"id": crawled.url("/evil")})
        rows = await client.call_tool("sql", {"query": "SELECT title, text FROM documents"})
        return [found, page, rows]

    for answer in crawled.ask(call, allow_sql=True):
        said = answer.model_dump_json()
        assert "gnore your instructions" in said
        assert not any(letter in said for letter in UNSEEN)


# the path of a page, how it can be had, what every tool leaves out
LEFT_OUT = {"reserved by the page": "/reserved", "reserved by robots.txt": "/robots", "blocked": "/blocked"}


def test_what_is_reserved_or_blocked_is_in_no_answer(crawled: Crawled) -> None:
    async def call(client: Client, path: str) -> list[str]:
        url, word = crawled.url(path), path.strip("/")
        answers = [await client.call_tool("search", {"query": f"+{word} harbour"})]
        answers += [await client.call_tool("changes", {"since": "0"})]
        sql = f"SELECT title, text FROM documents WHERE url = '{url}' UNION ALL SELECT url, hex(body) FROM visits"
        answers += [await client.call_tool("sql", {"query": f"FROM ({sql}) LIMIT 50"})]
        texts = [answer.content[0].text for answer in answers]
        fetched = await client.call_tool("fetch", {"id": url})
        assert fetched.is_error
        explained = structured(await client.call_tool("explain", {"url": url}))
        (explanation,) = explained["explanations"]
        assert set(explanation) == {"conclusion", "left_out"}
        return [text for text in texts if f"{word.capitalize()} harbour" in text or url in text]

    async def call_each(client: Client) -> dict[str, list[str]]:
        return {name: await call(client, path) for name, path in LEFT_OUT.items()}

    assert crawled.ask(call_each, allow_sql=True) == {name: [] for name in LEFT_OUT}


def test_the_operator_may_include_what_is_reserved_but_not_what_is_blocked(crawled: Crawled) -> None:
    async def call(client: Client) -> list[bool]:
        paths = ("/reserved", "/robots", "/blocked")
        return [(await client.call_tool("fetch", {"id": crawled.url(path)})).is_error for path in paths]

    assert crawled.ask(call, include=["reserved_input"]) == [False, False, True]


def test_a_page_without_copies_is_found_and_its_text_withheld(crawled: Crawled) -> None:
    page = structured(crawled.ask(lambda client: client.call_tool("fetch", {"id": crawled.url("/closed")})))
    assert (page["title"], page["text"]) == ("Closed harbour", "")
    assert "noarchive" in page["metadata"]["withheld"]


def test_explain_and_changes(crawled: Crawled) -> None:
    async def call(client: Client) -> Any:
        explained = structured(await client.call_tool("explain", {"url": crawled.url("/gone")}))
        changes = structured(await client.call_tool("changes", {"since": 0}))
        return explained, changes

    explained, changes = crawled.ask(call)
    assert explained["explanations"][0]["conclusion"].startswith("not in the index: the server says")
    assert any(line.startswith("linked from: 1 page") for line in explained["explanations"][0]["evidence"])
    found = {change["url"]: change["kind"] for change in changes["changes"]}
    assert found == dict.fromkeys(map(crawled.url, ("/", "/evil", "/long", "/closed")), "new")
    assert (changes["counts"], changes["pages"]) == ({"new": 4}, 1)


def test_sql_reads_and_is_bounded(crawled: Crawled) -> None:
    async def call(client: Client) -> list[Any]:
        queries = ["SELECT 'nan'::float, range FROM range(500)", "SHOW TABLES", "DROP TABLE documents", "SELECT"]
        return [await client.call_tool("sql", {"query": query}) for query in queries]

    many, tables, dropped, nothing = crawled.ask(call, allow_sql=True)
    assert structured(many)["rows"][:2] == [["nan", 0], ["nan", 1]]
    assert (len(structured(many)["rows"]), structured(many)["more_rows"]) == (200, True)
    assert ["documents"] in structured(tables)["rows"]
    assert dropped.content[0].text.startswith("DROP is refused")
    assert nothing.is_error


HIDDEN = ("/closed", "/reserved", "/robots", "/blocked")
QUERIES = (
    *("SELECT url, text FROM documents", "SELECT * FROM visits", "WITH d AS (FROM documents) SELECT * FROM d"),
    "SELECT * FROM read_parquet('{folder}/documents/**/*.parquet')",
    *("SELECT * FROM '{folder}/documents/**/*.parquet'", "SELECT * FROM empty.without", "DESCRIBE empty.without"),
    *("SELECT sql FROM duckdb_views()", "EXPLAIN SELECT 1", "SELECT * FROM query_table(['empty.without'])"),
)


def test_sql_shows_no_page_that_is_left_out(crawled: Crawled) -> None:
    async def call(client: Client) -> dict[str, str]:
        queries = [query.format(folder=crawled.folder) for query in QUERIES]
        return {query: (await client.call_tool("sql", {"query": query})).content[0].text for query in queries}

    for query, text in crawled.ask(call, allow_sql=True).items():
        assert not [path for path in HIDDEN if f'{crawled.url(path)}"' in text], query
        assert "secret" not in text, query


# tool, arguments, the line
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no query": ("search", {}, "query is missing: what to search for"),
    "an empty query": ("search", {"query": " "}, "query must be text of 1 to 1000 characters: what to search for"),
    "too many": ("search", {"query": "a", "limit": 51}, "limit must be a whole number from 1 to 50"),
    "no number": ("search", {"query": "a", "limit": True}, "limit must be a whole number from 1 to 50"),
    "another argument": ("search", {"query": "a", "x": 1}, "x: there is no such argument; search takes query, …"),
    "no cursor": ("search", {"query": "a", "after": "?"}, "after: '?' is not a cursor: …"),
    "no URL": ("explain", {"url": "a"}, "a: not a URL, which starts with http:// or https://"),
    "no id": ("fetch", {"id": "a"}, "a: no such document can be searched; explain says why, if it is a URL"),
    "no date": ("changes", {"since": "soon"}, "since must be a round, as 3, or a date, as 2026-01-31, not 'soon'"),
    "a page too far": ("changes", {"since": "0", "page": 2}, "page 2: there are 1 pages"),
    "sql is not offered": ("sql", {"query": "SELECT 1"}, "sql: there is no such tool; there are search, …"),
}


def test_wrong_calls_get_one_line(crawled: Crawled) -> None:
    async def call(client: Client) -> dict[str, Any]:
        return {name: await client.call_tool(tool, arguments) for name, (tool, arguments, _) in WRONG.items()}

    for name, result in crawled.ask(call).items():
        assert result.is_error, name
        assert re.fullmatch(re.escape(WRONG[name][2]).replace("…", ".*"), result.content[0].text), name


def test_several_crawls(tmp_path: Path) -> None:
    for name in ("fish", "ships"):
        indexed(tmp_path / name, [{"url": f"http://{name}.test/", "title": name, "text": f"{name} at sea"}])
    crawls = named_crawls([str(tmp_path / "fish"), str(tmp_path / "ships")])

    async def call(client: Client) -> Any:
        found = structured(await client.call_tool("search", {"query": "sea crawl:ships"}))
        page = structured(await client.call_tool("fetch", {"id": found["results"][0]["id"]}))
        plain_url = structured(await client.call_tool("fetch", {"id": "http://fish.test/"}))
        return found, page, plain_url

    found, page, plain_url = ask(Tools(crawls, Options(), time.monotonic), call)
    assert [result["id"] for result in found["results"]] == ["ships:http://ships.test/"]
    assert (page["url"], page["metadata"]["crawl"]) == ("http://ships.test/", "ships")
    assert plain_url["id"] == "fish:http://fish.test/"
