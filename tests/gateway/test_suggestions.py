"""Suggestions of the search gateway, and the titles that it shows."""

import re

import pytest

from beamtrawl.search.gateway.app import create_app
from tests.support.corpus import indexed


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("", []),
        ("ligh", ["Light of the harbour", "Old lights", "lighthouse", "light", "lights"]),
        ("Lighth", ["Light of the harbour", "Old lights", "lighthouse"]),
        ("old ligh", ["Old lights", "Light of the harbour", "old lighthouse", "old light"]),
        ("old lights ", ["Old lights", "Light of the harbour"]),
        ("old lights", ["Old lights"]),  # which opens the page
        ("zebra", []),
        ('"(', []),
    ],
)
def test_suggestions_as_somebody_types(tmp_path, typed, suggested):
    rows = [
        {"url": "http://a.test/1", "title": "Light of the harbour", "text": "the lighthouse, a lighthouse"},
        {"url": "http://a.test/2", "title": "Old lights", "text": "a lighthouse"},
    ]
    client = create_app(indexed(tmp_path, rows)).test_client()
    answer = client.get("/api/suggest", query_string={"q": typed})
    assert answer.mimetype == "application/x-suggestions+json"
    echo, texts, descriptions, urls = answer.get_json(force=True)
    assert (echo, texts, descriptions) == (typed, suggested, [""] * len(suggested))
    titles = {row["title"]: row["url"] for row in rows}
    assert urls == [titles.get(text, "") for text in texts]


SITE = [
    {"url": f"http://s.test/{n}", "title": f"{name} — Docs 1.2", "text": "harbour"}
    for n, name in enumerate(("Tides", "Reefs", "Gulls", "Boats — Sails", "Docs 1.2"))
]


def test_the_ending_that_titles_of_a_site_share_is_left_out(tmp_path):
    others = [{"url": f"http://t.test/{n}", "title": f"Quays | Part {n}", "text": "harbour"} for n in range(4)]
    client = create_app(indexed(tmp_path, SITE, others)).test_client()
    titles = re.findall("<h2[^>]*><a[^>]*>(.*?)</a>", client.get("/?q=harbour").text)
    assert sorted(titles) == sorted(
        ["Tides", "Reefs", "Gulls", "Boats — Sails", "Docs 1.2", *(f"Quays | Part {n}" for n in range(4))]
    )
    assert "Tides" in client.get("/api/suggest?q=tide").get_json(force=True)[1]
    assert client.get("/api/search?q=tides").json["hits"][0]["title"] == "Tides — Docs 1.2"


def test_the_api_searches_for_what_is_being_typed_with_short_titles(tmp_path):
    client = create_app(indexed(tmp_path, SITE)).test_client()
    typed = client.get("/api/search?q=tid&typing=1").json
    assert [hit["title"] for hit in typed["hits"]] == ["Tides"]
    assert not client.get("/api/search?q=tid").json["hits"]
    assert not client.get("/api/search?q=tid+&typing=1").json["hits"]
    assert "Tides" in client.get("/?q=tid&typing=1").text
    assert client.get("/api/search?q=tid&typing=1&after=x").status_code == 400
