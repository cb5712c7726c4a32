"""A host with one fault: what it does wrong, when, and how it talks the rest of the time.

    with serve(host(Fault(leave(b"SSH-2.0"), Outcome.BAD_RESPONSE))) as server:
        ...  # /fault has the fault; /robots.txt and /next are as they should be

What a fault says begins when the head of a request was read. `keep` waits for the next request on the connection,
`leave`, `reset`, `stall`, `drip` and `flood` are as their names say.
"""

import datetime
import functools
import ipaddress
import itertools
import ssl
import tempfile
from enum import Enum, auto
from typing import NamedTuple

from cryptography import x509  # Beam depends on it
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from beamtrawl.transforms.outcomes import Outcome
from tests.support.raw import HTML, PAGE, Peer, Talk, sized

NEXT_PAGE = b"<p>whiting"
_NO_ROBOTS = sized(body=b"", status=b"404 Not Found")
_TLS_HANDSHAKE = b"\x16"  # the type of a client's first record (RFC 8446, 5.1)


class At(Enum):
    """Where a fault is."""

    PAGE = auto()
    ROBOTS = auto()  # at /robots.txt and wherever that leads
    CONNECTION = auto()  # before a request is read, on the connection after that of robots.txt
    HANDSHAKE = auto()  # whenever a client starts with TLS; who does not is answered in plain text
    INSIDE_TLS = auto()  # at a page, with a certificate that a client must not care about


class Fault(NamedTuple):
    """A behaviour, and what has to come of it."""

    talk: Talk
    outcome: Outcome  # of the visit to /fault
    body: bytes | None = PAGE  # of a fetched page; None: as much as the settings allow, marked as truncated
    at: At = At.PAGE
    is_endless: bool = False  # the request ends by the time that it may take, and by nothing else

    @property
    def scheme(self) -> str:
        return "https" if self.at in (At.HANDSHAKE, At.INSIDE_TLS) else "http"


def host(fault: Fault) -> Talk:
    """A host that has the fault at its place, and is as it should be at all others."""
    connections = itertools.count()

    def talk(peer: Peer) -> None:
        number = next(connections)
        if fault.at is At.CONNECTION and number == 1:
            fault.talk(peer)
        if fault.scheme == "https" and peer.first_byte() == _TLS_HANDSHAKE:
            if fault.at is At.HANDSHAKE:
                fault.talk(peer)
                return
            peer.start_tls(certificate())
        while True:
            peer.read_head()
            path = peer.target.partition(b"?")[0]
            if path == b"/next":
                peer.send(sized(HTML, body=NEXT_PAGE))
            elif path == b"/fault":
                (_herring if fault.at in (At.ROBOTS, At.CONNECTION) else fault.talk)(peer)
            elif fault.at is At.ROBOTS:
                fault.talk(peer)
            else:
                peer.send(_NO_ROBOTS)
                if fault.at is At.CONNECTION:
                    return

    return talk


def keep(data: bytes) -> Talk:
    """Say this, and wait for the next request."""

    def talk(peer: Peer) -> None:
        peer.send(data)

    return talk


_herring = keep(sized(HTML))


def leave(data: bytes) -> Talk:
    """Say this and end, with good manners; what the client still says is heard."""

    def talk(peer: Peer) -> None:
        peer.send(data)
        peer.end()
        peer.wait_for_hang_up()

    return talk


def reset(data: bytes) -> Talk:
    """Say this and end, with an error."""

    def talk(peer: Peer) -> None:
        peer.send(data)
        peer.reset()

    return talk


def stall(data: bytes) -> Talk:
    """Say this, and nothing more; it does not end either."""

    def talk(peer: Peer) -> None:
        peer.send(data)
        peer.wait_for_hang_up()

    return talk


def drip(start: bytes, drop: bytes) -> Talk:
    """Ten drops a second, for ever: no single read takes long."""

    def talk(peer: Peer) -> None:
        peer.send(start)
        peer.drip(drop, 0.1)

    return talk


def flood(start: bytes, wave: bytes) -> Talk:
    """The same again and again, as fast as the client can take it, for ever."""

    def talk(peer: Peer) -> None:
        peer.send(start)
        while True:
            peer.send(wave)

    return talk


def hang_up_on_the_next(data: bytes) -> Talk:
    """Say this, and end when the next request is there."""

    def talk(peer: Peer) -> None:
        peer.send(data)
        peer.read_head()
        peer.end()

    return talk


def hops(count: int, end: bytes) -> Talk:
    """So many redirects of a robots.txt, and then this."""

    def talk(peer: Peer) -> None:
        hop = int(peer.target.partition(b"?")[2] or 0)
        location = b"Location: /robots.txt?%d" % (hop + 1)
        peer.send(end if hop == count else sized(location, status=b"302 Found"))

    return talk


def shake_hands(address: str = "127.0.0.1", age: int = 1) -> Talk:
    """Start TLS with a certificate for an address, so many days old, and answer."""

    def talk(peer: Peer) -> None:
        peer.start_tls(certificate(address, age))
        peer.read_head()
        peer.send(sized(HTML))

    return talk


@functools.cache
def certificate(address: str = "127.0.0.1", age: int = 1) -> ssl.SSLContext:
    """A server's side of TLS: a certificate that nobody vouches for, so many days old, that holds for ten."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, address)])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=age)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=10))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(secret + signed.public_bytes(pem))
        file.flush()
        context.load_cert_chain(file.name)
    return context
