"""The form by which URLs are compared: what is noise goes, and two resources never become one."""

import re

import pytest
from hypothesis import example, given, strategies as st

from beamtrawl.transforms.urls import canonical, dedup, tracking_parameters
from tests.support.url_pairs import DIFFERENT, SAME, pairs

TWO, ONE = pairs(DIFFERENT), pairs(SAME)


def key(url: str) -> bytes:
    url = canonical.canonicalize(url)
    assert url is not None
    return canonical.url_key(url)


def test_two_resources_have_two_keys() -> None:
    assert [pair for pair in TWO.values() if key(pair[0]) == key(pair[1])] == []


def test_the_table_of_two_resources_is_large() -> None:
    assert len(TWO) >= 200


def test_one_resource_has_one_key() -> None:
    assert [pair for pair in ONE.values() if key(pair[0]) != key(pair[1])] == []


# Pieces that rules look for, so that they meet in every order.
PATHS = """
    / // a . .. ; ;jsessionid=1 ;sid=9682993c8daa2c5497996114facdc805 ;a=1 %2e %28 %29 %3b %3A ( ) (X(1)) x.aspx : http://b.test
    (S(lit3py55t21z5v55vlm25s55)) (lit3py55t21z5v55vlm25s55) %2F %25 %20 é ' %27 @ | %
"""
QUERIES = """
    & = ? a b=2 a=1 utm_source=x UTM_x sid=9682993c8daa2c5497996114facdc805 sid=5 cfid=1 cftoken=2 &a=1 &b=2 &c=3
    &gclid=1 &PHPSESSID=abcdefabcdefabcdef01234567 %26 %3D %20 + %2B %3A %2F %5B [ ' %27 http://b ; é % # /
"""
HOSTS = "a.test A.test.:80 www.youtube.com web.archive.org me@onet.pl [::1] 1.2.3.4:81"


def some(pieces: str, count: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces.split()), max_size=count).map("".join)


PATHS_AND_QUERIES = st.builds("{}{}".format, some(PATHS, 8), st.just("") | some(QUERIES, 10).map("?{}".format))
URLS = st.builds("http://{}/{}".format, st.sampled_from(HOSTS.split()), PATHS_AND_QUERIES)


@given(URLS)
@example("http://a.test/.;jsessionid=1/a")
@example("http://a.test/%28S%28lit3py55t21z5v55vlm25s55%29%29/")
def test_the_dedup_form_is_a_canonical_url_and_final(reference: str) -> None:
    url = canonical.canonicalize(reference)
    if url is not None:
        form = canonical.dedup_form(url)
        assert canonical.canonicalize(form) == form
        assert canonical.dedup_form(form) == form
        assert canonical.canonicalize(url) == url
        assert canonical.host(form) == canonical.host(url)


@given(URLS)
def test_a_url_that_no_rule_concerns_is_changed_by_none(reference: str) -> None:
    url = canonical.canonicalize(reference) or ""
    if not dedup.may_change(url):
        assert [rule(url) for rule in dedup.RULES] == [url] * len(dedup.RULES)


@given(st.text())
def test_any_string_has_a_key(text: str) -> None:
    url = canonical.canonicalize(text)
    assert url is None or len(canonical.url_key(url)) == 16


NAMED = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("12")), max_size=5)


@given(NAMED, st.data())
def test_parameters_of_different_names_have_one_key_in_any_order(
    parameters: list[tuple[str, str]], data: st.DataObject
):
    unique = list(dict(parameters).items())
    shuffled = data.draw(st.permutations(unique))
    one, other = ("http://a.test/?" + "&".join(map("=".join, each)) for each in (unique, shuffled))
    assert key(one) == key(other)


@given(NAMED, NAMED)
def test_queries_that_read_differently_have_two_keys(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    """As a server reads them: the values of each name, in their order."""

    def read(parameters: list[tuple[str, str]]) -> dict[str, list[str]]:
        return {name: [value for n, value in parameters if n == name] for name, _ in parameters}

    if read(one) != read(other):
        forms = ["http://a.test/?" + "&".join(map("=".join, each)) for each in (one, other)]
        assert key(forms[0]) != key(forms[1])


ENTRIES = [
    *tracking_parameters.TRACKING,
    *tracking_parameters.TRACKING_ON_HOSTS,
    *tracking_parameters.KEPT_ON_HOSTS,
    *tracking_parameters.SESSIONS,
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.names[:40])
def test_an_entry_of_the_list_says_what_it_is_and_where_that_is_said(entry) -> None:
    assert entry.vendor
    for name in entry.names.split():
        assert re.fullmatch(r"[a-z0-9_.-]*\*?", name)
    for host in getattr(entry, "hosts", "a.test").split():
        assert canonical.host(canonical.canonicalize(f"http://{host}/")) == host


def test_a_name_stands_once_in_the_list_and_the_list_has_a_date() -> None:
    names = [
        name for entry in [*tracking_parameters.TRACKING, *tracking_parameters.SESSIONS] for name in entry.names.split()
    ]
    assert len(names) == len(set(names))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", tracking_parameters.REVIEWED)


def test_a_tracking_parameter_goes_and_what_is_beside_it_stays() -> None:
    names = [name.replace("*", "x") for entry in tracking_parameters.TRACKING for name in entry.names.split()]
    found = {name: canonical.dedup_form(f"http://a.test/?a=1&{name}=b&c=2") for name in names}
    assert found == dict.fromkeys(names, "http://a.test/?a=1&c=2")
