"""Which pages have one content: notices, clocks, counters, labelled advertisements make no difference."""

import doctest
import itertools
import sys

from hypothesis import assume, given, strategies as st

from beamtrawl.transforms.duplicates import digest
from beamtrawl.transforms.duplicates.digest import content_digest, settle
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
ENOUGH = 64

STORY = "The ferry to the island leaves from the northern pier, and takes about an hour if the sea is calm."

# two lines of a page with one story, whether it is the same page
LINES = {
    "when it was made": ("Generated on 5 March 2026 at 10:00", "Generated on 12 April 2027 at 9:30", True),
    "when it changed": ("Last updated: 2026-03-05", "Last updated: 2026-11-21", True),
    "a clock": ("Thu Mar  5 10:00:01 2026", "Sat Nov 21 22:24:13 2026", True),
    "a clock of twelve hours": ("It is 9:59:59 AM", "It is 12:00:00 PM", True),
    "ISO 8601": ("2026-03-05T10:00:01Z", "2026-03-05T10:00:02.25+09:00", True),
    "the current time": ("Local time: 9:05", "Local time: 23:59", True),
    "today": ("Today is Friday, 6 March 2026", "Today is Sunday, 8 March 2026", True),
    "how long ago": ("Posted an hour ago by Ann", "Posted 3 minutes ago by Ann", True),
    "visitors": ("You are visitor number 999", "You are visitor number 1,000,000", True),
    "views": ("1 234 views", "1 235 views", True),
    "a session": ("Session: 3f9ab1c77de0", "Session: 90cc12ab7001", True),
    "the year of a copyright": ("© 2025 Ann", "© 2026 Ann", True),
    "German": ("Stand: 5. März 2026", "Stand: 21. Dezember 2026", True),
    "French": ("Mis à jour le 5/3/2026", "Mis à jour le 21/11/2026", True),
    "Spanish": ("Actualizado el 5 de marzo de 2026", "Actualizado el 21 de abril de 2026", True),
    "Korean": ("조회 12", "조회 1,024", True),
    "Japanese": ("2026年3月5日更新", "2026年11月21日更新", True),
    "Chinese": ("更新时间:5分钟前", "更新时间:12分钟前", True),
    "an advertisement": ("Advertisement: warm boots", "Advertisement: cheap flights", True),
    "an advertisement comes and goes": ("Ad: boots", "", True),
    "a stamp in a long line": (f"{STORY} {STORY} 2026-03-05 10:00:01", f"{STORY} {STORY} 2026-03-06 08:07:02", True),
    "a date is content": ("5 March 2026", "6 March 2026", False),
    "a day of a calendar": ("Friday, 6 March 2026", "Saturday, 7 March 2026", False),
    "a time to the minute": ("Departure 10:00", "Departure 10:30", False),
    "a meeting": ("We meet on 5 March 2026 at 10:00.", "We meet on 12 March 2026 at 10:00.", False),
    "a version": ("Version 1.2", "Version 1.3", False),
    "a price": ("12.50 euros", "13.50 euros", False),
    "a checksum": ("3f9ab1c77de03f9ab1c77de0", "90cc12ab700190cc12ab7001", False),
    "a ratio": ("10:20:99:1", "10:20:98:1", False),
    "the words of a notice": ("Updated by Ann on 5 March", "Updated by Ben on 5 March", False),
    "a line that goes": ("Tides", "", False),
    "a date in a long line beside such a word": (
        f"{STORY} The timetable was updated on 5 March.",
        f"{STORY} The timetable was updated on 6 March.",
        False,
    ),
}


@each_row(LINES)
def test_what_makes_a_difference(one, other, same):
    first, second = (content_digest("Ferries", f"{STORY}\n{line}\n{STORY}", line.encode()) for line in (one, other))
    assert (first == second) is same
    assert len(first) == 16


def test_the_title_makes_a_difference():
    assert content_digest("Ferries", STORY, b"") != content_digest("Boats", STORY, b"")


def test_where_there_is_little_text_the_bytes_count():
    assert content_digest("", "x" * ENOUGH, b"a") == content_digest("", "x" * ENOUGH, b"b")
    assert content_digest("", "x" * (ENOUGH - 1), b"a") != content_digest("", "x" * (ENOUGH - 1), b"b")


@given(st.text(st.characters(exclude_categories=["N", "Cs"], exclude_characters="\n\t©"), min_size=1))
def test_words_are_content(line):
    adverts = (
        "ad",
        "sponsored",
        "promoted",
        "publicité",
        "publicidad",
        "anzeige",
        "werbung",
        "広告",
        "广告",
        "廣告",
        "광고",
    )
    assume(" ago" not in line and not line.lower().startswith(adverts))
    assert settle(f"a\n{line}") == f"a\n{line}"


@given(st.text())
def test_what_is_settled_stays(text):
    assert settle(settle(text)) == settle(text)


# What opens the test of a whole text: parts of advertisements, notices, times, numbers, and what looks like them.
PARTS = st.sampled_from(
    """
    Ad: AD: ads İad: Advertisement \u212areads Werbung PUBLICITÉ 広告 updated “updated” Updated5 geändert GEÄNDERT time
    current 10:00:01 ٣:00:01 1:00:0١ 1:2 5 ٣ ago \tcode \u2003 © 方法 조회 更新 e\u0301 ด็ שלום ﬁ 😀 ΟΔΟΣ. now
    """.split()  # noqa: SIM905
)
SEPARATORS = st.sampled_from([" ", " ", "\n", "\n\t", "\n \t", "-", ""])
TEXTS = st.lists(st.tuples(SEPARATORS, PARTS | st.text(max_size=3)), max_size=200).map(
    lambda parts: "".join(itertools.chain.from_iterable(parts))
)


@given(TEXTS)
def test_lines_are_settled_in_a_text_as_they_are_alone(text):
    lines = text.split("\n")
    expected = list(filter(None, (settle(f"now 0:00:00\n{line}").partition("\n")[2] for line in lines)))
    assert settle(text) == "\n".join(expected)


def test_every_capital_of_an_advertisement_counts():
    starts = {chr(code) for code in range(sys.maxunicode) if chr(code).lower()[:1] in set("apsw広广廣광")}
    assert starts == set("apswAPSW広广廣광")


def test_examples():
    assert doctest.testmod(digest).failed == 0


def test_the_indentation_of_code_is_no_content():
    assert settle("a\n\t    b\n\tc\n\t") == "a\nb\nc"
