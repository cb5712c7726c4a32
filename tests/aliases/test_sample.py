"""The sample of what alias rules hold back: how large it is, and that only the secret tells what is in it."""

from beamtrawl.transforms.aliases.rules import Rule
from beamtrawl.transforms.aliases.sample import Count, Found, Sample
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
LEAST, FIRST, CROWD = 20, 3, 20

WWW = Rule("http://www.a.test", "www", "http://a.test")
CASE = Rule("http://a.test", "case")
DOCS, REPO, EVE = (WWW, "/docs/*"), (WWW, "/repo/*"), (WWW, "/~eve/*")
SECRET, OTHER = b"s" * 32, b"o" * 32


def key(number):
    return number.to_bytes(16)


def found(count, *strata, start=0):
    return [Found(key(start + n), key(start + n), frozenset(strata)) for n in range(count)]


# what is found, what earlier rounds have counted, what is taken
SAMPLES = {
    "few are all fetched": (found(9, DOCS), {}, {DOCS: Count(0, 9)}),
    "at least 20": (found(50, DOCS), {}, {DOCS: Count(30, 20)}),
    "at least the square root": (found(10_000, DOCS), {}, {DOCS: Count(9_900, 100)}),
    "rounded up": (found(10_001, DOCS), {}, {DOCS: Count(9_900, 101)}),
    "no more than that": (found(50, DOCS), {DOCS: Count(350, 20)}, {DOCS: Count(49, 1)}),
    "the square root over all rounds": (found(100, DOCS), {DOCS: Count(780, 20)}, {DOCS: Count(90, 10)}),
    "3 of each further template": (found(50, REPO), {DOCS: Count(380, 20)}, {REPO: Count(42, 8)}),
    "all of 3 in a small one": (found(3, REPO), {DOCS: Count(380, 20)}, {REPO: Count(0, 3)}),
    "3 of 5": (found(5, REPO), {DOCS: Count(380, 20)}, {REPO: Count(2, 3)}),
    "templates share the 20": (
        found(12, DOCS) + found(30, REPO, start=50),
        {},
        {DOCS: Count(0, 12), REPO: Count(22, 8)},
    ),
    "not with a user": (found(30, EVE), {DOCS: Count(380, 20)}, {EVE: Count(10, 20)}),
    "nor with another rule": (found(30, (CASE, "/docs/*")), {DOCS: Count(380, 20)}, {(CASE, "/docs/*"): Count(10, 20)}),
}


@each_row(SAMPLES)
def test_how_many_are_fetched(some, before, taken):
    sample = Sample(SECRET, before)
    assert len(sample.draw(some)) == sum(count.sampled for count in taken.values())
    assert sample.taken == taken


def test_a_page_of_two_rules_verifies_both():
    both = ((CASE, "/docs/*"), DOCS)
    sample = Sample(SECRET, {})
    assert len(sample.draw(found(100, *both))) == 20
    assert sample.taken == dict.fromkeys(both, Count(80, 20))


def test_of_many_urls_of_one_page_one_is_fetched():
    before = {DOCS: Count(10_000, 1000)}
    crowd = [one._replace(class_key=key(90_000)) for one in found(CROWD, DOCS, start=20_000)]
    drawn = Sample(SECRET, before).draw(found(500, DOCS) + crowd)
    assert len(drawn) == 1 and drawn <= {one.url_key for one in crowd}
    assert Sample(SECRET, before).draw(found(500, DOCS) + crowd[1:]) == set()


def test_only_the_secret_tells_which():
    some = found(1000, DOCS)
    one, same, other = (
        Sample(secret, {}).draw(some[::step]) for secret, step in ((SECRET, 1), (SECRET, -1), (OTHER, 1))
    )
    assert one == same
    assert len(one & other) < 6
