"""What a reply means: an outcome for every status, and where a redirect leads."""

from datetime import UTC, datetime, timedelta

import pytest

from beamtrawl.transforms.http.reply import Reply, header, outcome, redirect_target, retry_after, wanted
from beamtrawl.transforms.outcomes import Outcome
from tests.support.tables import each_row

AT = "http://a.test/dir/page"
TO = [("Location", "/there")]

# status, headers, outcome
STATUSES = {
    "200": (200, [], Outcome.FETCHED),
    "a new resource": (201, [], Outcome.FETCHED),
    "no content": (204, [], Outcome.FETCHED),
    "an unknown success": (299, [], Outcome.FETCHED),
    "a part that nobody asked for": (206, [], Outcome.BAD_RESPONSE),
    "moved": (301, TO, Outcome.REDIRECTED),
    "found": (302, TO, Outcome.REDIRECTED),
    "see other": (303, TO, Outcome.REDIRECTED),
    "temporarily elsewhere": (307, TO, Outcome.REDIRECTED),
    "permanently elsewhere": (308, TO, Outcome.REDIRECTED),
    "several to choose from": (300, TO, Outcome.REDIRECTED),
    "a redirect to nowhere": (301, [], Outcome.BAD_REDIRECT),
    "a redirect to nothing": (301, [("Location", "")], Outcome.BAD_REDIRECT),
    "a redirect to itself": (302, [("Location", "page#x")], Outcome.REDIRECT_LOOP),
    "use a proxy": (305, [], Outcome.BAD_REDIRECT),
    "400": (400, [], Outcome.CLIENT_ERROR),
    "login": (401, [], Outcome.CLIENT_ERROR),
    "payment": (402, [], Outcome.PAYMENT_REQUIRED),
    "forbidden": (403, [], Outcome.FORBIDDEN),
    "not found": (404, [], Outcome.GONE),
    "a teapot": (418, [], Outcome.CLIENT_ERROR),
    "gone": (410, [], Outcome.GONE),
    "too many requests": (429, [], Outcome.TOO_MANY_REQUESTS),
    "for legal reasons": (451, [], Outcome.CLIENT_ERROR),
    "an unknown client error": (499, [], Outcome.CLIENT_ERROR),
    "500": (500, [], Outcome.SERVER_ERROR),
    "service unavailable": (503, [], Outcome.SERVER_ERROR),
    "an unknown server error": (599, [], Outcome.SERVER_ERROR),
    "an error is one whatever its type": (500, [("Content-Type", "image/png")], Outcome.SERVER_ERROR),
    "an error is one wherever it points": (404, TO, Outcome.GONE),
    "continue": (100, [], Outcome.BAD_RESPONSE),
    "switching protocols": (101, [], Outcome.BAD_RESPONSE),
    "no class": (0, [], Outcome.BAD_RESPONSE),
    "beyond all classes": (600, [], Outcome.SERVER_ERROR),
    "LinkedIn's": (999, [], Outcome.CLIENT_ERROR),
    "negative": (-1, [], Outcome.BAD_RESPONSE),
}


@pytest.mark.parametrize(("status", "headers", "expected"), STATUSES.values(), ids=STATUSES)
@pytest.mark.parametrize("conditional", [False, True], ids=["", "conditional"])
def test_every_status_has_an_outcome(status, headers, expected, conditional):
    assert outcome(AT, Reply(status, headers), conditional) is expected


def test_not_modified_is_an_answer_only_where_it_was_asked_for():
    assert outcome(AT, Reply(304), conditional=True) is Outcome.NOT_MODIFIED
    assert outcome(AT, Reply(304), conditional=False) is Outcome.BAD_RESPONSE


@pytest.mark.parametrize("trouble", [Outcome.TIMEOUT, Outcome.DNS_ERROR, Outcome.TOO_LONG])
def test_trouble_says_more_than_the_status_before_it(trouble):
    assert outcome(AT, Reply(failure=trouble), conditional=False) is trouble
    assert outcome(AT, Reply(200, failure=trouble), conditional=True) is trouble


def test_an_unknown_redirect_counts_as_its_class():
    assert outcome(AT, Reply(399, TO), conditional=False) is Outcome.REDIRECTED


@pytest.mark.parametrize("location", ["mailto:a@b.test", "http://", "javascript:void(0)"])
def test_a_redirect_without_a_usable_target_is_a_bad_redirect(location):
    assert outcome(AT, Reply(301, [("Location", location)]), conditional=False) is Outcome.BAD_REDIRECT


