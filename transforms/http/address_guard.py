"""Blocks requests to special-purpose addresses, and connects to the same address that was checked.

A crawler follows untrusted links: none of them may reach into the network where the crawler runs.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

Resolver = Callable[..., Sequence[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or a function with the same behaviour for (host, port, type=…)."""

Connector = Callable[[tuple[str, int], float], socket.socket]
"""`socket.create_connection`, or a function with the same behaviour for ((address, port), timeout)."""

# The IANA registries of special-purpose addresses (RFC 6890), and the metadata addresses of cloud
# providers, which serve the credentials of machines. The first range that contains an address names it.
_SPECIAL: tuple[tuple[str, str], ...] = (
    ("metadata", "169.254.169.254/32 169.254.170.2/32 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32"),
    ("metadata", "fd00:ec2::/48 fd20:ce::254/128"),
    ("unspecified", "0.0.0.0/8 ::/128"),
    ("loopback", "127.0.0.0/8 ::1/128"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10 64:ff9b:1::/48"),
    ("shared", "100.64.0.0/10"),  # behind a carrier's NAT
    ("link-local", "169.254.0.0/16 fe80::/10"),
    ("multicast", "224.0.0.0/4 ff00::/8"),
    ("benchmarking", "198.18.0.0/15 2001:2::/48"),
    ("documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    ("reserved", "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4"),
)
_RANGES = [(ipaddress.ip_network(text), name) for name, texts in _SPECIAL for text in texts.split()]

# IPv6 ranges whose addresses embed an IPv4 address, and its bit offset.
_CARRIERS: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated, RFC 2765
    (IPv6Network("::/96"), 0),  # compatible, deprecated
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
    (IPv6Network("2001::/32"), 64),  # Teredo: its server
)
_TRANSLATED = [network for network, _ in _CARRIERS]
_TEREDO = IPv6Network("2001::/32")
_IETF_PROTOCOLS = IPv6Network("2001::/23")
_GLOBAL_UNICAST = IPv6Network("2000::/3")

_MOST_TRIED = 8  # addresses of one name: an answer with thousands must not cause a scan of a network


class NameNotResolved(OSError):
    """The host name does not resolve to any address."""


class BlockedAddress(OSError):
    """All addresses of the host are special, and none is allowed."""

    def __init__(self, host: str, address: str, reason: str) -> None:
        super().__init__(f"{host} leads to {address} ({reason})")
        self.host = host
        self.address = address
        self.reason = reason


def blocked(address: str, allowed: Sequence[Network]) -> str | None:
    """The reason why requests to an address are blocked, in a word or two; None if they are allowed.

    Special addresses are blocked, as are IPv6 addresses that embed a special IPv4 address, unless a range in
    `allowed` contains either. Text that is not an address in its usual spelling is blocked, too.
    """
    try:
        return _special(ipaddress.ip_address(address), allowed)
    except ValueError:
        return "not an address"


def is_loopback(address: str) -> bool:
    """Whether an address is a loopback address; False for text that is not an address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


def literal_loopback(host: str) -> bool:
    """Whether a host of a canonical URL (no port) is loopback by its name or literal address, without DNS.

    >>> [literal_loopback(host) for host in ("127.0.0.1", "[::1]", "www.localhost", "localhost.org")]
    [True, True, True, False]
    """
    return host == "localhost" or host.endswith(".localhost") or is_loopback(unbracketed(host))


def literal(host: str) -> Sequence[tuple[Any, ...]]:
    """getaddrinfo's entries for an address in any spelling that the system accepts; none for a name. Sends no query."""
    try:
        return socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return ()


_INTERNAL = ("local", "internal", "intranet", "localdomain", "lan", "home", "corp", "private", "home.arpa")


def is_internal_name(host: str) -> bool:
    """Whether a name belongs to an internal network: no dot, or below a domain that is not in public DNS.

    `.local` is RFC 6762's, `home.arpa` RFC 8375's, `.internal` is reserved by ICANN, the others are in wide use.

    >>> [is_internal_name(name) for name in ("printer", "db.internal", "a.home.arpa", "a.test", "internal.example.org")]
    [True, True, True, False, False]
    """
    name = host.rstrip(".").lower()
    return "." not in name or any(name.endswith(f".{domain}") for domain in _INTERNAL)


def connect(
    host: str,
    port: int,
    timeout: float,
    allowed: Sequence[Network],
    *,
    resolver: Resolver = socket.getaddrinfo,
    connector: Connector = socket.create_connection,
) -> tuple[socket.socket, str]:
    """Connects to a host by TCP; returns the socket and the remote address.

    The name is resolved once, and the connection goes to one of the resulting addresses, so DNS rebinding has
    no effect. Blocked addresses are skipped; the first few others are tried in order and share the timeout
    (seconds; the resolver's own time is not included).

    Raises NameNotResolved, BlockedAddress, or the OSError of the last attempt.
    """
    addresses = _resolve(unbracketed(host), port, resolver)
    usable = [address for address in addresses if blocked(address, allowed) is None][:_MOST_TRIED]
    if not usable:
        raise BlockedAddress(host, addresses[0], blocked(addresses[0], allowed) or "")
    deadline = time.monotonic() + timeout
    failure: OSError = TimeoutError(f"no time was left to connect to {host}")
    for tried, address in enumerate(usable):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        try:
            connection = connector((address, port), remaining / (len(usable) - tried))
        except OSError as error:
            failure = error
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address
    raise failure


def _resolve(host: str, port: int, resolver: Resolver) -> list[str]:
    """The distinct addresses of a name, in the resolver's order; at least one."""
    try:
        found = resolver(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:  # ValueError: not a valid DNS name
        raise NameNotResolved(f"{host}: {error}") from error
    if not found:
        raise NameNotResolved(f"{host}: no address")
    return list(dict.fromkeys(sockaddr[0] for *_, sockaddr in found))


def _special(address: Address, allowed: Sequence[Network]) -> str | None:
    if any(address in network for network in allowed):
        return None
    for network, name in _RANGES:
        if address in network:
            return name
    if isinstance(address, IPv6Address):
        for inner in _carried(address):
            if reason := _special(inner, allowed):
                return reason
        is_special = address in _IETF_PROTOCOLS or address not in _GLOBAL_UNICAST
        if is_special and not any(address in network for network in _TRANSLATED):
            return "reserved"
    return None


def _carried(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that are embedded in an IPv6 address.

    An operator's own prefixes (6rd, NAT64 and MAP: RFCs 5969, 6052, 7597) cannot be told from other addresses.
    """
    bits = int(address)
    shifts = [shift for network, shift in _CARRIERS if address in network]
    if bits >> 32 & 0xFCFFFFFF == 0x5EFE:  # ISATAP below any prefix, with or without the bits u and g (RFC 5214, 6.1)
        shifts.append(0)
    carried = [IPv4Address(bits >> shift & 0xFFFFFFFF) for shift in shifts]
    if address in _TEREDO:  # the client's, with inverted bits (RFC 4380 section 4)
        carried.append(IPv4Address(~bits & 0xFFFFFFFF))
    return carried


def unbracketed(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")
