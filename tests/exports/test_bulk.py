"""`beamtrawl export bulk`: what is chosen, exact lines for each engine, and what `--since` adds and deletes."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.exports.bulk import FORMATS
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl, failure
from tests.support.committed import commit_rows

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def page(path: str, **columns: Any) -> dict[str, Any]:
    own = {"host": "a.test", "domain": "a.test", "media_type": "text/html", "fetched_at": NOW}
    return {"url": f"http://a.test/{path}", "text": f"text of {path}", "language": "en"} | own | columns


def id_of(path: str) -> str:
    return url_key(f"http://a.test/{path}").hex()


PAGES = [
    page("plain", title='A "title"\u2028</script>', headings=["One", "Two"], published_at=NOW),
    page("facts", facts={"author": "Ann\nBob", "parse_error": "cut"}),
    page("copy", duplicate_of=b"x" * 16),
    page("noindex", noindex=True),
    page("noarchive", noarchive=True),
    page("late", unavailable_after=NOW),
    page("empty", text=""),
    page("gone"),
    page("hidden", search=False),
    page("no-input", ai_input=False, ai_training=False, tdm_reservation=True),  # searches may find it
    page("tag/kept-out"),
    page("changes", text="first version"),
    page("vanishes"),
    page("snippet", max_snippet=0),
    page("down"),  # in round 2, its host does not answer
    page("parts", text="shown hidden shown", nosnippet=[6, 13]),
]
CHOSEN = ["changes", "down", "facts", "no-input", "parts", "plain", "vanishes"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    (folder / "crawl.toml").write_text('[index]\nexclude = ["/tag/"]\n')
    commit_rows(folder, "update", 1, {"documents": PAGES, "urls": [{"url": "http://a.test/gone", "state": "gone"}]})
    later = [page("changes", text="second version"), page("added"), page("added-hidden", search=False)]
    states = [{"url": "http://a.test/vanishes", "state": "gone"}, {"url": "http://a.test/down", "state": "due"}]
    visits = [
        {"url": "http://a.test/down", "outcome": outcome, "round": number, "fetched_at": NOW + timedelta(days=number)}
        for number, outcome in enumerate(("fetched", "http_error"), 1)
    ]
    commit_rows(folder, "update", 2, {"documents": later, "urls": states, "visits": visits})
    return folder


def export(crawl: Path, out: Path, *words: object) -> str:
    done = beamtrawl("export", "bulk", crawl, out, *words)
    assert done.code == 0, done.err
    return done.out


def lines(folder: Path) -> list[Any]:
    return [
        json.loads(line) for path in sorted(folder.glob("documents-*")) for line in path.read_bytes().split(b"\n")[:-1]
    ]


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_bulk_actions(crawl, tmp_path, engine):
    said = export(crawl, tmp_path / "out", "--for", engine, "--index", "docs")
    actions = lines(tmp_path / "out")
    urls = [document["url"].removeprefix("http://a.test/") for document in actions[1::2]]
    assert urls == ["added", "changes", "down", "facts", "no-input", "parts", "plain"]
    assert actions[::2] == [{"index": {"_index": "docs", "_id": id_of(path)}} for path in urls]
    by_path = dict(zip(urls, actions[1::2], strict=True))
    assert by_path["plain"] == {
        **{"url": "http://a.test/plain", "host": "a.test", "domain": "a.test", "title": 'A "title"\u2028</script>'},
        **{"headings": ["One", "Two"], "text": "text of plain", "language": "en", "media_type": "text/html"},
        **{"published_at": "2026-01-02T03:04:05Z", "fetched_at": "2026-01-02T03:04:05Z"},
    }
    assert by_path["facts"]["facts"] == {"author": ["Ann", "Bob"]}  # what went wrong is none of the page
    assert by_path["changes"]["text"] == "second version"
    assert by_path["parts"]["text"] == "shown shown"
    assert said == (
        "7 documents as of round 2 (left out: 1 duplicate, 2 gone, 1 index_scope, 1 no_text, 1 noarchive, 1 noindex,"
        f" 1 nosnippet, 2 reserved_search, 1 unavailable): {tmp_path / 'out'}\n"
    )
    mapping = json.loads((tmp_path / "out" / "mapping.json").read_bytes())["mappings"]
    assert set(mapping["properties"]) >= set(by_path["plain"])


def test_only_what_differs_since_a_round(crawl, tmp_path):
    export(crawl, tmp_path / "out", "--for", "opensearch", "--since", 1)
    found = [next(iter(line.items())) for line in lines(tmp_path / "out") if len(line) == 1]
    assert [action["_id"] for name, action in found if name == "index"] == [id_of("added"), id_of("changes")]
    deleted = {action["_id"] for name, action in found if name == "delete"}
    left = ("copy", "noindex", "noarchive", "late", "empty", "gone", "hidden", "tag/kept-out", "vanishes", "snippet")
    assert deleted == {id_of(path) for path in left}  # to delete what an engine does not have is no error there


def test_what_a_condition_leaves_out_is_deleted(crawl, tmp_path):
    export(crawl, tmp_path / "out", "--for", "opensearch", "--since", 2, "--where", "url NOT LIKE '%plain%'")
    assert id_of("plain") in {line["delete"]["_id"] for line in lines(tmp_path / "out") if "delete" in line}
    assert id_of("facts") not in str(lines(tmp_path / "out"))


def test_an_operator_sets_reasons_aside_by_name(crawl, tmp_path):
    words = [word for name in ("duplicate", "noindex", "noarchive", "reserved_search") for word in ("--include", name)]
    export(crawl, tmp_path / "out", "--for", "meilisearch", *words)
    found = {line["url"].removeprefix("http://a.test/") for line in lines(tmp_path / "out")}
    more = {"copy", "noindex", "noarchive", "hidden", "added", "added-hidden"}
    assert found == {*CHOSEN, *more} - {"vanishes"}


def test_typesense_and_meilisearch(crawl, tmp_path):
    for engine in ("typesense", "meilisearch"):
        export(crawl, tmp_path / engine, "--for", engine, "--since", 1)
        assert [line["id"] for line in lines(tmp_path / engine)] == [id_of("added"), id_of("changes")]
        assert id_of("vanishes") in json.loads((tmp_path / engine / "deletions.json").read_bytes())
    document = lines(tmp_path / "typesense")[0]
    assert document["fetched_at"] == int(NOW.timestamp())
    schema = json.loads((tmp_path / "typesense" / "collection.json").read_bytes())
    assert {field["name"] for field in schema["fields"]} >= set(document) - {"id"}
    settings = json.loads((tmp_path / "meilisearch" / "settings.json").read_bytes())
    assert settings["searchableAttributes"] == ["title", "headings", "description", "text"]


def test_a_file_is_one_request(tmp_path):
    commit_rows(tmp_path / "crawl", "update", 1, {"documents": [page(f"{n}", text="x" * 4_000_000) for n in range(5)]})
    export(tmp_path / "crawl", tmp_path / "out", "--for", "opensearch")
    files = sorted((tmp_path / "out").glob("documents-*"))
    assert [path.read_bytes().count(b"\n") for path in files] == [4, 4, 2]  # an action and its document stay together
    assert all(path.stat().st_size < 10_000_000 for path in files)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--since", 3], "--since 3: the last round with documents is 2; name it, or one before it"),
        (["--where", "nothing = 1"], "--where nothing = 1: "),
        (["--index", "Pages"], "argument --index: Pages: must be lower-case letters, digits, _ and -"),
    ],
)
def test_bad_words_are_one_line_and_nothing_is_written(crawl, tmp_path, words, said):
    assert failure("export", "bulk", crawl, tmp_path / "out", "--for", "opensearch", *words)[1].startswith(said)
    assert not list(tmp_path.glob("out/*"))


def test_no_document_is_no_error(crawl, tmp_path):
    ran = beamtrawl("export", "bulk", crawl, tmp_path / "out", "--for", "opensearch", "--where", "false")
    assert ran[:3] == (0, f"0 documents as of round 2: {tmp_path}/out\n", "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mapping.json"]


def test_engines_are_those_of_the_documentation():
    text = Path("docs/export.md").read_text()
    assert all(f"--for {engine}" in text for engine in FORMATS)
