"""How the gateway is operated: what it reports, what it bounds, and what it survives."""

import contextlib
import http.client
import itertools
import logging
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from beamtrawl.search.gateway.app import Receipt, create_app
from beamtrawl.search.gateway.rate_limits import Rate
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from tests.support.command_line import beamtrawl
from tests.support.corpus import commit, indexed
from tests.support.gateways import serving

MAX_FORM_BYTES = 64 << 10  # stated here and not imported: a changed limit fails a test

WORDS = [{"url": f"http://a.test/{n}", "text": f"word number{n}"} for n in range(3)]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A crawl of WORDS. Tests only read it."""
    return indexed(tmp_path_factory.mktemp("words"), WORDS)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def seeds(crawl, suffix=""):
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""), suffix)


def metrics(client):
    """The values of all metrics, by name and labels."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = itertools.chain.from_iterable(family.samples for family in families)
    return {(sample.name.removeprefix("beamtrawl_"), *sample.labels.values()): sample.value for sample in samples}


def test_the_gateway_follows_the_crawl(tmp_path):
    crawl, clock = CrawlDir(str(tmp_path)), Clock()
    seeds(crawl)
    client = create_app(crawl, clock=clock).test_client()
    assert client.get("/").status_code == 503
    for path in ("/api/search?q=word", "/healthz"):
        answer = client.get(path)
        assert (answer.status_code, "no index" in answer.json["error"]) == (503, True)
        assert str(tmp_path) not in answer.text
    assert metrics(client)["index_documents",] == 0

    for round_, found in ((1, 1), (2, 2)):
        commit(crawl, round_, [{"url": f"http://a.test/{round_}", "text": "word"}])
        clock.now += 2
        assert client.get("/api/search?q=word").json["total"] == found
        assert client.get("/healthz").json == {"status": "ok", "documents": found}


def test_the_crawl_is_looked_at_once_a_second(tmp_path):
    crawl, clock = indexed(tmp_path, WORDS), Clock()
    client = create_app(crawl, clock=clock).test_client()
    assert client.get("/healthz").json["documents"] == 3
    commit(crawl, 2, [{"url": "http://a.test/new", "text": "word"}])
    found = []
    for clock.now in (100.9, 101.1):
        found.append(client.get("/healthz").json["documents"])
    assert found == [3, 4]


def test_what_changes_no_index_does_not_have_it_opened_anew(tmp_path):
    crawl, clock = indexed(tmp_path, WORDS), Clock()
    client = create_app(crawl, clock=clock).test_client()
    assert client.get("/healthz").status_code == 200
    (tmp_path / "manifests" / "000001-update.json").write_text("{")  # which opening it would read
    seeds(crawl, "-1a2b3c4d")
    clock.now += 2
    assert client.get("/api/search?q=word").json["total"] == 3


def test_an_index_that_cannot_be_opened_leaves_the_one_before_until_it_can(tmp_path, caplog):
    crawl, clock = indexed(tmp_path, WORDS), Clock()
    client = create_app(crawl, clock=clock).test_client()
    assert client.get("/healthz").status_code == 200
    commit(crawl, 2, [{"url": "http://a.test/new", "text": "word"}])
    manifest = tmp_path / "manifests" / "000002-update.json"
    whole = manifest.read_text()
    manifest.write_text("{")
    for clock.now in (102, 104):
        assert client.get("/api/search?q=word").json["total"] == 3
    assert caplog.text.count("000002-update.json cannot be used") == 1
    manifest.write_text(whole)  # the names of the manifests are the same as at the failed look
    clock.now += 2
    assert client.get("/api/search?q=word").json["total"] == 4


def test_files_that_a_merge_has_removed_cost_no_query(tmp_path):
    indexed(tmp_path, WORDS, [{"url": "http://a.test/new", "title": "New", "text": "word"}])
    client = create_app(CrawlDir(str(tmp_path)), clock=Clock()).test_client()  # which looks at the crawl once
    assert client.get("/api/search?q=nothing").json["total"] == 0
    assert beamtrawl("compact", tmp_path, "--drop-history").code == 0
    assert client.get("/api/search?q=word").json["total"] == 4
    assert client.get("/cached?url=http://a.test/new").status_code == 200


def test_files_that_a_merge_has_removed_cost_no_cursor(tmp_path):
    crawl = indexed(tmp_path, WORDS, [{"url": "http://a.test/new", "title": "New", "text": "word"}])
    first = create_app(crawl, clock=Clock()).test_client().get("/api/search?q=word&limit=1").json
    client = create_app(crawl, clock=Clock()).test_client()  # which looks at the crawl once
    assert client.get("/api/search?q=nothing").json["total"] == 0
    assert beamtrawl("compact", tmp_path, "--drop-history").code == 0
    assert len(client.get("/api/search?q=word&after=" + first["next"]).json["hits"]) == 3


