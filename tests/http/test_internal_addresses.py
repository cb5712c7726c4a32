"""No way in: whatever a link, a redirect, a name or a pin says, no internal address is connected to.

Every case goes the way that a crawl goes: reference, canonical URL, client, look-up, check, connection. The resolver
and the connector are recorders, so that "refused" means that nothing was sent to anybody.
"""

import contextlib
import functools
import ipaddress
import itertools
import socket

import pytest

from beamtrawl.transforms.http.address_guard import connect
from beamtrawl.transforms.http.client import HostClient
from beamtrawl.transforms.http.dns import Names
from beamtrawl.transforms.http.reply import Reply, outcome, redirect_target
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Fetch
from beamtrawl.transforms.urls.canonical import canonicalize, host
from tests.support.raw import HTML, PAGE, answering, says, serve, sized
from tests.support.recorders import Clock, Connector, Resolver

# Stated here and not imported: a changed limit fails a test.
ANSWER_LIFETIME = 3600.0

PUBLIC = "8.8.8.8"
SOMEWHERE = "http://public.example/a/"

# The host of the canonical URL: spellings of it in a link.
LITERALS = {
    "127.0.0.1": "127.0.0.1 127.0.0.1. 127.1 127.0.1 127.1. 2130706433 0x7f000001 0X7F.0.0.1 0x7f.1 017700000001"
    " 0177.0.0.1 0177.0.0.01 127.0x0.0.1 127.000.000.001 127.0.0x1 0x7f.0x0.0x0.0x1"
    # digits of other kinds and dots of other scripts, as IDNA maps them
    " ①②⑦.⓪.⓪.① １２７.0.0.1 ¹²⁷.0.0.1 ₁₂₇.0.0.1 𝟏𝟐𝟕.0.0.1 𝟙𝟚𝟟.𝟘.𝟘.𝟙 ⑫⑦.1 127。0。0。1"
    " 127．0．0．1 127｡0｡0｡1 ０ｘ７ｆ．１"
    # escapes, and characters that vanish
    " %31%32%37.0.0.1 127.0.0.%31 127%2E0%2E0%2E1 %EF%BC%91%EF%BC%92%EF%BC%97.1 12\t7.0.0.1"
    " 127.0.0\u200b.1 127.0.0\xad.1"
    # what stands before an @ is no host, and what stands behind a \ is a path
    " a@127.0.0.1 a:b@127.0.0.1 8.8.8.8@127.0.0.1 8.8.8.8:80@127.0.0.1 public.example%2F@127.0.0.1 8.8.8.8%40@127.1"
    " a@b@127.0.0.1 127.0.0.1\\@8.8.8.8 127.0.0.1\\.public.example 127.0.0.1#@8.8.8.8 127.0.0.1?@8.8.8.8",
    "0.0.0.0": "0 00 0x0 0.0 0.0.0.0 ⓪ %30 ０",
    "10.0.0.1": "10.1 10.0.1 167772161 0xa000001 012.0.0.1 0xa.1 ⑩.1 1⓪.⓪.⓪.1",
    "192.168.1.1": "192.168.257 3232235777 0xc0a80101 0300.0250.1.1 １９２.１６８.１.１",
    "172.16.0.1": "172.16.1 2886729729 0xac100001 0254.020.0.1",
    "169.254.169.254": "169.254.169.254 2852039166 0xA9FEA9FE 0251.0376.0251.0376 169.254.43518 0xa9.0xfe.0xa9.0xfe"
    " １６９.２５４.１６９.２５４ ①⑥⑨.②⑤④.①⑥⑨.②⑤④ 169。254。169。254 latest@169.254.169.254",
    "100.100.100.200": "100.100.25800 1684301000 0144.0144.0144.0310",
    "168.63.129.16": "168.63.129.16 2822734096",
    "100.64.0.1": "100.64.1",
    "198.18.0.1": "198.18.1",
    "224.0.0.1": "224.1",
    "255.255.255.255": "4294967295 0xffffffff 255.255.65535",
    "[::1]": "[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1] a@[::1]",
    "[::]": "[::] [0::0] [::0.0.0.0]",
    "[::ffff:7f00:1]": "[::ffff:127.0.0.1] [::FFFF:7F00:0001] [0:0:0:0:0:ffff:127.0.0.1]",
    "[::7f00:1]": "[::127.0.0.1]",
    "[::ffff:0:7f00:1]": "[::ffff:0:127.0.0.1]",
    "[::ffff:a9fe:a9fe]": "[::ffff:169.254.169.254]",
    "[64:ff9b::7f00:1]": "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::a00:1]": "[64:ff9b:1::10.0.0.1]",
    "[2002:7f00:1::]": "[2002:7f00:1::]",
    "[2001:0:7f00:1::1]": "[2001:0:7f00:1::1]",
    "[fc00::1]": "[fc00::1] [FC00:0::1]",
    "[fd00:ec2::254]": "[fd00:ec2::254]",
    "[fe80::1]": "[fe80::1] [FE80::0:1]",
    "[fec0::1]": "[fec0::1]",
    "[ff02::1]": "[ff02::1]",
}
NAMES = {
    "localhost": "localhost localhost. LOCALHOST ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ loc%61lhost lo\xadcalhost"
    " 8.8.8.8@localhost",
    "a.b.localhost": "a.b.localhost A.B.LocalHost. a。b。localhost",
    "metadata.google.internal": "metadata.google.internal. METADATA.GOOGLE.INTERNAL ⓜetadata.google.internal",
    "127.0.0.1.nip.example": "127.0.0.1.nip.example ①②⑦.0.0.1.nip.example",
    "1.0.0.127.in-addr.arpa": "1.0.0.127.in-addr.arpa.",
    "8.8.8.8.intranet.example": "8.8.8.8.intranet.example",
}
# No URL at all: zones (RFC 6874 is no part of the URL standard), numbers that are no address, other digits.
NO_URL = (
    "[fe80::1%25eth0] [fe80::1%eth0] [::1%251] [::1%25] [::1]. [::1 ::1 [::①] [127.0.0.1] [v1.::1] 256.256.256.256"
    " 0xffffffffff 127.0.0.08 127.0.0.1.1 1.2.3.4.5 127.0.0.1%00.public.example public.example%40127.0.0.1 ⑴.1"
    " ⒈⒉ ٠.٠.٠.٠ xn--127.0.0.1 127..0.1 localhost.. .localhost 127.0.0.1:99999"
)


