"""URLs that are one by a rule: one of them is due, the others are held back, and none is lost."""

from beamtrawl.transforms.aliases.apply import stands_for
from beamtrawl.transforms.aliases.rules import Rule, Rules
from beamtrawl.transforms.aliases.sample import Count, Sample
from beamtrawl.transforms.batches.batch_schemas import CANDIDATES
from beamtrawl.transforms.frontier.url_states import advance
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.tables.schemas import URLS
from beamtrawl.transforms.urls.canonical import host, url_key
from tests.frontier.test_url_states import LIMITS, due, visited

A = "http://a.test"
SLASH, CASE, PARAMETER = Rule(A, "trailing_slash"), Rule(A, "case"), Rule(A, "parameter", "p")
RULES = Rules([SLASH, CASE, PARAMETER])
SECRET = b"secret"


def verified():
    """A sample of rules that need no further page to verify them."""
    return Sample(SECRET, {(rule, "/*"): Count(0, 1000) for rule in (SLASH, CASE, PARAMETER)})


def found(url, depth=2):
    row = dict.fromkeys(CANDIDATES.names) | {"url_key": url_key(url), "url": url, "host": host(url), "depth": depth}
    return row | {"redirects": 0, "score": 1.0, "referrer": A}


def known(url, state="fetched", round_=1, **fields):
    row = dict.fromkeys(URLS.names) | {"url_key": url_key(url), "url": url, "host": host(url), "state": state}
    row |= {"depth": 1, "score": 1.0, "fetches": 1, "failures": 0, "changes": 0, "discovered_round": 0, "round": round_}
    return row | {"discovered_from": A} | fields


def held(url, first, rule="trailing_slash", **fields):
    reason = f"{rule} of {first}"
    return known(url, "alias", fetches=0, reason=reason, joined_to=url_key(first), **fields)


class Round:
    """What a round made of some rows: rows of urls, and of the next frontier, by URL."""

    def __init__(self, candidates=(), facts=(), earlier=(), frontier=(), rules=RULES, forms=None, sample=None):
        aliases = {"rules": rules, "forms": forms or rules.forms, "sample": sample or verified()}
        urls, following = advance(candidates, facts, earlier, frontier, round_=3, limits=LIMITS, **aliases)
        self.urls = {row["url"].removeprefix(A): row for row in urls}
        self.due = {row["url"].removeprefix(A): row for row in following}

    @property
    def states(self):
        return {url: row["state"] for url, row in self.urls.items()}


def pair(number=0):
    """A path, and the same with a slash, which is held back."""
    return f"{A}/y{number}", f"{A}/y{number}/"


def test_of_urls_found_together_one_is_due():
    plain, slash = pair()
    after = Round([found(slash), found(plain)])
    assert after.states == {plain.removeprefix(A): "due", slash.removeprefix(A): "alias"}
    assert list(after.due) == [plain.removeprefix(A)]
    row = after.urls[slash.removeprefix(A)]
    assert (row["reason"], stands_for(row["reason"])) == (f"trailing_slash of {plain}", plain)
    assert (row["joined_to"], row["discovered_from"], row["fetches"]) == (url_key(plain), A, 0)
    assert after.urls[plain.removeprefix(A)]["stand_ins"] == [slash]


def test_a_sitemap_stands_for_no_page():
    plain, slash = pair()
    after = Round([found(plain), found(slash) | {"kind": "sitemap"}])
    assert after.states == {plain.removeprefix(A): "due", slash.removeprefix(A): "due"}


def test_three_others_wait_in_case_that_it_gives_nothing():
    urls = [f"{A}/q?p={n}" for n in range(8)]
    after = Round(map(found, urls))
    (first,) = after.due
    assert len(urls) > 5
    assert len(after.urls[first]["stand_ins"]) == 3


def test_the_shortest_way_decides_which():
    plain, slash = pair()
    after = Round([found(slash, depth=1), found(plain, depth=2)])
    assert list(after.due) == [slash.removeprefix(A)]


def test_what_was_visited_before_stands():
    plain, slash = pair()
    for first in (known(plain), known(plain, "due")):
        frontier = [due(plain, host="a.test")] if first["state"] == "due" else []
        after = Round([found(slash)], earlier=[first], frontier=frontier)
        assert after.states[slash.removeprefix(A)] == "alias"


def test_what_only_other_sites_link_stands_for_nothing_that_its_site_links():
    plain, slash = pair()
    for state in ("fetched", "due"):
        waiting = [due(slash, host="a.test", foreign=True)] if state == "due" else []
        own, other = found(plain) | {"foreign": False}, known(slash, state, foreign=True)
        after = Round([own, found(f"{plain}?p=1") | {"foreign": False}], earlier=[other], frontier=waiting)
        assert plain.removeprefix(A) in after.due
        assert stands_for(after.urls[f"{plain.removeprefix(A)}?p=1"]["reason"]) == plain
        after = Round([own | {"foreign": True}], earlier=[other], frontier=waiting)
        assert after.states[plain.removeprefix(A)] == "alias"
    neat, own = known(plain, foreign=True), known(slash, foreign=False)
    after = Round([found(f"{plain}?p=1")], earlier=[neat, own])
    assert stands_for(after.urls[f"{plain.removeprefix(A)}?p=1"]["reason"]) == slash


def test_what_gave_nothing_does_not_stand():
    plain, slash = pair()
    for state in ("gone", "failed", "denied", "redirected"):
        after = Round([found(slash)], earlier=[known(plain, state)])
        assert list(after.due) == [slash.removeprefix(A)]


