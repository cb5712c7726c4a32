"""Where each signal of spam begins and how much it counts: the table of docs/quality.md."""

import random
import zlib

import pytest

from beamtrawl.transforms.parsing import spam
from beamtrawl.transforms.parsing.html_links import Link
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.spam import Quality, Traits

URL = "http://a.test/page"
CHANCE = random.Random(3)


NONE = Traits()


def judge(text="", title="", links=(), traits=NONE) -> Quality:
    return spam.quality_of(URL, title, [], text, links, traits)


def letters(count: int) -> str:
    """A word that no other is like."""
    return "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=count))


def lines(length: int) -> str:
    """A text of so many characters in short lines, which nothing speaks against."""
    return "\n".join("".join(CHANCE.choices("abcdefghijkl", k=6)) for _ in range(length))[:length]


def words(count: int, boots: int = 0) -> str:
    """Different words on one line, the first of them `boots`."""
    return " ".join(["boots"] * boots + [letters(6) for _ in range(count - boots)])


def clip(value: float, above: float, full: float) -> float:
    return min(1.0, max(0.0, (value - above) / (full - above)))


@pytest.mark.parametrize(("boots", "score"), [(25, 0), (35, 0.4), (45, 0.8), (90, 0.8)])
def test_the_share_of_the_most_common_word(boots, score):
    assert judge(words(100, boots)).score == pytest.approx(score)


def test_fifty_words_in_running_lines_are_enough_for_a_share():
    assert judge(words(50, 45)).reasons == ["keyword_stuffing"]
    assert judge(words(49, 45)).reasons == []
    short = "\n".join(["boots " * 6 + "abc"] * 20)  # 39 characters a line
    assert judge(short).reasons == []
    assert judge(short.replace("abc", "abcd")).reasons == ["keyword_stuffing"]


@pytest.mark.parametrize("repeated", [0, 10, 15, 20, 30, 60, 2_000])
def test_the_compression_ratio(repeated):
    """Few different letters in a row, so that nothing else speaks against the text."""
    text = (letters(1) + " ") * repeated + " ".join(letters(6) for _ in range(20))
    text = "\n".join((text[:4_000] * 200)[start : start + 39] for start in range(0, 3_900, 39))
    ratio = len(text) / len(zlib.compress(text.encode(), 1))
    expected = {"repetition": 0.7 * clip(ratio, 10, 25), "gibberish": 0.6 * clip(1 / ratio, 0.62, 0.72)}
    assert judge(text).score == pytest.approx(sum(expected.values()), abs=0.001)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 1.0])
def test_letters_by_chance(share):
    some = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    chance = "".join(CHANCE.choices(some, k=int(3_900 * share)))
    text = chance + "".join(CHANCE.choices("abcdefgh", k=3_900 - len(chance)))
    inverse = len(zlib.compress(text.lower().encode(), 1)) / len(text)
    assert judge(text).score == pytest.approx(0.6 * clip(inverse, 0.62, 0.72), abs=0.001)


def test_two_thousand_bytes_are_enough_to_compress():
    assert judge("boots\n" * 333 + "ab").reasons == ["repetition"]
    assert judge("boots\n" * 333 + "a").reasons == []


@pytest.mark.parametrize(("hidden", "score"), [(100, 0), (250, 0.35), (400, 0.7), (800, 0.7)])
def test_hidden_words_for_each_visible_one(hidden, score):
    text = lines(7 * (100 + hidden))
    assert len(text.split()) == 100 + hidden
    assert judge(text, traits=Traits(hidden_words=hidden)).score == pytest.approx(score)


def test_fifty_hidden_words_are_enough():
    found = {hidden: judge(words(hidden + 5), traits=Traits(hidden_words=hidden)).reasons for hidden in (49, 50)}
    assert found == {49: [], 50: ["hidden_text"]}


def anchors(away: int, home: int, hosts: int = 1_000, anchor: str = "anchor {}") -> list[Link]:
    """Links to other sites, `hosts` of them, and to the own site."""
    others = [Link(f"http://h{n % hosts}.test/{n}", anchor.format(n), "", "a") for n in range(away)]
    return others + [Link(f"http://a.test/{n}", f"a page {n}", "", "a") for n in range(home)]


@pytest.mark.parametrize(("away", "score"), [(56, 0), (66, 0.4), (76, 0.8), (80, 0.8)])
def test_the_share_of_links_to_other_sites(away, score):
    assert judge(links=anchors(away, 80 - away)).score == pytest.approx(score)


def test_fifty_links_to_twenty_sites_with_little_text_are_a_farm():
    farm, none = ["link_farm"], []
    found = {
        "50 links": (judge(links=anchors(50, 0)), farm),
        "49 links": (judge(links=anchors(49, 0)), none),
        "20 sites": (judge(links=anchors(60, 0, hosts=20)), farm),
        "19 sites": (judge(links=anchors(60, 0, hosts=19)), none),
        "39 characters a link": (judge(lines(39 * 50), links=anchors(50, 0)), farm),
        "40 characters a link": (judge(lines(40 * 50), links=anchors(50, 0)), none),
    }
    assert {name: reasons for name, (_, reasons) in found.items()} == {
        name: quality.reasons for name, (quality, _) in found.items()
    }


@pytest.mark.parametrize(("alike", "score"), [(50, 0), (70, 0.3), (90, 0.6), (100, 0.6)])
def test_the_share_of_links_with_one_anchor(alike, score):
    links = [Link(f"http://a.test/{n}", "cheap boots" if n < alike else f"page {n}", "", "a") for n in range(100)]
    assert judge(links=links).score == pytest.approx(score)


def test_anchors_of_six_letters_count_and_of_fifty_links_or_more():
    def found(count, anchor):
        return judge(links=[Link(f"http://a.test/{n}", anchor, "", "a") for n in range(count)]).reasons

    assert found(50, "boots!") == ["repeated_anchor"]
    assert found(50, "boots") == found(49, "boots!") == []


# title, text, traits; the score
ALONE = {
    "parked": ("", "This domain is for sale", Traits(), 0.9),
    "doorway": ("", "Boots", Traits(leads_away=True), 0.5),
    "soft_404": ("Page not found", "Sorry", Traits(), 0.8),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_is_said_outright(name):
    title, text, traits, score = ALONE[name]
    assert judge(text, title, traits=traits) == Quality(score, [name])


def test_only_thin_pages_are_taken_at_their_word():
    """Of fewer than 150 words, and fewer than 1,500 characters."""
    found = {text: judge(text, "404").reasons for text in ("a " * 149, "a " * 150, letters(1_499), letters(1_500))}
    assert list(found.values()) == [["soft_404"], [], ["soft_404"], []]


def test_the_first_4000_characters_are_examined():
    for kept, reasons in ((4_001, []), (2_500, ["keyword_stuffing"])):
        assert judge(lines(kept) + "\n" + "boots " * 100).reasons == reasons


def traits_of(html: str) -> Traits:
    page = parse_page(html.encode(), URL, "text/html", [], "x")
    assert page is not None
    return page.traits


def test_twenty_hidden_blocks_and_fifty_thousand_characters_of_source_are_examined():
    block, long = "<p style='display:none'>{}</p>", "word " * 99
    for before, hidden in ((19, 99), (20, 1)):
        assert traits_of(block.format("a") * before + block.format(long)).hidden_words == hidden
    script = "<script>location.replace('http://b.test/')</script>"
    for before, leads_away in ((49_900, True), (50_100, False)):
        assert traits_of(f"<p>{' ' * before}{script}").leads_away is leads_away
