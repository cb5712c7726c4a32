"""The settings file: what is written is read again, and what cannot be used is named with its line."""

import re
import tomllib

import hypothesis
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.settings import (
    Documents,
    Fetch,
    Limits,
    Politeness,
    Priority,
    Recrawl,
    Robot,
    Scope,
    Settings,
    SettingsError,
    Sitemaps,
    Watch,
    credentials,
    header,
    override,
    parse,
    renamed,
    render,
    restored,
    without_secrets,
)
from beamtrawl.transforms.settings.toml_values import to_toml
from tests.support.tables import each_row

VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda some: st.lists(some) | st.dictionaries(st.text(st.characters(codec="utf-8")), some),
)


@hypothesis.example([float("inf"), {"a b": [True, "\x7f\n", -float("inf")]}])
@given(VALUES)
def test_a_value_in_a_message_is_toml(value):
    assert tomllib.loads(f"x = {to_toml(value)}") == {"x": value}


TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=3)
PATTERNS = TEXTS.map(lambda texts: [re.escape(text) for text in texts if text])
COUNTS = st.integers(1, 10**12)
SECONDS = st.floats(0, 1e9)
POSITIVE_SECONDS = st.floats(0, 1e9, exclude_min=True)
SETTINGS = st.builds(
    Settings,
    robot=st.builds(
        Robot,
        name=st.from_regex(r"([A-Za-z_-]+(/[0-9a-z.+-]+)?)?", fullmatch=True),
        contact=st.sampled_from(["", "a@example.org", 'o"b\\c@example.org']),
        info_url=st.sampled_from(["", "https://example.org/robot"]),
    ),
    scope=st.builds(
        Scope,
        mode=st.sampled_from(["host", "domain", "any"]),
        depth=st.none() | st.integers(0, 10**12),
        include=PATTERNS,
        exclude=PATTERNS,
        deny_hosts=TEXTS,
        max_url_length=COUNTS,
    ),
    limits=st.builds(
        Limits,
        max_pages=st.integers(0, 10**12),
        max_pages_per_host_per_round=COUNTS,
        round_time=POSITIVE_SECONDS,
        piece_time=POSITIVE_SECONDS,
        max_seconds_per_host=SECONDS,
        max_tries=COUNTS,
        max_host_tries=COUNTS,
    ),
    politeness=st.builds(
        Politeness,
        delay=SECONDS,
        response_factor=SECONDS,
        scope=st.sampled_from(["host", "domain", "address"]),
        shared_delay=st.none() | SECONDS,
        dead_after=COUNTS,
    ),
    fetch=st.builds(
        Fetch,
        connect_timeout=POSITIVE_SECONDS,
        read_timeout=POSITIVE_SECONDS,
        total_timeout=POSITIVE_SECONDS,
        max_body_bytes=COUNTS,
        allow_addresses=st.lists(st.ip_addresses().map(str), max_size=2),
        connections=COUNTS,
        resolve=st.lists(st.ip_addresses().map("a.test:80:{}".format), max_size=2),
        downloaders=st.lists(st.sampled_from(["render a.test", "x https:", "y [::1]:80", "z  b.test:8 "]), max_size=2),
        verify_tls=st.booleans(),
        proxy=st.sampled_from(["", "http://me:p%40ss@proxy.test:3128", "http://[::1]:8080/", "http://a.test:65535"]),
        headers=st.lists(st.from_regex(r"X-[A-Za-z]+: [ -~]+", fullmatch=True), max_size=2),
        credentials=st.lists(st.from_regex(r"[a-z.:0-9]+ [a-z]+:[ -~]*", fullmatch=True), max_size=2),
    ),
    priority=st.builds(Priority, high_depth=COUNTS, high_score=st.none() | SECONDS),
    documents=st.builds(Documents, kinds=st.lists(st.text(), min_size=1, max_size=2), observers=TEXTS),
    watch=st.builds(Watch, phrases=TEXTS, texts=TEXTS, images=TEXTS),
    recrawl=st.builds(Recrawl, after=st.none() | SECONDS),
    sitemaps=st.builds(Sitemaps, follow=st.booleans(), max_per_host=COUNTS, after=SECONDS),
)


@hypothesis.settings(max_examples=30)  # each writes and reads a whole file
@given(SETTINGS)
def test_settings_are_read_as_they_were_written(settings):
    assert parse(render(settings)) == settings


