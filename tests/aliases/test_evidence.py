"""Evidence for and against rules of aliases, and what becomes of a rule."""

from beamtrawl.transforms.aliases.evidence import Member, Pair, choose, weigh, with_pairs
from beamtrawl.transforms.aliases.rules import Rule
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
ENOUGH = 5
ENOUGH_MORE = 3
MAX_TRACKED = 16

ROUND = 4
SAME, OTHER = b"s" * 16, b"o" * 16
CASE = Rule("http://a.test", "case")
WWW = Rule("http://www.a.test", "www", "http://a.test")
DOCS = "/docs/*"
CASE_IN_DOCS = (CASE, DOCS)


def member(url, digest=SAME, round_=ROUND, rest=None, scope=DOCS, foreign=False):
    return Member(url, (rest or url).encode(), digest, round_, scope, foreign)


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
    "the rule changes one of them": ([member("/a"), member("/b", scope=None)], Pair("/a", "/b", SAME)),
    "one is of another scope": ([member("/a", scope="/*"), member("/b")], Pair("/a", "/b", SAME)),
    "only other sites link one": ([member("/a"), member("/b", foreign=True)], None),
    "only other sites link both": ([member("/a", foreign=True), member("/b", foreign=True, round_=1)], None),
    "its site links two of three": (
        [member("/a", foreign=True), member("/b"), member("/c", round_=1)],
        Pair("/b", "/c", SAME),
    ),
    "one that only other sites link differs": (
        [member("/a"), member("/b", OTHER, foreign=True)],
        Pair("/a", "/b", None),
    ),
    "its site links it by now": (
        [member("/a", round_=1, foreign=True), member("/a"), member("/b")],
        Pair("/b", "/a", SAME),
    ),
    "both are of another scope": ([member("/a", scope="/*"), member("/b", OTHER, scope=None)], None),
}


@each_row(CLASSES)
def test_what_urls_say_about_a_rule(members, expected):
    assert weigh(members, ROUND, DOCS) == weigh(members[::-1], ROUND, DOCS) == expected


def pairs(agreeing, differing=0):
    found = [Pair(f"/a{n}", f"/b{n}", n.to_bytes(16)) for n in range(agreeing)]
    return found + [Pair(f"/c{n}", f"/d{n}", None) for n in range(differing)]


# contents that agree, that differ, that are enough, the state
FIRST = {
    "nearly enough": (ENOUGH - 1, 0, ENOUGH, "proposed"),
    "enough": (ENOUGH, 0, ENOUGH, "used"),
    "enough where other templates agree": (ENOUGH_MORE, 0, ENOUGH_MORE, "used"),
    "one difference": (100, 1, ENOUGH, "dropped"),
}


@each_row(FIRST)
def test_the_state_of_a_rule(agreeing, differing, enough, state):
    row = with_pairs((WWW, DOCS), None, pairs(agreeing, differing), ROUND, enough)
    assert (row["state"], row["support"], row["contradictions"]) == (state, agreeing, differing)
    assert (row["detail"], row["template"], row["since"], row["round"]) == (WWW.detail, DOCS, ROUND, ROUND)


def test_without_news_there_is_no_row():
    assert with_pairs(CASE_IN_DOCS, None, [], ROUND) is None
    row = with_pairs(CASE_IN_DOCS, None, pairs(2), ROUND)
    assert with_pairs(CASE_IN_DOCS, row, pairs(2), ROUND + 1) is None


def test_one_content_counts_once():
    found = [Pair(f"/a{n}", f"/b{n}", SAME) for n in range(100)]
    assert with_pairs(CASE_IN_DOCS, None, found, ROUND)["support"] == 1


def test_evidence_adds_up_and_is_kept():
    first = with_pairs(CASE_IN_DOCS, None, pairs(3), ROUND)
    second = with_pairs(CASE_IN_DOCS, first, pairs(ENOUGH), ROUND + 1)
    assert (first["state"], second["state"], second["since"]) == ("proposed", "used", ROUND + 1)
    assert second["support"] == ENOUGH
    assert second["evidence"][0] == {"url": "/a0", "other_url": "/b0", "digest": (0).to_bytes(16)}
    third = with_pairs(CASE_IN_DOCS, second, pairs(0, 1), ROUND + 2)
    assert (third["state"], third["since"], third["against"]) == ("dropped", ROUND + 2, [pairs(0, 1)[0]._asdict()])


def test_the_first_20_pairs_for_a_rule_and_3_against_it_are_kept():
    row = with_pairs(CASE_IN_DOCS, None, pairs(30, 5), ROUND)
    assert (len(row["evidence"]), len(row["against"])) == (20, 3)
    assert (row["support"], row["contradictions"]) == (30, 5)


def test_a_rule_that_was_dropped_stays_dropped():
    dropped = with_pairs(CASE_IN_DOCS, None, pairs(0, 1), ROUND)
    assert with_pairs(CASE_IN_DOCS, dropped, pairs(1000), ROUND + 1) is None


def test_a_rule_in_use_is_dropped_at_the_first_difference():
    used = with_pairs((WWW, DOCS), None, pairs(100), ROUND)
    assert with_pairs((WWW, DOCS), used, pairs(0, 1), ROUND + 1)["state"] == "dropped"


def test_those_rules_are_followed_that_most_speaks_for():
    weak = [Rule("http://a.test", "index_page", f"i{n}") for n in range(50)]
    strong, known, elsewhere = Rule("http://a.test", "parameter", "z"), CASE, Rule("http://b.test", "case")
    suggested = [(rule, SAME) for rule in [*weak, elsewhere]] + [(strong, SAME), (strong, OTHER)]
    dropped, unlikely = Rule("http://a.test", "trailing_slash"), Rule("http://a.test", "parameter", "no")
    before = {
        (known, DOCS): {"state": "proposed", "support": 4},
        (dropped, DOCS): {"state": "dropped", "support": 9},
        (unlikely, DOCS): {"state": "dropped", "support": 9},
        (WWW, DOCS): {"state": "used", "support": 9},
        (WWW, "/*"): {"state": "dropped", "support": 9},
    }
    chosen = choose(before, [*suggested, (dropped, SAME), (dropped, OTHER), (dropped, b"x")])
    assert {strong, known, elsewhere, WWW, dropped} <= set(chosen)  # what is dropped in one folder may hold in another
    assert unlikely not in chosen
    assert len([rule for rule in chosen if rule.origin == "http://a.test"]) == MAX_TRACKED
