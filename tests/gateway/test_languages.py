"""The pages in the languages of those who read them."""

import re
from pathlib import Path

import jinja2
import lxml.html
import pytest

from beamtrawl.search import gateway
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.languages import ENGLISH, LANGUAGES, catalogue
from tests.support.corpus import indexed

TEMPLATES = Path(gateway.__path__[0]) / "templates"
NAMED = {
    "Crawl",
    "Site",
    "Language",
    "Type",
    "Year published, else fetched",
    "changed",
    "gone",
    "moved",
    "new",
}  # by values, not in templates
ROWS = [
    {"url": f"http://{host}.test/{n}", "title": f"Page {n}", "text": f"fish {n}"} for host in "ab" for n in range(8)
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return create_app(indexed(tmp_path_factory.mktemp("crawl"), ROWS)).test_client()


# Accept-Language: the language of the page
ASKED = {
    "": "en",
    "ko": "ko",
    "ko-KR,ko;q=0.9,en;q=0.8": "ko",
    "en-GB,en;q=0.9,ko;q=0.8": "en",
    "fr,de": "en",
    "fr,ko;q=0.1": "ko",
    "*": "en",
    ";;q=x,\x7f": "en",
}


@pytest.mark.parametrize(("accepted", "expected"), ASKED.items())
def test_the_language_that_a_browser_prefers(client, accepted: str, expected: str) -> None:
    response = client.get("/", headers={"Accept-Language": accepted} if accepted else {})
    assert response.text.count(f'<html lang="{expected}">') == 1
    assert (response.headers["Content-Language"], response.headers["Vary"]) == (expected, "Accept-Language")
    assert ("검색 문법" in response.text) is (expected == "ko")
    assert ("Search syntax" in response.text) is (expected == "en")


@pytest.mark.parametrize("path", ["/?q=fish", "/?q=fish&page=2", "/?q=fish&page=9", "/?q=nothing", "/help"])
def test_no_english_is_left_on_a_korean_page(client, path: str) -> None:
    page = client.get(path, headers={"Accept-Language": "ko"}).text
    body = page.partition("<body")[2].partition(">")[2]
    shown = re.sub(r"<kbd>.*?</kbd>|<[^>]+>|https?://\S+", " ", body)
    words = set(re.findall(r"[A-Za-z]{2,}", shown))
    assert words <= {"Beamtrawl", "Page", "fish", "nothing", "test", "OR", "URL", "url", "HTML"}


@pytest.mark.parametrize(("accepted", "expected"), [("en", 'Words or a "phrase"'), ("ko", '단어 또는 "문구"')])
def test_quotation_marks_of_a_text_do_not_end_an_attribute(client, accepted: str, expected: str) -> None:
    page = lxml.html.fromstring(client.get("/", headers={"Accept-Language": accepted}).text)
    assert page.xpath("//input[@id='q']/@placeholder") == [expected]


def test_programs_get_the_same_in_each_language(client) -> None:
    answer = client.get("/api/search?q=fish", headers={"Accept-Language": "ko"})
    assert answer.json["total"] == 16
    assert "Content-Language" not in answer.headers


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name != ENGLISH])
def test_each_text_of_the_pages_is_translated_and_nothing_else(language: str) -> None:
    environment = jinja2.Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    sources = (path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html"))
    calls = [call for source in sources for call in environment.extract_translations(source)]  # type: ignore[attr-defined]
    # the arguments of each call, None for those that are no text; of a singular and a plural, the plural
    found = {[text for text in given if text][-1] if isinstance(given, tuple) else given for *_, given in calls}
    texts = catalogue(language).texts
    assert (found - {None}) | NAMED == set(texts)
    for english, translated in texts.items():
        assert sorted(re.findall(r"%\(\w+\)s", english)) == sorted(re.findall(r"%\(\w+\)s", translated))
