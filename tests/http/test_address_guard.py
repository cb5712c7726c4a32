"""Addresses: which are refused in whatever spelling, and that a connection goes where the check looked."""

import contextlib
import ipaddress
import socket
import threading

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.http.address_guard import (
    BlockedAddress,
    NameNotResolved,
    blocked,
    connect,
    is_loopback,
    literal_loopback,
)
from tests.support.recorders import Connector, Resolver, numeric

SPECIAL = {
    "loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 2002:7f00:1::"
    " 64:ff9b::7f00:1 ::ffff:0:127.0.0.1 2001:0:7f00:1::1 2001:0:808:808:0:0:80ff:fffe",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fd12:3456::1 fec0::1 64:ff9b:1::1"
    " ::ffff:10.0.0.1 ::ffff:192.168.0.1 2002:c0a8:101::1 64:ff9b::a00:1 64:ff9b:1:fffe::1"
    " 2a00:1450::5efe:10.0.0.1 2a00:1450::200:5efe:10.0.0.1 2a00:1450::100:5efe:10.0.0.1"
    " 2a00:1450::300:5efe:10.0.0.1 2002:808:808::5efe:10.0.0.1 2001:0:808:808::5efe:10.0.0.1",
    "metadata": "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254"
    " fd20:ce::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::",
    "link-local": "169.254.0.1 fe80::1 fe80::1%eth0 febf::1 ::ffff:169.254.1.1",
    "shared": "100.64.0.1 100.127.255.255",
    "unspecified": "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 64:ff9b::",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1",
    "benchmarking": "198.18.0.1 198.19.255.255 2001:2::1",
    "documentation": "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1",
    "reserved": "192.0.0.1 192.88.99.1 240.0.0.1 255.255.255.255 100::1 5f00::1 4000::1 2001:10::1"
    " 4000::5efe:8.8.8.8 2001:10::5efe:8.8.8.8",
    "not an address": "2130706433 0177.0.0.1 0x7f.1 127.1 localhost [::1] 127.0.0.1:80 1.2.3 １２７.0.0.1",
}
PUBLIC = (
    "8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 169.253.0.1 198.20.0.1"
    " 223.255.255.255 11.0.0.1 126.0.0.1 128.0.0.1 2606:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888"
    " ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1"
    " 2a00:1450::5efe:8.8.8.8 2a00:1450::400:5efe:10.0.0.1 2a00:1450::5eff:10.0.0.1"
)


def test_special_addresses_are_refused_with_the_reason():
    reasons = {address: reason for reason, addresses in SPECIAL.items() for address in addresses.split()}
    reasons[""] = "not an address"
    assert {address: blocked(address, ()) for address in reasons} == reasons


def test_public_addresses_are_not():
    assert [address for address in PUBLIC.split() if blocked(address, ())] == []


@given(st.ip_addresses())
def test_what_is_not_refused_is_global_for_the_standard_library_too(address):
    if blocked(str(address), ()) is None:
        inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
        assert inner.is_global or str(address).startswith("64:ff9b::")


@pytest.mark.parametrize(
    ("address", "allowed", "expected"),
    [
        ("127.0.0.1", "127.0.0.0/8", None),
        ("::ffff:127.0.0.1", "127.0.0.0/8", None),
        ("::1", "::1/128", None),
        ("::1", "127.0.0.0/8", "loopback"),
        ("10.1.2.3", "10.1.0.0/16", None),
        ("10.2.2.3", "10.1.0.0/16", "private"),
        ("169.254.169.254", "10.0.0.0/8", "metadata"),
        ("fd12::1", "fd00::/8", None),
        ("not.an.address", "0.0.0.0/0", "not an address"),
    ],
)
def test_allowed_ranges(address, allowed, expected):
    assert blocked(address, [ipaddress.ip_network(allowed)]) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("www.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("[::ffff:127.0.0.1]", True),
        ("localhost.example.com", False),
        ("notlocalhost", False),
        ("127.0.0.1.example.com", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("[2002:7f00:1::]", False),  # a tunnel's address, not this machine
        ("example.com", False),
        ("", False),
    ],
)
def test_literal_loopback(host, expected):
    assert literal_loopback(host) is expected


def test_is_loopback():
    assert [is_loopback(address) for address in ("127.0.0.2", "::1", "::ffff:127.0.0.1")] == [True] * 3
    assert [is_loopback(address) for address in ("8.8.8.8", "::2", "localhost", "0.0.0.0")] == [False] * 4


SPELLINGS = (
    # one address of this machine, as inet_aton reads it
    "127.0.0.1 127.0.1 127.1 2130706433 017700000001 0x7f000001 0x7F000001 0177.0.0.1 0177.0.0.01 0x7f.0.0.1"
    " 0x7f.1 0177.1 127.0x0.0.1 127.0.0x1 0x7f.0x0.0x0.0x1 0177.0x0.0.1 127.00.00.01 127.0.0.001 127.0.65535"
    " 127.16777215 0x7fffffff"
    # others inside
    " 10.1 10.0.1 167772161 0xa000001 012.0.0.1 0xa.1 0300.0250.1.1 192.168.257 3232235777 0xc0a80101"
    " 172.16.1 2886729729 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xa9.0xfe.0xa9.0xfe"
    " 0 0.0 00 0x0 0.0.0.0 100.64.1 255.255.255.255 4294967295 0xffffffff"
    # IPv6
    " ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 :: 0:0::0 ::ffff:127.0.0.1"
    " ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 ::127.0.0.1 ::ffff:a00:1 ::ffff:169.254.169.254"
    " ::ffff:a9fe:a9fe 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 2002:7f00:0001:: fc00::1 fd00:ec2::254 fe80::1"
    " fe80::1%1 [::1] [::ffff:127.0.0.1] [fe80::1]"
)


