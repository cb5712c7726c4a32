"""The order of a host's URLs in a round: that of selection, and after failures other templates first."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.frontier.failed_templates import failed_last, trust
from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.politeness.url_queue import MOST_TRIES, UrlQueue
from tests.support.scheduled_rounds import due

HOST, OTHER = "http://a.test/", "http://other.test/"


def url(path: str, **fields: object) -> Due:
    return due(f"http://a.test{path}", **{"referrer": HOST, **fields})


def run(queue: UrlQueue, works: Callable[[str], bool]) -> list[str]:
    """The paths requested, with `!` after those that failed; `works` is by path."""
    asked = []
    while (head := queue.head()) and queue.held_by(head) is None:
        queue.remove(head)
        path = head.url.removeprefix("http://a.test")
        if works(path):
            queue.answered(head)
        else:
            queue.failed(head)
        asked.append(path if works(path) else path + "!")
    return asked


def is_good(path: str) -> bool:
    return "bad" not in path


BAD = [url(f"/bad/{n}") for n in range(6)]
GOOD = [url(f"/good/{n}") for n in range(3)]
GOOD_PATHS = ["/good/0", "/good/1", "/good/2"]
FOREIGN = [url(f"/item/bad-{n}", referrer=OTHER) for n in range(6)]
OWN = [url(f"/item/ok-{n}") for n in range(3)]

# the URLs in the order of selection; the requests, with ! for a failure
ORDERS = {
    "nothing fails": ([GOOD[2], GOOD[0], OWN[1]], ["/good/2", "/good/0", "/item/ok-1"]),
    "a failing template": ([*BAD, *GOOD], ["/bad/0!", *GOOD_PATHS, "/bad/4!", "/bad/1!"]),
    "one in the middle": ([GOOD[0], *BAD[:2], *GOOD[1:]], ["/good/0", "/bad/0!", "/good/1", "/good/2", "/bad/1!"]),
    "of other hosts, spelled as the good ones": (
        [*FOREIGN, *OWN],
        ["/item/bad-0!", "/item/ok-1", "/item/ok-2", "/item/ok-0", "/item/bad-4!", "/item/bad-1!", "/item/bad-5!"],
    ),
    "a template for each": (
        [url("/xa/bad"), url("/xb/bad"), url("/xc/bad"), *GOOD],
        ["/xa/bad!", "/good/0", "/xb/bad!", "/good/1", "/xc/bad!", "/good/2"],
    ),
    "pages that worked before": (
        [url("/xa/bad"), *GOOD, url("/old/1", digest=b"1")],
        ["/xa/bad!", "/old/1", *GOOD_PATHS],
    ),
    "failed in an earlier round": (
        [BAD[1], BAD[0]._replace(failures=1), *GOOD],
        [*GOOD_PATHS, "/bad/1!", "/bad/0!"],
    ),
    "all fail": (BAD, ["/bad/0!", "/bad/4!", "/bad/1!", "/bad/5!", "/bad/2!", "/bad/3!"]),
}


@pytest.mark.parametrize(("queue", "expected"), ORDERS.values(), ids=ORDERS)
def test_the_order_of_requests(queue: list[Due], expected: list[str]) -> None:
    assert run(UrlQueue(queue), is_good) == expected


def found_early(bad: int, good: int) -> int:
    """How many good pages of a template, behind so many failing ones, are found before five failures in a row."""
    rows = [url(f"/p/bad{n}") for n in range(bad)] + [url(f"/p/ok{n}") for n in range(good)]
    queue, found, in_row = UrlQueue(rows), 0, 0
    while (head := queue.head()) and in_row < 5:
        queue.remove(head)
        if is_good(head.url):
            queue.answered(head)
            found, in_row = found + 1, 0
        else:
            queue.failed(head)
            in_row += 1
    return found


# failing URLs, good ones of the same template after them: how many of these are found
BLOCKS = {(8, 8): 8, (20, 48): 46, (40, 48): 42, (48, 20): 13, (200, 20): 0}


def test_good_pages_behind_failing_ones_of_their_template_are_found_after_a_few_failures() -> None:
    assert {block: found_early(*block) for block in BLOCKS} == BLOCKS


def test_what_is_left_of_a_failing_template_says_why() -> None:
    queue = UrlQueue([*BAD, *GOOD])
    run(queue, is_good)
    head = queue.head()
    assert head
    assert queue.held_by(head) == "3 requests of template /bad/# failed in this round"
    assert len(queue) == len(list(queue)) == len(BAD) - MOST_TRIES


# requests as (path, whether it works); whether each failure is counted for the host
COUNTS = {
    "of one template, before any answer": ("a! a! a! a!", [True] * 4),
    "of several": ("a! b! a! b!", [True] * 4),
    "again, after another has answered": ("a! g a! a! a!", [True, True, False, False]),
    "several again, each once": ("a! b! g a! b! a! b!", [True, True, True, True, False, False]),
    "a new one on a host that worked": ("g a! a!", [True, True]),
    "that has answered since": ("a! g a! a a! a!", [True, True, True, True]),
}


@pytest.mark.parametrize(("requests", "counted"), COUNTS.values(), ids=COUNTS)
def test_which_failures_count_for_the_host(requests: str, counted: list[bool]) -> None:
    rows = [url(f"/{request[0]}/{n}") for n, request in enumerate(requests.split())]
    queue, found = UrlQueue(rows), []
    assert list(queue) == rows
    for row, request in zip(rows, requests.split(), strict=True):
        queue.remove(row)
        if "!" in request:
            found.append(queue.failed(row))
        else:
            queue.answered(row)
    assert found == counted


TRUSTS = {
    "a page that worked": (url("/a", referrer=OTHER, digest=b"1"), 0),
    "a seed": (url("/a", referrer=None), 0),
    "linked by its host": (url("/a"), 1),
    "linked by another host": (url("/a", referrer=OTHER), 2),
    "failed": (url("/a", referrer=None, digest=b"1", failures=1), 3),
}


@pytest.mark.parametrize(("row", "expected"), TRUSTS.values(), ids=TRUSTS)
def test_what_a_url_is_trusted_for(row: Due, expected: int) -> None:
    assert trust(row) == expected


def test_failed_templates_take_no_room_from_others() -> None:
    assert failed_last([*BAD, *GOOD]) == [*BAD, *GOOD]
    rows = [BAD[0]._replace(failures=2), *BAD[1:], *GOOD]
    assert failed_last(rows) == [*GOOD, *rows[: len(BAD)]]


URLS = st.lists(
    st.builds(
        lambda name, n, referrer, failures: url(f"/{name}/{n}", referrer=referrer, failures=failures),
        st.sampled_from("abcd"),
        st.integers(0, 9),
        st.sampled_from([None, HOST, OTHER]),
        st.sampled_from([0, 0, 0, 1]),
    ),
    unique_by=lambda row: row.url_key,
    max_size=30,
)


@given(URLS, st.data())
def test_each_url_comes_once_whatever_fails(rows: list[Due], data: st.DataObject) -> None:
    """Also after URLs that do not fit were dropped; a template fails at most `MOST_TRIES` times in a row."""
    queue, asked, in_row = UrlQueue(rows), list[str](), Counter[str]()
    dropped = 0
    while head := queue.head():
        assert queue.head() == head
        queue.remove(head)
        asked.append(head.url)
        name = head.url[:15]
        if queue.held_by(head):
            assert in_row[name] >= MOST_TRIES
        elif data.draw(st.booleans()):
            queue.answered(head)
            in_row[name] = 0
        else:
            queue.failed(head)
            in_row[name] += 1
        if queue and not data.draw(st.integers(0, 5)):
            dropped += 1
            queue.trim(len(queue) - 1)
    assert len(queue) == 0
    assert len(asked) == len(set(asked)) == len(rows) - dropped


def test_many_failing_templates_cost_no_more_than_as_many_pages() -> None:
    """Ten thousand URLs of as many templates, each of which fails: by the number of steps, not by the clock."""
    names = ["".join(chr(97 + n // 26**place % 26) for place in range(3)) for n in range(10_000)]
    queue = UrlQueue([url(f"/{name}/bad") for name in names])
    assert len(run(queue, is_good)) == 10_000
