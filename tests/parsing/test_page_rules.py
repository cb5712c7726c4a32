"""Rules of `[[extract]]` and `[[main]]`: the facts and the main text of pages."""

from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.page_rules import page_rules
from beamtrawl.transforms.settings import Extract, MainText
from tests.support.tables import each_row

URL = "http://a.test/shop/17/boots"
PAGE = """<title>Boots</title><body><div class="top">Our shop sells boots of every size.</div>
<h1>Red boots</h1><div class=price> 10.50
 EUR</div><div class=price>12 EUR</div><div class=price>12 EUR</div><p class=empty> </p>
<p data-nosnippet class=secret>hidden <b title=t>deep</b></p><div id=text><h2>About</h2>They keep your feet dry.
<ul class=menu><li>More</ul><p>Since 1998.<script>x()</script></div><div class="foot">Call us.</div>"""


def page(rules, main=(), body=PAGE, url=URL, media_type="text/html"):
    found = parse_page(body.encode(), url, media_type, [], "bot", rules=page_rules(rules, main))
    assert found is not None
    return found


PRICE = Extract(field="price", css=".price")

FACTS = {
    "several values, white space collapsed, each once": ([PRICE], {"price": "10.50 EUR\n12 EUR"}),
    "no value": ([Extract(field="price", css=".empty")], {}),
    "another URL": ([Extract(match="/library/", field="price", css=".price")], {}),
    "a part of the URL": ([Extract(match="/shop/", field="number", regex="/shop/([0-9]+)/")], {"number": "17"}),
    "a match of the URL": ([Extract(field="number", regex="[0-9]{2}")], {"number": "17"}),
    "a group that is not in the URL": ([Extract(field="number", regex="shop(x)?")], {}),
    "the first rule that finds something": (
        [Extract(match="x", field="f", css="h1"), Extract(match="s", field="f", css="i"), Extract(field="f", css="h2")],
        {"f": "About"},
    ),
    "a rule of the URL before one of the page": (
        [Extract(match="s", field="f", css="h1"), Extract(field="f", regex="shop")],
        {"f": "Red boots"},
    ),
    "what results must not show": (
        [
            Extract(field="a", css=".secret"),
            Extract(field="b", css=".secret b::attr(title)"),
            Extract(field="c", xpath="string(//p[@class='secret'])"),
            Extract(field="d", css="h1::text"),
        ],
        {"d": "Red boots"},
    ),
}


@each_row(FACTS)
def test_facts(rules, facts):
    assert page(rules).facts == facts


def test_a_url_has_facts_in_every_kind_of_content():
    found = page([Extract(field="number", regex="[0-9]+"), PRICE], body="plain", media_type="text/plain")
    assert found.facts == {"number": "17"}


def test_a_computed_value():
    assert page([Extract(field="size", xpath="count(//li) + 1")], body="<ul><li>a<li>b</ul>").facts == {"size": "3"}


def test_values_are_bounded():
    body = "".join(f"<b>{number} {'x' * 3000}</b>" for number in range(200))
    values = page([Extract(field="b", css="b")], body=body).facts["b"].split("\n")
    assert (len(values), len(values[0])) == (100, 2000)


def test_a_page_of_too_many_elements_says_so():
    found = page([Extract(field="b", css="b"), Extract(field="n", regex="17")], body="<body>" + "<b>x</b>" * 20_001)
    assert found.facts == {"extract_error": "the page has more than 20000 elements", "n": "17"}
    found = page([], [MainText(keep=["b"])], "<body><p>y</p>" + "<b>x</b>" * 20_001)
    assert found.facts == {"extract_error": "the page has more than 20000 elements"}
    assert found.text.startswith("y")


def test_a_page_whose_facts_change_is_another_content():
    body = PAGE.replace("10.50", "11.50")
    text = "feet " * 20
    plain = [page([], body=f"{each}<p>{text}") for each in (PAGE, body)]
    kept = MainText(keep=["#long"])
    same = [page([], [kept], f"{each}<p id=long>{text}").digest for each in (PAGE, body)]
    changed = [page([PRICE], [kept], f"{each}<p id=long>{text}").digest for each in (PAGE, body)]
    assert plain[0].facts == {}
    assert same[0] == same[1]
    assert changed[0] != changed[1]
    numbers = [
        page([Extract(field="number", regex="[0-9]+")], [], f"{PAGE}<p>{text}", url) for url in (URL, "http://b.test/1")
    ]
    assert numbers[0].digest == numbers[1].digest == plain[0].digest  # that of the URL does not count


ALL = ["Our shop sells boots of every size.", "Red boots", "10.50 EUR", "12 EUR", "12 EUR", "hidden deep"]
MAIN = {
    "kept": (MainText(keep=["#text"]), ["About", "They keep your feet dry.", "More", "Since 1998."], ["About"]),
    "kept without a part": (
        MainText(keep=["#text"], drop=[".menu"]),
        ["About", "They keep your feet dry.", "Since 1998."],
        ["About"],
    ),
    "kept in the order of the page, each once": (
        MainText(keep=["#text p", "h1", "#text"]),
        ["Red boots", "About", "They keep your feet dry.", "More", "Since 1998."],
        ["Red boots", "About"],
    ),
    "surroundings by their name are kept": (MainText(keep=[".foot"]), ["Call us."], []),
    "dropped": (
        MainText(drop=[".price", ".menu, .secret", ".top"]),
        ["Red boots", "About", "They keep your feet dry.", "Since 1998.", "Call us."],
        ["Red boots", "About"],
    ),
    "nothing is kept": (
        MainText(keep=["article"], drop=["#text", ".top"]),
        ["Red boots", *ALL[2:], "Call us."],
        ["Red boots"],
    ),
    "another URL": (
        MainText(match="/library/", keep=["h1"]),
        [*ALL, "About", "They keep your feet dry.", "Since 1998.", "Call us."],
        ["Red boots", "About"],
    ),
}


@each_row(MAIN)
def test_the_main_text(rule, lines, headings):
    found = page([], [rule])
    assert found.text.split("\n") == lines
    assert found.headings == headings


def test_of_two_rules_for_the_main_text_the_first_counts():
    found = page([PRICE], [MainText(match="/shop/", keep=["h1"]), MainText(keep=["#text"])])
    assert (found.text, found.facts) == ("Red boots", {"price": "10.50 EUR\n12 EUR"})


def test_links_and_snippets_know_of_what_is_kept():
    body = '<body><a href="/x">x</a><div id=text>Shown <p data-nosnippet>hidden</p> shown</div>'
    found = page([], [MainText(keep=["#text"])], body)
    assert [link.url for link in found.links] == ["http://a.test/x"]
    start, end = found.nosnippet
    assert found.text[start:end].strip() == "hidden"