def rows(table):
    return [(name, spelling) for name, spellings in table.items() for spelling in spellings.split(" ")]


def get(url, resolver, connector, allowed=(), clock=None, **fetch):
    """Ask for a URL once, with a fresh memory of names."""
    names = Names(Fetch(**fetch), resolver=resolver, clock=clock or Clock(), sleep=lambda seconds: None)
    return get_by(names, url, connector, allowed)


def get_by(names, url, connector, allowed=()):
    networks = [ipaddress.ip_network(text) for text in allowed]
    open_socket = functools.partial(connect, allowed=networks, resolver=names, connector=connector)
    with contextlib.closing(HostClient(Fetch(), open_socket)) as client:
        return client.get(url, {"User-Agent": "Robot/1"})


def as_header(text):
    """Text in a header, as http.client hands on its UTF-8."""
    return text.encode().decode("latin-1")


def test_the_status_of_an_internal_address_is_not_asked_for():
    connector = Connector()
    names = Names(Fetch(), resolver=Resolver([PUBLIC]), clock=Clock(), sleep=lambda seconds: None)
    open_socket = functools.partial(connect, allowed=(), resolver=names, connector=connector)
    with contextlib.closing(HostClient(Fetch(), open_socket)) as client:
        for name, method in itertools.product(LITERALS, ("HEAD", "GET")):
            assert client.head(f"http://{name}/x", {}, method).failure is Outcome.BLOCKED_ADDRESS
    assert connector.calls == []


def test_a_link_to_an_internal_address_is_refused():
    expected, found = {}, {}
    for scheme, (name, spelling) in itertools.product(("http", "https"), rows(LITERALS)):
        url = canonicalize(f"{scheme}://{spelling}/x", SOMEWHERE)
        resolver, connector = Resolver([PUBLIC]), Connector()
        reply = get(url, resolver, connector)
        seen = (outcome(url, reply, conditional=False), reply.address, resolver.names, connector.calls)
        found[scheme, spelling] = (host(url), *seen)
        expected[scheme, spelling] = (name, Outcome.BLOCKED_ADDRESS, None, [], [])
    assert found == expected