# declared type, whether it is read
TYPES = {
    "HTML": ("text/html; charset=utf-8", True),
    "in any case": ("TEXT/HTML", True),
    "XHTML": ("application/xhtml+xml", True),
    "plain text": ("text/plain", True),
    "not declared": (None, True),
    "declared as nothing": ("", True),
    "an image": ("image/png", False),
    "PDF": ("application/pdf", False),
    "style": ("text/css", False),
    "like HTML": ("text/html-sandboxed", False),
    "unknown": ("unknown/unknown", True),
    "any": ("*/*", True),
}


@each_row(TYPES)
def test_only_types_that_become_documents_are_read(declared, read):
    headers = [] if declared is None else [("content-TYPE", declared)]
    assert wanted(AT, headers, {"text/html", "application/xhtml+xml", "text/plain"}) is read


ANY, PDF = "application/octet-stream", "application/pdf"
# Content-Type, Content-Disposition, path; whether it is read where PDF, Markdown and feeds are wanted
FILES = {
    "a file of any type by its name": (ANY, None, "/a.PDF?x=1", True),
    "a feed (FreshRSS/FreshRSS#2004)": (ANY, None, "/index.rdf", True),
    "declared as an archive": ("application/zip", None, "/a.pdf", True),
    "declared as text": ("text/plain", None, "/a.md", True),
    "named by a header": (ANY, 'attachment; filename="a;b.pdf"; size=1', "/get?id=1", True),
    "named by a header, in UTF-8": (ANY, "attachment; filename*=UTF-8''a.pdf", "/get", True),
    "the first name with an extension counts": (ANY, "attachment; filename=x; filename*=UTF-8''a.pdf", "/get", True),
    "a name with dots and spaces": (ANY, "attachment; filename=a.b c.pdf ; size=1", "/get", True),
    "the header counts": (ANY, "attachment; filename=a.exe", "/a.pdf", False),
    # of Chromium's net/http/http_content_disposition_unittest.cc, and greenbytes.de/tech/tc2231
    "the extended name counts": (ANY, "attachment; filename=a.exe; filename*=UTF-8''a.pdf", "/get", True),
    "the extended name counts, wherever it is": (ANY, "x; filename*=UTF-8''a.exe; filename=a.pdf", "/a.pdf", False),
    "quotes in a name": (ANY, r'''attachment; filename="\"quoting\" tested.pdf"''', "/get", True),
    "a name in another parameter": (ANY, 'x; example="filename=a.exe"; filename=a.pdf', "/get", True),
    "a parameter with quotes and a semicolon": (ANY, r'x; foo="\"\\;"; filename="a.pdf"', "/get", True),
    "a parameter with a longer name": (ANY, "x; x-filename=a.exe; filename=a.pdf", "/get", True),
    "spaces around the sign": (ANY, 'filename = "a.pdf"', "/get", True),
    "no closing quote": (ANY, 'filename="a.pdf', "/get", True),
    "another name": (ANY, None, "/a.docx", False),
    "no name": (ANY, None, "/", False),
    "a page": (ANY, None, "/a.html", False),
    "another type": ("image/png", None, "/a.pdf", False),
}


@each_row(FILES)
def test_a_file_of_any_type_is_what_its_name_says(declared, disposition, path, read):
    headers = [("Content-Type", declared), *([("Content-Disposition", disposition)] if disposition else [])]
    assert wanted(f"http://a.test{path}", headers, {PDF, "text/markdown", "application/rss+xml"}) is read


def test_a_header_is_found_in_any_case_and_the_first_counts():
    headers = [("X-A", "1"), ("LOCATION", "/a"), ("location", "/b")]
    assert header(headers, "location") == "/a"
    assert header(headers, "etag") is None


# Location as http.client gives it, where it leads from AT
LOCATIONS = {
    "absolute": ("https://b.test/x", "https://b.test/x"),
    "a path": ("/x", "http://a.test/x"),
    "relative": ("x", "http://a.test/dir/x"),
    "up": ("../x", "http://a.test/x"),
    "without a scheme": ("//b.test/x", "http://b.test/x"),
    "a query": ("?q=1", "http://a.test/dir/page?q=1"),
    "in canonical form": ("HTTP://B.test:80/%7ea#top", "http://b.test/~a"),
    "spaces around it": ("  /x ", "http://a.test/x"),
    "a space in it": ("/x y", "http://a.test/x%20y"),
    "UTF-8 in Latin-1": ("/한".encode().decode("latin-1"), "http://a.test/%ED%95%9C"),
    "escaped": ("/%ED%95%9C", "http://a.test/%ED%95%9C"),
    "to itself": ("", None),
    "a mail address": ("mailto:a@b.test", None),
    "a script": ("javascript:alert(1)", None),
    "no host": ("http://", None),
    "an impossible port": ("http://b.test:99999/", None),
}


