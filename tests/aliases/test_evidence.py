"""Evidence for and against rules of aliases, and what becomes of a rule."""

import pytest

from beamtrawl.transforms.aliases.evidence import Member, Pair, choose, judge, weigh
from beamtrawl.transforms.aliases.rules import Rule

# Stated here and not imported: a changed limit fails a test.
ENOUGH = 5
ENOUGH_ACROSS_DOMAINS = 20
MAX_TRACKED = 16

ROUND = 4
SAME, OTHER = b"s" * 16, b"o" * 16
CASE = Rule("http://a.test", "case")
WWW = Rule("http://www.a.test", "www", "http://a.test")
MIRROR = Rule("http://b.test", "mirror", "http://a.test")


def member(url, digest=SAME, round_=ROUND, rest=None):
    return Member(url, (rest or url).encode(), digest, round_)


# URLs that a rule says are one, what they say about it
CLASSES = {
    "one alone": ([member("/a")], None),
    "agree": ([member("/a"), member("/b")], Pair("/a", "/b", SAME)),
    "differ": ([member("/a"), member("/b", OTHER)], Pair("/a", "/b", None)),
    "one of three differs": ([member("/a"), member("/b"), member("/c", OTHER)], Pair("/a", "/c", None)),
    "one is of an earlier round": ([member("/a", round_=1), member("/b")], Pair("/b", "/a", SAME)),
    "an earlier one differs": ([member("/a", OTHER, round_=1), member("/b")], Pair("/b", "/a", None)),
    "both are of earlier rounds": ([member("/a", round_=1), member("/b", OTHER, round_=2)], None),
    "visited again": ([member("/a", round_=1), member("/b", round_=1), member("/a", OTHER)], None),
    "the newest content counts": (
        [member("/a", OTHER, round_=1), member("/a", SAME, round_=2), member("/b")],
        Pair("/b", "/a", SAME),
    ),
    "another rule makes them one": ([member("/a", rest="/x"), member("/b", OTHER, rest="/x")], None),
}


@pytest.mark.parametrize(("members", "expected"), CLASSES.values(), ids=CLASSES)
def test_what_urls_say_about_a_rule(members, expected):
    assert weigh(members, ROUND) == weigh(members[::-1], ROUND) == expected


def pairs(agreeing, differing=0):
    found = [Pair(f"/a{n}", f"/b{n}", n.to_bytes(16)) for n in range(agreeing)]
    return found + [Pair(f"/c{n}", f"/d{n}", None) for n in range(differing)]


# rule, contents that agree, that differ, the state
FIRST = {
    "nearly enough": (CASE, ENOUGH - 1, 0, "proposed"),
    "enough": (CASE, ENOUGH, 0, "used"),
    "one difference": (CASE, 100, 1, "dropped"),
    "hosts of one domain": (WWW, ENOUGH, 0, "used"),
    "hosts with a page that may have changed": (WWW, ENOUGH, 1, "proposed"),
    "hosts with one among many": (WWW, 20, 1, "used"),
    "hosts with one among fewer": (WWW, 19, 1, "proposed"),
    "hosts with two among many": (WWW, 40, 2, "used"),
    "hosts with two among fewer": (WWW, 39, 2, "proposed"),
    "hosts with too many": (WWW, 20, 3, "dropped"),
    "hosts of two domains": (MIRROR, ENOUGH_ACROSS_DOMAINS - 1, 0, "proposed"),
    "hosts of two domains, enough": (MIRROR, ENOUGH_ACROSS_DOMAINS, 0, "used"),
}


@pytest.mark.parametrize(("rule", "agreeing", "differing", "state"), FIRST.values(), ids=FIRST)
def test_the_state_of_a_rule(rule, agreeing, differing, state):
    row = judge(rule, None, pairs(agreeing, differing), ROUND)
    assert (row["state"], row["support"], row["contradictions"]) == (state, agreeing, differing)
    assert (row["since"], row["round"]) == (ROUND, ROUND)


def test_without_news_there_is_no_row():
    assert judge(CASE, None, [], ROUND) is None
    row = judge(CASE, None, pairs(2), ROUND)
    assert judge(CASE, row, pairs(2), ROUND + 1) is None


def test_one_content_counts_once():
    found = [Pair(f"/a{n}", f"/b{n}", SAME) for n in range(100)]
    assert judge(CASE, None, found, ROUND)["support"] == 1


def test_evidence_adds_up_and_is_kept():
    first = judge(CASE, None, pairs(3), ROUND)
    second = judge(CASE, first, pairs(ENOUGH), ROUND + 1)
    assert (first["state"], second["state"], second["since"]) == ("proposed", "used", ROUND + 1)
    assert second["support"] == ENOUGH
    assert second["evidence"][0] == {"url": "/a0", "other_url": "/b0", "digest": (0).to_bytes(16)}
    third = judge(CASE, second, pairs(0, 1), ROUND + 2)
    assert (third["state"], third["since"], third["against"]) == ("dropped", ROUND + 2, [pairs(0, 1)[0]._asdict()])


def test_the_first_20_pairs_for_a_rule_and_3_against_it_are_kept():
    row = judge(CASE, None, pairs(30, 5), ROUND)
    assert (len(row["evidence"]), len(row["against"])) == (20, 3)
    assert (row["support"], row["contradictions"]) == (30, 5)


def test_a_rule_that_was_dropped_stays_dropped():
    dropped = judge(CASE, None, pairs(0, 1), ROUND)
    assert judge(CASE, dropped, pairs(1000), ROUND + 1)["state"] == "dropped"


def test_a_rule_in_use_stays_in_use_while_little_speaks_against_it():
    used = judge(WWW, None, pairs(ENOUGH), ROUND)
    assert judge(WWW, used, pairs(0, 1), ROUND + 1)["state"] == "used"
    assert judge(WWW, used, pairs(0, 2), ROUND + 1)["state"] == "dropped"


def test_those_rules_are_followed_that_most_speaks_for():
    weak = [Rule("http://a.test", "index_page", f"i{n}") for n in range(50)]
    strong, known, elsewhere = Rule("http://a.test", "parameter", "z"), CASE, Rule("http://b.test", "case")
    suggested = [(rule, SAME) for rule in [*weak, elsewhere]] + [(strong, SAME), (strong, OTHER)]
    dropped = Rule("http://a.test", "trailing_slash")
    before = {
        known: {"state": "proposed", "support": 4},
        dropped: {"state": "dropped", "support": 9},
        WWW: {"state": "used", "support": 9},
    }
    chosen = choose(before, [*suggested, (dropped, OTHER)])
    assert {strong, known, elsewhere, WWW} <= set(chosen)
    assert dropped not in chosen
    assert len([rule for rule in chosen if rule.origin == "http://a.test"]) == MAX_TRACKED