def test_a_redirect_to_an_internal_address_is_refused():
    expected, found = {}, {}
    for status, (name, spelling) in itertools.product((301, 307), rows(LITERALS)):
        for reference in (f"http://{spelling}/x", f"//{spelling}:8080/latest/meta-data/", f"\\\\{spelling}/"):
            url = redirect_target(SOMEWHERE, Reply(status, [("Location", as_header(reference))]))
            connector = Connector()
            # As robots.txt is asked for, too: its redirects go the same way.
            failure = get(url, Resolver([PUBLIC]), connector).failure
            found[status, reference] = (host(url).removesuffix(":8080"), failure, connector.calls)
            expected[status, reference] = (name, Outcome.BLOCKED_ADDRESS, [])
    assert found == expected


def test_there_are_many_spellings():
    assert len({spelling for _, spelling in rows(LITERALS)}) > 100


INSIDE = [
    ["127.0.0.1"],
    ["::1", "127.0.0.1"],
    ["169.254.169.254"],
    ["fe80::1%eth0"],
    ["::ffff:10.0.0.1"],
    ["fd00:ec2::254"],
]


def test_a_name_that_leads_inside_is_refused():
    expected, found = {}, {}
    for addresses, (name, spelling) in itertools.product(INSIDE, rows(NAMES)):
        for url in (
            canonicalize(f"http://{spelling}/x"),
            redirect_target(SOMEWHERE, Reply(302, [("Location", as_header(f"//{spelling}/x"))])),
        ):
            case = (addresses[0], spelling, url)
            resolver, connector = Resolver(addresses), Connector()
            reply = get(url, resolver, connector)
            error = reply.error.partition(" (")[0]
            found[case] = (host(url), reply.failure, error, resolver.names, connector.calls)
            expected[case] = (name, Outcome.BLOCKED_ADDRESS, f"{name} leads to {addresses[0]}", [name], [])
    assert found == expected


@pytest.mark.parametrize("spelling", NO_URL.split(" "))
def test_what_is_no_url_is_neither_a_link_nor_a_redirect(spelling):
    assert canonicalize(f"http://{spelling}/x", SOMEWHERE) is None
    assert redirect_target(SOMEWHERE, Reply(302, [("Location", as_header(f"http://{spelling}/x"))])) is None


@pytest.mark.parametrize(
    "spelling",
    [
        "8.8.8.8",
        "⑧.⑧.⑧.⑧",
        "0x08080808",
        "127.0.0.1@8.8.8.8",
        "8.8.8.8\\@127.0.0.1",
        "8.8.8.8#@127.0.0.1",
        "8.8.8.8?@127.0.0.1",
        "8.8.8.8/@127.0.0.1",
        "8.8.8.8/http://127.0.0.1",
        "8.8.8.8//127.0.0.1",
        "8.8.8.8/\\\\127.0.0.1",
        "[::ffff:8.8.8.8]",
    ],
)
def test_the_connection_goes_to_the_host_of_the_canonical_url(spelling):
    """No later reader of the URL (requests, urllib3) sees another host in it than we do."""
    url = canonicalize(f"http://{spelling}/")
    connector = Connector(PUBLIC, "::ffff:8.8.8.8")
    assert get(url, Resolver([]), connector).failure is Outcome.CONNECT_ERROR
    assert connector.addresses == [("::ffff:8.8.8.8" if "[" in spelling else PUBLIC, 80)]


INTERNAL = (
    "127.0.0.1 10.0.0.1 169.254.169.254 ::1 ::ffff:127.0.0.1 fe80::1%1 fd00::1 64:ff9b::a00:1 0.0.0.0 :: 2002:7f00:1::"
)


@pytest.mark.parametrize("address", INTERNAL.split())
def test_a_pin_to_an_internal_address_is_refused(address):
    resolver, connector = Resolver([PUBLIC]), Connector()
    reply = get("http://pin.example/", resolver, connector, resolve=[f"pin.example:80:{address}"])
    assert reply.failure is Outcome.BLOCKED_ADDRESS
    assert (resolver.names, connector.calls) == ([], [])