def test_every_setting_is_written_with_its_default_but_for_one_without():
    tables = tomllib.loads(render(Settings()))
    assert {name: len(keys) for name, keys in tables.items()} == {
        "robot": 5,
        "scope": 12,  # depth is shown in a comment alone
        "limits": 9,
        "priority": 2,
        "politeness": 8,  # shared_delay as well
        "fetch": 18,
        "documents": 5,
        "index": 2,
        "watch": 3,
        "recrawl": 3,  # after is shown in a comment
        "sitemaps": 5,
        "usage": 1,
        "aliases": 1,
        "traps": 2,
        "ranking": 1,
        "storage": 0,  # index_rounds and body_rounds are shown in comments
    }
    assert "\n# depth = …\n" in render(Settings())


def test_what_a_file_leaves_out_has_its_default():
    assert parse("") == Settings()
    assert parse("[politeness]\ndelay = 2\n[scope]\n") == Settings(politeness=Politeness(delay=2))


# text, the line that the message names, the rest of the message
BAD = {
    "not one of the choices": (
        '[scope]\nmode = "all"',
        2,
        'scope.mode = "all": must be one of host, domain, any',
    ),
    "a string for a number": ('[politeness]\ndelay = "1"', 2, 'politeness.delay = "1": must be a number'),
    "a truth value for a number": ("[politeness]\ndelay = true", 2, "politeness.delay = true: must be a number"),
    "a number for a string": ("[robot]\nname = 1", 2, "robot.name = 1: must be a string"),
    "a table for a string": ("[scope.mode]\na = 1", 1, 'scope.mode = {"a" = 1}: must be a string'),
    "a fraction for a count": ("[limits]\nmax_pages = 1.5", 2, "limits.max_pages = 1.5: must be a whole number"),
    "a negative count": ("[scope]\n\ndepth = -1", 3, "scope.depth = -1: must be a whole number of at least 0"),
    "a negative time": ("[politeness]\ndelay = -0.5", 2, "politeness.delay = -0.5: must be a number of at least 0"),
    "no number": ("[politeness]\ndelay = nan", 2, "politeness.delay = nan: must be a number of at least 0"),
    "no end": ("[limits]\nround_time = inf", 2, "limits.round_time = inf: must be at most 1000000000"),
    "none where some is needed": ("[limits]\nmax_tries = 0", 2, "limits.max_tries = 0: must be more than 0"),
    "no time where some is needed": (
        "[fetch]\nread_timeout = 0.0",
        2,
        "fetch.read_timeout = 0.0: must be more than 0",
    ),
    "a string for a list": ('[scope]\ninclude = "a"', 2, 'scope.include = "a": must be a list of strings'),
    "a pattern of the index": (
        '[index]\nexclude = ["/tag/", "(a"]',
        2,
        'index.exclude = ["/tag/", "(a"]: missing ), unterminated subpattern at position 0',
    ),
    "a list of numbers": ("[scope]\ninclude = [1, 2]", 2, "scope.include = [1, 2]: must be a list of strings"),
    "no regular expression": (
        '[scope]\nexclude = ["a", "("]',
        2,
        'scope.exclude = ["a", "("]: missing ), unterminated subpattern at position 0',
    ),
    "no range of addresses": (
        '[fetch]\nallow_addresses = ["10.0.0.1/8"]',
        2,
        'fetch.allow_addresses = ["10.0.0.1/8"]: 10.0.0.1/8 has host bits set; give an address or a range such as'
        " 127.0.0.0/8",
    ),
    "two lines in one": (
        '[robot]\ncontact = """a@b\nc"""',
        2,
        'robot.contact = "a@b\\nc": must be printable ASCII, because it is sent in an HTTP header',
    ),
    "a name that robots.txt cannot hold": (
        '[robot]\nname = "my bot"',
        2,
        'robot.name = "my bot": must consist of letters, - and _, as in robots.txt; it may end with /VERSION',
    ),
    "no mail address": ('[robot]\ncontact = "me"', 2, 'robot.contact = "me": must be an e-mail address'),
    "no web page": ('[robot]\ninfo_url = "example.org"', 2, None),
    "unknown key": (
        "[robot]\n# a comment\n  colour = 'red'",
        3,
        "robot.colour: unknown key; [robot] has name, contact, info_url, key, sign",
    ),
    "unknown table": (
        "[robot]\n[colours]\nred = 1",
        2,
        "unknown table or key colours; known: "
        "[robot], [scope], [limits], [priority], [politeness], [fetch], [documents], [index], [watch], [recrawl],"
        " [sitemaps], [usage], [aliases], "
        "[traps], [ranking], [storage], [[extract]], [[main]]",
    ),
    "a number below the range": (
        "[documents]\nsimilarity = 0.4",
        2,
        "documents.similarity = 0.4: must be from 0.5 to 1",
    ),
    "a number above the range": (
        "[documents]\nsimilarity = 1.5",
        2,
        "documents.similarity = 1.5: must be from 0.5 to 1",
    ),
    "a URL for a host and a pattern": (
        '[traps]\nallow = ["a.test/*", "http://a.test/*"]',
        2,
        'traps.allow = ["a.test/*", "http://a.test/*"]: must be "HOST/PATTERN", without http://',
    ),
    "no kinds": ("[documents]\nkinds = []", 2, 'documents.kinds = []: must name a kind, such as "html"'),
    "no downloader": (
        '[fetch]\ndownloaders = ["render http://a.test/"]',
        2,
        'fetch.downloaders = ["render http://a.test/"]: "render http://a.test/" must be "NAME HOST", '
        '"NAME HOST:PORT" or "NAME https:"',
    ),
    "no truth value": ("[fetch]\nverify_tls = 1", 2, "fetch.verify_tls = 1: must be true or false"),
    "no address to a name": (
        '[fetch]\nresolve = ["a.test:80:b.test"]',
        2,
        "fetch.resolve = [\"a.test:80:b.test\"]: 'b.test' does not appear to be an IPv4 or IPv6 address",
    ),
    "no port to a name": (
        '[fetch]\nresolve = ["a.test:127.0.0.1"]',
        2,
        'fetch.resolve = ["a.test:127.0.0.1"]: "a.test:127.0.0.1" must be NAME:PORT:ADDRESS',
    ),
    "a secret is not shown": (
        '[fetch]\ncredentials = ["a.test secret"]',
        2,
        'fetch.credentials = …: must be "HOST USER:PASSWORD"',
    ),
    "nor one of a proxy": (
        '[fetch]\nproxy = "me:secret@proxy"',
        2,
        "fetch.proxy = …: must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT",
    ),
    "a port of a proxy that is too high": (
        '[fetch]\nproxy = "http://proxy.test:99999"',
        2,
        "fetch.proxy = …: must have a port from 1 to 65535",
    ),
    "the first port above the range": (
        '[fetch]\nproxy = "http://proxy.test:65536"',
        2,
        "fetch.proxy = …: must have a port from 1 to 65535",
    ),
    "a port of a proxy that is zero": (
        '[fetch]\nproxy = "http://[::1]:0/"',
        2,
        "fetch.proxy = …: must have a port from 1 to 65535",
    ),
    "a port of a proxy with more digits than any": (
        '[fetch]\nproxy = "http://proxy.test:000080"',
        2,
        "fetch.proxy = …: must have a port from 1 to 65535",
    ),
    "a port with more digits than a number may have": (
        f'[scope]\nports = ["{"9" * 5000}"]',
        2,
        f'scope.ports = ["{"9" * 5000}"]: must be numbers of ports',
    ),
    "such a port to a name": (
        f'[fetch]\nresolve = ["a.test:{"9" * 5000}:127.0.0.1"]',
        2,
        f'fetch.resolve = ["a.test:{"9" * 5000}:127.0.0.1"]: "a.test:{"9" * 5000}:127.0.0.1" must be NAME:PORT:ADDRESS',
    ),
    "a port of a proxy that is no number": (
        '[fetch]\nproxy = "http://proxy.test:abc"',
        2,
        "fetch.proxy = …: must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT",
    ),
    "a header that is the robot's": (
        '[fetch]\nheaders = ["user-agent: Mozilla"]',
        2,
        "fetch.headers = …: user-agent is set by the crawler; [robot] holds the robot's identity",
    ),
    "a header without a value": (
        '[fetch]\nheaders = ["X-Token"]',
        2,
        'fetch.headers = …: must be "Name: value" or "HOST Name: value", in printable ASCII',
    ),
    "a misspelled table": ("[politness]\ndelay = 3", 1, "unknown table or key politness; did you mean [politeness]?"),
    "a key outside all tables": ("mode = 1", 1, None),
    "a table as a list": ("[robot]\n[[scope]]\nmode = 1", 2, None),
    "a key that we do not look for has its table's line": (
        '\n[limits]\n"max_p\\u0061ges" = -1\n[fetch]',
        2,
        "limits.max_pages = -1: must be a whole number of at least 0",
    ),
    "the line is the one in the right table": (
        "[fetch]\nconnections = 2\n[ limits ]\nmax_pages = -1",
        4,
        "limits.max_pages = -1: must be a whole number of at least 0",
    ),
}


