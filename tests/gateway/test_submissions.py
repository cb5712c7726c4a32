"""What people submit through the gateway."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.commands.serving.submissions import open_submissions
from beamtrawl.search.gateway.app import Receipt, create_app
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.settings import Settings, override, render
from tests.support.corpus import commit
from tests.support.crawls import frontier, rows

# Stated here and not imported: a changed limit fails a test.
MAX_URL = 2_048

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def planned(path, **changes):
    """A crawl of a.test that has an index of one page and waits for its first round."""
    crawl = CrawlDir(str(path))
    settings = override(Settings(), {name.replace("__", "."): value for name, value in changes.items()})
    crawl.write_text("crawl.toml", render(settings))
    add_seeds(crawl, [Seed("http://a.test/")], "", NOW)
    return crawl


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("crawl")
    crawl = planned(path, scope__exclude=["private"])
    commit(crawl, 1, [{"url": "http://a.test/", "text": "word"}])
    client = create_app(crawl, submit=open_submissions(crawl), clock=lambda: 0.0).test_client()
    client.path = path
    return client


def submit(client, url, address="192.0.2.1", **headers):
    return client.post("/submit", data={"url": url}, headers=headers, environ_base={"REMOTE_ADDR": address})


# what is submitted, status, what is said
ANSWERS = {
    "a new page": ("http://a.test/new", 202, "http://a.test/new is accepted"),
    "another spelling": ("  HTTP://A.test:80/%7ex#top ", 202, "http://a.test/~x is accepted"),
    "a known one": ("http://a.test/", 200, "http://a.test/ is known already"),
    "another site": ("http://b.test/", 403, "http://b.test/ is outside the scope of this crawl (rule scope)"),
    "what an operator leaves out": ("http://a.test/private", 403, "(rule exclude)"),
    "no page": ("http://a.test/a.zip", 403, "(rule extension)"),
    "a long URL": ("http://a.test/" + "x" * 1500, 403, "(rule too_long)"),
    "a far longer one": ("http://a.test/" + "x" * MAX_URL, 400, f"at most {MAX_URL} are allowed"),
    "another scheme": ("ftp://a.test/", 400, "only http and https URLs can be crawled"),
    "words": ("my page", 400, "not an absolute URL"),
    "markup": ("<script>alert(1)</script>", 400, "not an absolute URL"),
    "a comment of seeds": ("# x", 400, "there is no URL"),
    "nothing": ("", 400, "there is no URL"),
}


@pytest.mark.parametrize(("url", "status", "says"), ANSWERS.values(), ids=ANSWERS)
def test_each_submission_gets_one_clear_answer(client, url, status, says):
    answer = submit(client, url, address=f"2001:db8:{status}:{len(url)}::1")
    assert (answer.status_code, says in answer.text) == (status, True)
    assert f'role="{"status" if status < 400 else "alert"}"' in answer.text
    assert "alert(1)</script>" not in answer.text


def test_what_is_accepted_waits_for_the_next_round_and_is_known_from_then_on(tmp_path):
    crawl = planned(tmp_path)
    take = open_submissions(crawl)
    assert [take(url).status for url in ("http://a.test/x\tnot metadata", "http://a.test/x")] == [202, 200]
    assert {row["url"] for row in frontier(tmp_path)} == {"http://a.test/", "http://a.test/x"}
    assert {row["metadata"] for row in rows(tmp_path, "seeds")} == {None}


def test_while_one_is_taken_another_is_asked_to_wait(tmp_path):
    """The first is read line by line, and its first line waits until the second has its answer."""
    take = open_submissions(planned(tmp_path))
    is_read, goes_on = threading.Event(), threading.Event()

    class Waiting(str):
        def splitlines(self):
            is_read.set()
            goes_on.wait(60)
            return super().splitlines()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(take, Waiting("http://a.test/x"))
        assert is_read.wait(60)
        status = take("http://a.test/y").status
        goes_on.set()
        assert (status, first.result().status) == (503, 202)


def test_a_client_submits_ten_at_once_and_one_more_in_ten_seconds(tmp_path):
    now = [0.0]
    take = lambda url: Receipt(202, url)  # noqa: E731
    client = create_app(CrawlDir(str(tmp_path)), submit=take, clock=lambda: now[0]).test_client()
    found = {}
    for now[0], submissions in ((0.0, 11), (9.9, 1), (10.1, 2)):
        found[now[0]] = [submit(client, "http://a.test/").status_code for _ in range(submissions)]
    assert found == {0.0: [202] * 10 + [429], 9.9: [429], 10.1: [202, 429]}


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 400), ("none", 400), ("cross-site", 403), ("same-site", 403)]
)
def test_the_form_of_another_site_submits_nothing(client, site, status):
    assert submit(client, "no URL", f"site {site}", **{"Sec-Fetch-Site": site}).status_code == status


def test_without_leave_there_is_no_form(client, tmp_path):
    assert 'href="/submit"' in client.get("/").text
    assert '<input id="url" name="url" type="url" required' in client.get("/submit").text
    commit(crawl := planned(tmp_path), 1, [{"url": "http://a.test/", "text": "word"}])
    closed = create_app(crawl).test_client()
    assert "submit" not in closed.get("/").text.replace('type="submit"', "")
    assert (closed.get("/submit").status_code, submit(closed, "http://a.test/x").status_code) == (404, 404)