def test_a_pin_to_an_allowed_address_is_not():
    connector = Connector("10.1.2.3")
    pins = ["pin.example:80:10.2.2.3", "pin.example:80:10.1.2.3"]
    get("http://pin.example/", Resolver([PUBLIC]), connector, ["10.1.0.0/16"], resolve=pins)
    assert connector.addresses == [("10.1.2.3", 80)]


@pytest.mark.parametrize(
    ("allowed", "literal"),
    [
        ("127.0.0.0/8", "[::1]"),
        ("127.0.0.0/8", "10.0.0.1"),
        ("127.0.0.1/32", "127.0.0.2"),
        ("10.0.0.0/8", "[64:ff9b::7f00:1]"),
        ("169.254.0.0/24", "169.254.169.254"),
        ("::/0", "127.0.0.1"),
        ("0.0.0.0/0", "[::1]"),
    ],
)
def test_what_is_allowed_opens_nothing_else(allowed, literal):
    connector = Connector()
    assert get(f"http://{literal}/", Resolver([]), connector, [allowed]).failure is Outcome.BLOCKED_ADDRESS
    assert connector.calls == []


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1", PUBLIC, "::1"], [PUBLIC, "127.0.0.1"], ["::ffff:127.0.0.1", "169.254.169.254", PUBLIC]]
)
def test_of_a_name_with_addresses_inside_and_outside_only_those_outside_are_tried(addresses):
    connector = Connector(PUBLIC)
    assert get("http://mixed.example/", Resolver(addresses), connector).failure is Outcome.CONNECT_ERROR
    assert connector.addresses == [(PUBLIC, 80)]


def test_a_name_that_changes_its_mind_is_held_to_its_first_answer_and_then_refused():
    clock, resolver, connector = Clock(), Resolver([PUBLIC], ["127.0.0.1"]), Connector(PUBLIC)
    names = Names(Fetch(), resolver=resolver, clock=clock, sleep=clock.sleep)
    url = "http://rebind.example/"
    assert [get_by(names, url, connector).failure for _ in range(3)] == [Outcome.CONNECT_ERROR] * 3
    clock.now += ANSWER_LIFETIME
    assert [get_by(names, url, connector).failure for _ in range(3)] == [Outcome.BLOCKED_ADDRESS] * 3
    assert connector.addresses == [(PUBLIC, 80)] * 3
    assert resolver.names == ["rebind.example"] * 2


def test_a_name_that_led_inside_is_checked_anew_after_each_answer():
    clock, connector = Clock(), Connector(PUBLIC)
    resolver = Resolver(["127.0.0.1"], [PUBLIC], ["10.0.0.1"])
    names = Names(Fetch(), resolver=resolver, clock=clock, sleep=clock.sleep)
    troubles = []
    for _ in range(3):
        troubles.append(get_by(names, "http://rebind.example/", connector).failure)
        clock.now += ANSWER_LIFETIME
    assert troubles == [Outcome.BLOCKED_ADDRESS, Outcome.CONNECT_ERROR, Outcome.BLOCKED_ADDRESS]
    assert connector.addresses == [(PUBLIC, 80)]


def test_a_real_server_cannot_send_us_to_its_neighbour():
    asked = []

    def connector(address, timeout):
        asked.append(address)
        return socket.create_connection(address, timeout)

    names = Names(Fetch(), resolver=Resolver([]))
    with serve(answering(sized("Location: http://①②⑦.⓪.⓪.②/admin".encode(), status=b"302 Found"))) as server:
        reply = get_by(names, server.url(), connector, ["127.0.0.1/32"])
        target = redirect_target(server.url(), reply)
        refused = get_by(names, target, connector, ["127.0.0.1/32"])
    assert (target, refused.failure) == ("http://127.0.0.2/admin", Outcome.BLOCKED_ADDRESS)
    assert asked == [("127.0.0.1", server.port)]


def test_a_real_server_is_asked_by_the_name_that_is_pinned_to_it():
    with serve(says(sized(HTML))) as server:
        names = Names(Fetch(resolve=[f"shop.example:{server.port}:127.0.0.1"]), resolver=Resolver([]))
        url = f"http://shop.example:{server.port}/"
        reply = get_by(names, url, socket.create_connection, ["127.0.0.0/8"])
    assert (reply.status, reply.body, reply.address) == (200, PAGE, "127.0.0.1")
    assert f"Host: shop.example:{server.port}".encode() in server.heads[0]
