"""Rate limits: a token bucket for each client."""

import ipaddress
import threading
from collections import OrderedDict
from typing import NamedTuple

MAX_CLIENTS = 10_000
"""The most clients with a bucket; beyond, those whose last request is longest ago are dropped."""


class Rate(NamedTuple):
    """The rate of a client: `burst` requests at once, and `per_second` from then on."""

    per_second: float
    burst: int


class Bucket(NamedTuple):
    """The requests that a client had left at a time in seconds."""

    tokens: float
    at: float


def take(bucket: Bucket, rate: Rate, now: float) -> tuple[Bucket, float]:
    """The bucket after a request, and 0.0; or, if none is left, the seconds to wait.

    >>> take(Bucket(1.0, 0.0), Rate(2, 10), 0.0)
    (Bucket(tokens=0.0, at=0.0), 0.0)
    >>> take(Bucket(0.0, 0.0), Rate(2, 10), 0.25)
    (Bucket(tokens=0.5, at=0.25), 0.25)
    """
    tokens = min(rate.burst, bucket.tokens + (now - bucket.at) * rate.per_second)
    if tokens < 1:
        return Bucket(tokens, now), (1 - tokens) / rate.per_second
    return Bucket(tokens - 1, now), 0.0


def client_of(address: str) -> str:
    """The client of an address: an IPv4 address, or the /64 network of an IPv6 address (RFC 6177).

    >>> client_of("2001:db8::1:2"), client_of("192.0.2.1"), client_of("unknown")
    ('2001:db8::/64', '192.0.2.1', 'unknown')
    """
    try:
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    except ValueError:
        return address


class RateLimiter:
    """The buckets of all clients. Thread-safe."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """0.0 if a request from an address is within the rate; otherwise the seconds to wait."""
        client = client_of(address)
        with self._lock:
            bucket = self._buckets.pop(client, Bucket(self._rate.burst, now))
            self._buckets[client], seconds = take(bucket, self._rate, now)
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return seconds