@each_row(BAD)
def test_a_bad_setting_is_named_with_its_value_and_line(text, line, rest):
    with pytest.raises(SettingsError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"crawl.toml, line {line}: ")
    assert rest is None or message == f"crawl.toml, line {line}: {rest}"


def test_a_text_that_is_not_toml_is_named_with_its_line():
    with pytest.raises(SettingsError, match=r"^mine\.toml: .*line 2.*$"):
        parse("[scope]\nmode\n[limits]", "mine.toml")


TWICE = {
    "a key": ("[politeness]\ndelay = 1\ndelay = 2\nscope = 'host'", "delay, which has a value (at line 3, column 10)"),
    "on the last line": ("[limits]\n'max_tries' = 1\nmax_tries=2", "max_tries, which has a value (at end of document)"),
    "a list of several lines": ("[index]\ninclude = []\ninclude = [\n'a',\n'=']\n", "include, which has a value"),
    "a table": ("traps = 1\nalarms = 1\n[ traps ]\n", "[ traps ], which has a value (at line 3"),
}


@pytest.mark.parametrize(("text", "told"), TWICE.values(), ids=TWICE)
def test_what_is_set_twice_is_named(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"crawl.toml: Cannot overwrite {told}")):
        parse(text)


# Values that pass today and break a run later, or break the check itself.
UNNOTICED = {
    "a mail address that no header can hold": '[robot]\ncontact = "사람@example.org"',
    "a version that no header can hold": '[robot]\nname = "bot/한"',
    "a page that no header can hold": '[robot]\ninfo_url = "https://example.org/로봇"',
    "a time beyond the calendar": "[limits]\nround_time = 1e300",
    "a timeout beyond what sockets take": "[fetch]\nread_timeout = 1e300",
    "a whole number beyond floats": "[politeness]\ndelay = 1" + "0" * 400,
}