def test_without_rules_and_on_other_hosts_nothing_is_held_back():
    assert set(Round([found(f"{A}/x"), found(f"{A}/x/")], rules=Rules([])).due) == {"/x", "/x/"}
    assert set(Round([found("http://b.test/x"), found("http://b.test/x/")]).due) == {
        "http://b.test/x",
        "http://b.test/x/",
    }


def test_what_is_held_back_already_changes_nothing():
    plain, slash = pair()
    after = Round([found(slash)], earlier=[known(plain), held(slash, plain)])
    assert (after.urls, after.due) == ({}, {})


def test_a_sample_is_fetched_all_the_same():
    plain = [f"{A}/z{n}" for n in range(1000)]
    sample = Sample(SECRET, {})
    after = Round([found(url + "/") for url in plain], earlier=[known(url) for url in plain], sample=sample)
    assert len(after.due) == 32
    assert len(after.due) + list(after.states.values()).count("alias") == len(plain)
    assert sample.taken == {(SLASH, "/*"): Count(1000 - 32, 32)}


def test_what_was_released_waits_for_its_visit():
    plain, slash = pair()
    earlier, waiting = [known(plain), held(slash, plain)], [due(slash, host="a.test", depth=0)]
    after = Round([found(slash)], earlier=earlier, frontier=waiting)
    assert (after.urls, after.due) == ({}, {slash.removeprefix(A): waiting[0]})


def test_a_normal_form_that_nobody_links_to_says_who_stands_for_it():
    first = f"{A}/q?p=1"
    after = Round([found(first)])
    form = after.urls["/q"]
    assert (form["state"], form["joined_to"], form["discovered_from"]) == ("alias", url_key(first), None)
    assert list(after.due) == ["/q?p=1"]

    waiting = [after.urls["/q?p=1"] | {"round": 3}, form | {"round": 3}]
    visit = visited(first, host="a.test", digest=b"d" * 16)
    later = Round([], [visit], dict_rows(waiting))
    assert (later.states["/q?p=1"], later.urls["/q"]["digest"]) == ("fetched", b"d" * 16)

    other = f"{A}/q?p=2"
    last = Round([found(other)], earlier=dict_rows([form | {"round": 3}]))
    assert last.states == {other.removeprefix(A): "alias"}
    assert last.urls[other.removeprefix(A)]["joined_to"] == url_key(first)


def dict_rows(rows):
    return [dict.fromkeys(URLS.names) | row for row in rows]


def test_a_normal_form_that_is_due_itself_keeps_its_state():
    """Its row of urls is not read in a round that does not find or visit it."""
    plain, slash = pair()
    waiting = due(plain, host="a.test")
    after = Round([], [visited(slash, host="a.test")], [known(slash)], [waiting])
    assert list(after.states) == [slash.removeprefix(A)]
    assert list(after.due) == [plain.removeprefix(A)]


def test_a_normal_form_whose_row_may_be_unread_is_not_written():
    _, slash = pair()
    after = Round([found(slash)], forms=Rules([CASE]).forms)
    assert after.states == {slash.removeprefix(A): "due"}


def test_who_stands_for_others_and_gives_nothing_is_replaced():
    plain, slash = pair()
    waiting = known(plain, "due", stand_ins=[slash])
    for outcome in (Outcome.GONE, Outcome.REDIRECTED, Outcome.DENIED_ROBOTS, Outcome.CLIENT_ERROR):
        after = Round([], [visited(plain, outcome, host="a.test")], [waiting])
        assert after.due[slash.removeprefix(A)]["depth"] == 1
        assert after.states[slash.removeprefix(A)] == "due"
    after = Round([], [visited(plain, host="a.test")], [waiting])
    assert after.due == {}


def test_of_several_stand_ins_the_next_takes_the_others_over():
    first, second, third = (f"{A}/w?p={n}" for n in (1, 11, 12))
    waiting = known(first, "due", stand_ins=[second, third])
    after = Round([], [visited(first, Outcome.GONE, host="a.test")], [waiting])
    assert list(after.due) == [second.removeprefix(A)]
    assert after.urls[second.removeprefix(A)]["stand_ins"] in ([third], None)
    assert after.urls["/w"]["joined_to"] == url_key(second)


def test_a_shorter_way_by_an_alias_counts():
    plain, slash = pair()
    first = known(plain, "due", depth=3)
    after = Round([found(slash, depth=1)], earlier=[first], frontier=[due(plain, host="a.test", depth=3)])
    assert (after.due[plain.removeprefix(A)]["depth"], after.urls[plain.removeprefix(A)]["depth"]) == (1, 1)


def test_once_its_rule_is_dropped_a_url_is_due_again():
    plain, slash = pair()
    after = Round([found(slash)], earlier=[known(plain), held(slash, plain)], rules=Rules([CASE]))
    assert list(after.due) == [slash.removeprefix(A)]
    assert after.states == {slash.removeprefix(A): "due"}


def test_a_permanent_redirect_is_joined_to_its_target():
    target = f"{A}/new"
    for status, joined in ((301, url_key(target)), (308, url_key(target)), (302, None), (307, None)):
        visit = visited(f"{A}/old", Outcome.REDIRECTED, status=status, redirect_to=target, host="a.test")
        after = Round([], [visit], [known(f"{A}/old", "due")])
        assert (after.states["/old"], after.urls["/old"]["joined_to"]) == ("redirected", joined)