def test_the_gateway_is_unwell_when_queries_fail(tmp_path, caplog):
    clock = Clock()
    client = create_app(indexed(tmp_path, WORDS), clock=clock).test_client()
    assert client.get("/healthz").status_code == 200
    (store,) = tmp_path.rglob("docstore.parquet")
    kept = store.read_bytes()
    store.write_bytes(b"")
    found = []
    for clock.now in (100.5, 102):
        found.append(client.get("/healthz").status_code)
    assert found == [200, 500]  # one search a second
    store.write_bytes(kept)
    assert client.get("/healthz").status_code == 200


# the names of the gateway, that of a request: the status
HOSTS = [
    ([], "anything.test", 200),
    (["search.test"], "search.test", 200),
    (["search.test"], "search.test:8000", 200),
    (["search.test"], "SEARCH.test", 200),
    (["search.test"], "attacker.test", 400),
    (["search.test"], "search.test.attacker.test", 400),
    ([".search.test"], "my.search.test", 200),
    ([".search.test"], "my-search.test", 400),
    (["127.0.0.1"], "127.0.0.1:8000", 200),
    (["[::1]"], "[::1]:8000", 200),
]


def test_the_names_of_the_gateway(words):
    def status(hosts, host):
        client = create_app(words, hosts=hosts).test_client()
        return client.get("/api/search?q=word", headers={"Host": host}).status_code

    assert [(hosts, host, status(hosts, host)) for hosts, host, _ in HOSTS] == HOSTS