def test_no_spelling_of_an_internal_address_is_connected_to():
    connected = []
    for host in SPELLINGS.split():
        connector = Connector()
        # A system that does not read a spelling as an address says that there is no such name: as good.
        with contextlib.suppress(BlockedAddress, NameNotResolved):
            connect(host, 80, 5, (), resolver=numeric, connector=connector)
            connected.append(host)
        connected += connector.calls
    assert connected == []


def test_the_system_reads_most_of_these_spellings():
    refusals = []
    for host in SPELLINGS.split():
        with contextlib.suppress(NameNotResolved):
            try:
                connect(host, 80, 5, (), resolver=numeric, connector=Connector())
            except BlockedAddress as error:
                refusals.append(error)
    assert len(refusals) >= 60


INTERNAL_NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "metadata.google.internal": ["169.254.169.254"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "printer.local": ["fe80::1%eth0"],
    "intranet": ["10.0.0.7"],
    "mapped.example": ["::ffff:192.168.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "zero.example": ["0.0.0.0"],
    "odd.example": ["0177.0.0.1"],  # a resolver that hands back what it does not understand
}


@pytest.mark.parametrize(("name", "addresses"), INTERNAL_NAMES.items())
def test_names_of_internal_addresses_are_refused(name, addresses):
    connector = Connector()
    with pytest.raises(BlockedAddress) as refusal:
        connect(name, 80, 5, (), resolver=Resolver(addresses), connector=connector)
    assert connector.calls == []
    assert (refusal.value.host, refusal.value.address) == (name, addresses[0])
    assert str(refusal.value) == f"{name} leads to {addresses[0]} ({refusal.value.reason})"


def test_a_name_that_changes_between_check_and_connection_gains_nothing():
    resolver, connector = Resolver(["8.8.8.8"], ["127.0.0.1"]), Connector()
    _, address = connect("rebind.example", 80, 5, (), resolver=resolver, connector=connector)
    assert resolver.names == ["rebind.example"]
    assert connector.addresses == [("8.8.8.8", 80)]
    assert address == "8.8.8.8"


def test_addresses_that_are_refused_are_passed_over():
    connector = Connector()
    resolver = Resolver(["127.0.0.1", "8.8.8.8", "10.0.0.1"])
    assert connect("mixed.example", 80, 5, (), resolver=resolver, connector=connector)[1] == "8.8.8.8"
    assert connector.addresses == [("8.8.8.8", 80)]


def test_the_next_address_is_tried_and_all_share_the_timeout():
    connector = Connector("8.8.8.8")
    resolver = Resolver(["8.8.8.8", "8.8.8.8", "1.1.1.1"])
    assert connect("two.example", 443, 600, (), resolver=resolver, connector=connector)[1] == "1.1.1.1"
    (first, first_timeout), (second, second_timeout) = connector.calls
    assert (first, second) == (("8.8.8.8", 443), ("1.1.1.1", 443))
    assert 200 < first_timeout <= 300
    assert 500 < second_timeout <= 600


def test_the_last_failure_is_raised():
    with pytest.raises(ConnectionRefusedError, match=r"1\.1\.1\.1 refused"):
        connect(
            "x.example",
            80,
            5,
            (),
            resolver=Resolver(["8.8.8.8", "1.1.1.1"]),
            connector=Connector("8.8.8.8", "1.1.1.1"),
        )


def test_of_many_addresses_a_few_are_tried():
    addresses = [f"8.8.{number}.8" for number in range(100)]
    connector = Connector(*addresses)
    with pytest.raises(ConnectionRefusedError):
        connect("wide.example", 80, 800, (), resolver=Resolver(["10.0.0.1", *addresses]), connector=connector)
    assert connector.addresses == [(address, 80) for address in addresses[:8]]
    assert connector.calls[0][1] == pytest.approx(100, abs=10)


def test_without_time_nothing_is_tried():
    connector = Connector()
    with pytest.raises(TimeoutError):
        connect("x.example", 80, 0, (), resolver=Resolver(["8.8.8.8"]), connector=connector)
    assert connector.calls == []


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
def test_a_name_that_does_not_resolve(error):
    with pytest.raises(NameNotResolved, match=r"gone\.example: "):
        connect("gone.example", 80, 5, (), resolver=Resolver(error), connector=Connector())


def test_a_name_without_addresses():
    with pytest.raises(NameNotResolved, match=r"empty\.example: no address"):
        connect("empty.example", 80, 5, (), resolver=Resolver([]), connector=Connector())


def test_real_names_that_dns_cannot_carry_are_not_resolved():
    for host in ("a" * 64 + ".example", "a..b", "nul\0.example"):
        with pytest.raises(NameNotResolved):
            connect(host, 80, 5, (), connector=Connector())


def test_a_real_connection_goes_to_an_allowed_address_without_nagle():
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []
        thread = threading.Thread(target=lambda: accepted.append(server.accept()[0]))
        thread.start()
        allowed = [ipaddress.ip_network("127.0.0.0/8")]
        connection, address = connect("127.0.0.1", server.getsockname()[1], 5, allowed)
        thread.join()
        with connection, accepted[0]:
            assert address == "127.0.0.1"
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