@pytest.mark.parametrize("text", UNNOTICED.values(), ids=UNNOTICED)
def test_a_value_that_cannot_work_is_refused(text):
    with pytest.raises(SettingsError, match=r"^crawl\.toml, line 2: "):
        parse(text)


def test_lines_are_counted_as_toml_counts_them():
    with pytest.raises(SettingsError, match=r"line 3: scope\.mode"):
        parse('[scope]\nexclude = ["\u2028"]\nmode = "x"')


def test_a_flag_replaces_a_value_and_is_checked():
    changed = override(Settings(), {"politeness.delay": 0.5, "scope.depth": 3})
    assert (changed.politeness.delay, changed.scope.depth, changed.limits) == (0.5, 3, Limits())
    with pytest.raises(SettingsError, match=r"^scope\.depth = -1: must be"):
        override(Settings(), {"scope.depth": -1})


def test_a_header_and_credentials_are_read_as_they_are_meant():
    assert header("X-Token:  a: b ") == (None, "X-Token", "a: b")
    assert header("A.test:81 X-Token: a: b") == ("a.test:81", "X-Token", "a: b")
    assert credentials("A.test:8080  me:my pass:word") == ("a.test:8080", "me:my pass:word")


def test_secrets_can_be_left_out():
    fetch = Fetch(proxy="http://me:secret@p:1", headers=["X-Key: secret"], credentials=["a me:secret"], connections=3)
    shown = without_secrets(Settings(fetch=fetch))
    assert "secret" not in render(shown)
    assert shown.fetch == Fetch(connections=3)


def test_what_an_earlier_version_had_has_no_effect_and_is_told_in_a_line() -> None:
    text = "[alarms]\ndisk_share = 0.1\n[priority]\nlow = 2.0\nhigh_depth = 1\n"
    assert parse(text) == restored({"alarms.disk_share": 0.1, "priority.low": 2.0, "priority.high_depth": 1})
    assert parse(text).priority == Priority(high_depth=1)
    assert renamed(text) == ["crawl.toml: without effect, since these values are fixed: alarms, priority.low"]
    with pytest.raises(SettingsError, match=r"priority\.low: unknown setting"):
        override(Settings(), {"priority.low": 2.0})