# the headers of a form: the status
FORMS = [
    ({}, 200),
    ({"Origin": "http://localhost"}, 200),
    ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}, 200),
    ({"Origin": "http://attacker.test"}, 403),
    ({"Origin": "https://localhost"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
]


def test_forms_of_other_sites_are_refused(words):
    client = create_app(words).test_client()
    posted = [(headers, client.post("/", data={"q": "word"}, headers=headers).status_code) for headers, _ in FORMS]
    assert posted == FORMS
    assert {client.get("/?q=word", headers=headers).status_code for headers, _ in FORMS} == {200}  # a link elsewhere


def test_what_browsers_may_keep(words):
    client = create_app(words).test_client()
    paths = ("/?q=word", "/api/search?q=word", "/api/search", "/metrics", "/static/style.css")
    assert [client.get(path, buffered=True).headers["Cache-Control"] for path in paths] == [
        "private, max-age=60",
        "private, max-age=60",
        "no-store",
        "no-store",
        "public, max-age=3600",
    ]


def test_the_name_of_the_operator(words):
    client = create_app(words, title="<b>Fish</b>").test_client()
    for path in ("/", "/?q=word", "/help", "/cached?url=http://a.test/0", "/missing"):
        page = client.get(path).text
        assert "&lt;b&gt;Fish&lt;/b&gt;</title>" in page and "Beamtrawl" not in page


def test_the_metrics_of_prometheus(tmp_path):
    clock = Clock()
    client = create_app(indexed(tmp_path, WORDS[:1], WORDS[1:]), clock=clock).test_client()
    clock.now += 60
    for path in ("/", "/?q=word", "/api/search?q=word", "/api/search", "/missing"):
        client.get(path)
    assert client.get("/metrics").content_type.startswith("text/plain; version=")
    found = metrics(client)
    assert {name: value for name, value in found.items() if name[0] == "requests_total"} == {
        ("requests_total", "page", "200"): 2,
        ("requests_total", "api", "200"): 1,
        ("requests_total", "api", "400"): 1,
        ("requests_total", "other", "404"): 1,
        ("requests_total", "metrics", "200"): 1,
    }
    assert found["query_seconds_count",] == 2
    assert found["index_documents",] == 3
    assert found["index_segments",] == 2
    assert found["index_round",] == 1
    assert found["uptime_seconds",] == 60


@pytest.mark.parametrize("damage", [b"", b"PAR1" + bytes(10_000) + b"PAR1"], ids=["cut", "overwritten"])
def test_a_query_that_fails_is_told_and_logged_and_the_others_go_on(tmp_path: Path, caplog, damage):
    client = create_app(indexed(tmp_path, WORDS)).test_client()
    assert client.get("/api/search?q=number1").json["total"] == 1
    (store,) = tmp_path.rglob("docstore.parquet")
    kept = store.read_bytes()
    store.write_bytes(damage)
    page, api = client.get("/?q=number2"), client.get("/api/search?q=number2")
    assert (page.status_code, 'role="alert"' in page.text, str(tmp_path) in page.text) == (500, True, False)
    assert (api.status_code, "log" in api.json["error"]) == (500, True)
    assert "'/?q=number2' failed" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert sum(value for name, value in metrics(client).items() if name[0] == "errors_total") == 2
    store.write_bytes(kept)
    assert client.get("/api/search?q=number2").json["total"] == 1


def test_a_client_that_asks_too_often_waits(words):
    clock = Clock()
    app = create_app(words, rate=Rate(0.5, 2), clock=clock)
    client = app.test_client()

    def ask(path="/api/search?q=word", address="192.0.2.1"):
        return client.get(path, environ_base={"REMOTE_ADDR": address})

    assert [ask().status_code for _ in range(3)] == [200, 200, 429]
    refused = ask()
    assert (refused.headers["Retry-After"], refused.json) == ("3", {"error": "Too many requests. Try again in 3 s."})
    assert 'role="alert"' in ask("/").text
    assert ask(address="192.0.2.2").status_code == 200
    assert {ask(path).status_code for path in ("/healthz", "/metrics")} == {200}
    clock.now += 3
    assert [ask().status_code for _ in range(2)] == [200, 429]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Makes applications with all that is optional, and the path of each of their endpoints by GET."""
    path = tmp_path_factory.mktemp("everything")
    crawl = indexed(path / "crawl", [*WORDS, {"url": "http://a.test/long", "title": "long" * 1_000, "text": "endless"}])

    def app(**arguments):
        return create_app(crawl, submit=lambda url: Receipt(200, "Thank you."), **arguments)

    rules = [rule for rule in app().url_map.iter_rules() if "GET" in rule.methods]
    return app, [rule.rule.replace("<path:filename>", "style.css") for rule in rules]


def test_every_path_is_limited_by_rate(everything):
    app, paths = everything
    assert len(paths) > 10
    for path in (*paths, "/missing"):
        client = app(rate=Rate(0.5, 1), clock=Clock()).test_client()
        statuses = [client.get(path, buffered=True).status_code for _ in range(2)]
        assert (statuses[0] < 500, statuses[1]) == (True, 429), path


def test_every_path_bounds_forms_and_parameters(everything):
    app, paths = everything
    client = app().test_client()
    for path in (*paths, "/missing"):
        posted = client.post(path, data={"q": "a" * MAX_FORM_BYTES, "url": "http://a.test/"})
        assert posted.status_code in (404, 405, 413), path
        asked = client.get(path, query_string=dict.fromkeys(("q", "url", "since", "after"), "a" * 50_000))
        assert asked.status_code < 500, path
        assert len(asked.data) < 20_000 or path.startswith("/static"), path
        asked.close()


def test_titles_are_bounded_and_help_is_on_every_page(everything):
    app, paths = everything
    client = app().test_client()
    long = ("/?q=endless", "/cached?url=http://a.test/long")
    for path in (*paths, "/missing", *long):
        page = client.get(path, buffered=True)
        if page.mimetype == "text/html":
            assert ('<a href="/help">' in page.text) != (path == "/"), path  # where the table itself is
            assert "long" * 38 not in page.text, path
    assert all("long" * 37 in client.get(path).text for path in long)


def test_answers_say_what_else_a_client_could_do(words):
    answer = create_app(words).test_client().delete("/")
    assert (answer.status_code, set(answer.headers["Allow"].split(", "))) == (405, {"GET", "HEAD", "OPTIONS", "POST"})


def ask(authority, client, method="GET", path="/", body=None, **headers):
    """The status of an answer to a client behind a proxy."""
    with contextlib.closing(http.client.HTTPConnection(authority)) as connection:
        connection.request(method, path, body, headers | {"X-Forwarded-For": client})
        with connection.getresponse() as response:
            response.read()
            return response.status


def test_the_server_bounds_requests_and_believes_the_proxy_that_it_is_told_of(words):
    with serving(words.root, "--rate", "0.001", "--trust-proxy", "127.0.0.1") as authority:
        assert [ask(authority, f"192.0.2.{client}") for client in (1, 1, 2)] == [200, 429, 200]
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert ask(authority, "192.0.2.3", "POST", body="q=" + "a" * 100_000, **form) == 413
        assert ask(authority, "192.0.2.4", Cookie="a" * 16_500) == 431
        assert ask(authority, "192.0.2.5") == 200


def test_no_client_chooses_its_own_address(words):
    with serving(words.root, "--rate", "0.001") as authority:
        assert [ask(authority, f"192.0.2.{client}") for client in (1, 2)] == [200, 429]
