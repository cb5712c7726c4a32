"""What `explain` says about a link: why it is not followed."""

import doctest
from typing import Any

from beamtrawl.runners.explain.link_reasons import LinkFacts, with_reason
from beamtrawl.transforms.parsing import html_links
from beamtrawl.transforms.parsing.html_links import FOLLOWED_KINDS, Link, followed, why_not_followed
from tests.support.tables import each_row

PAGE = "http://a.test/"
LINK: dict[str, Any] = {
    **{"round": 2, "source_url": PAGE, "target_url": "http://a.test/x", "kind": "a", "anchor": "X", "rel": ""},
    "from_duplicate": False,
}

# changes of a link, whether its page says nofollow: why it is not followed
REASONS: dict[str, tuple[dict[str, Any], bool, str]] = {
    "followed": ({}, False, ""),
    "a page that says nofollow": ({}, True, "its page asks that its links are not followed"),
    "nofollow": ({"rel": "me NoFollow"}, False, "rel=nofollow"),
    "an advertisement": ({"rel": "ugc sponsored"}, False, "rel=sponsored ugc"),
    "a form": ({"kind": "form"}, False, "links of kind form are not followed"),
    "a relation": ({"kind": "link", "rel": "search"}, False, "link rel=search leads to no page"),
    "a style sheet": (
        {"kind": "link", "rel": "alternate  stylesheet"},
        False,
        "link rel=alternate stylesheet leads to no page",
    ),
    "no relation": ({"kind": "link", "rel": None}, False, 'link rel="" leads to no page'),
    "a canonical link without a scheme": (
        {"kind": "canonical", "rel": "canonical", "target_url": "http://a.test/a.test/x"},
        False,
        "it has no http:// before the name of its host, so it is a path",
    ),
    "the next page": ({"kind": "link", "rel": "next"}, False, ""),
}


@each_row(REASONS)
def test_why_a_link_is_not_followed(changes: dict[str, Any], nofollow: bool, reason: str) -> None:
    facts = LinkFacts(FOLLOWED_KINDS, frozenset([PAGE] if nofollow else []))
    link = LINK | changes
    assert with_reason(facts, link)["not_followed"] == reason
    parts = Link(link["target_url"], link["anchor"], link["rel"] or "", link["kind"])
    assert bool(why_not_followed(parts, nofollow)) != followed(parts, nofollow)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(html_links).failed == 0