@each_row(LOCATIONS)
def test_where_a_redirect_leads(location, target):
    assert redirect_target(AT, Reply(302, [("Location", location)])) == target


def test_a_location_that_is_not_utf_8_keeps_its_bytes():
    assert redirect_target(AT, Reply(302, [("Location", "/caf\xe9")])) == "http://a.test/caf%E9"


@pytest.mark.parametrize("reply", [Reply(301), Reply(200, TO), Reply(404, TO), Reply()])
def test_nothing_else_leads_anywhere(reply):
    assert redirect_target(AT, reply) is None


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
IN_AN_HOUR = "Sun, 01 Mar 2026 13:00:00 GMT"

# Retry-After, Date of the same answer, seconds to stay away
RETRIES = {
    "seconds": ("120", None, 120),
    "none": ("0", None, 0),
    "spaces around them": (" 120 ", None, 120),
    "leading zeros": ("007", None, 7),
    "more than there are": ("9" * 30, None, 1e9),
    "more than a number can hold": ("9" * 5000, None, 1e9),
    "a date": (IN_AN_HOUR, None, 3600),
    "a date in the form of RFC 850": ("Sunday, 01-Mar-26 13:00:00 GMT", None, 3600),
    "a date in the form of C": ("Sun Mar  1 13:00:00 2026", None, 3600),
    "now": ("Sun, 01 Mar 2026 12:00:00 GMT", None, 0),
    "a date of the past": ("Thu, 01 Jan 1970 00:00:00 GMT", None, 0),
    "the end of time": ("Fri, 31 Dec 9999 23:59:59 GMT", None, 1e9),
    "by a clock that is an hour fast": (IN_AN_HOUR, IN_AN_HOUR, 0),
    "by a clock that is an hour slow": (IN_AN_HOUR, "Sun, 01 Mar 2026 11:00:00 GMT", 7200),
    "by a clock that is a day slow": (IN_AN_HOUR, "Sat, 28 Feb 2026 12:00:00 GMT", 90_000),
    "by a clock that is more than a day slow": (IN_AN_HOUR, "Sat, 28 Feb 2026 11:59:59 GMT", 3600),
    "by a clock that is a year slow": (IN_AN_HOUR, "Sat, 01 Mar 2025 12:00:00 GMT", 3600),
    "by a clock of the future": (IN_AN_HOUR, "Fri, 31 Dec 9999 23:59:59 GMT", 3600),
    "by a clock that shows nothing": (IN_AN_HOUR, "soon", 3600),
    "seconds, whatever the clock": ("120", "Sun, 01 Mar 2026 11:00:00 GMT", 120),
    "negative": ("-5", None, None),
    "a sign": ("+5", None, None),
    "a fraction": ("1.5", None, None),
    "a power": ("1e3", None, None),
    "digits of another script": ("٣", None, None),
    "a unit": ("120s", None, None),
    "two numbers": ("1, 2", None, None),
    "a word": ("soon", None, None),
    "infinity": ("inf", None, None),
    "a date that there is not": ("Sun, 31 Feb 2026 13:00:00 GMT", None, None),
    # what other clients read, too: curl, urllib3, browsers ("be robust", RFC 9110, 5.6.7)
    "a date of another zone": ("Sun, 01 Mar 2026 15:00:00 +0200", None, 3600),
    "a date of UTC": ("Sun, 01 Mar 2026 13:00:00 UTC", None, 3600),
    "a date without a zone": ("Sun, 1 Mar 2026 13:00:00", None, 3600),
    "a date of ISO 8601": ("2026-03-01T13:00:00Z", None, None),
    "by a clock in another form": (IN_AN_HOUR, "Sun, 1 Mar 2026 11:00:00 UTC", 7200),
    "nothing": ("", None, None),
}


@each_row(RETRIES)
def test_how_long_a_server_wants_to_be_left_alone(value, date, seconds):
    headers = [("retry-AFTER", value)] + ([("Date", date)] if date else [])
    found = retry_after(headers, NOW)
    assert found == seconds
    assert found is None or NOW + timedelta(seconds=found)  # it can be added to a date


def test_a_server_that_says_nothing_does_not_want_to_be_left_alone():
    assert retry_after([("Date", IN_AN_HOUR)], NOW) is None
