"""How often clients may ask."""

import doctest

from hypothesis import given, strategies as st

from beamtrawl.search.gateway import rate_limits
from beamtrawl.search.gateway.rate_limits import Bucket, Rate, RateLimiter, take
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
MAX_CLIENTS = 10_000


def test_examples():
    assert doctest.testmod(rate_limits) == (0, 3)


@given(
    st.floats(0.1, 100),
    st.integers(1, 50),
    st.lists(st.floats(0, 5), min_size=1, max_size=200),
)
def test_no_client_gets_more_than_its_rate_and_nobody_waits_in_vain(per_second, burst, pauses):
    rate = Rate(per_second, burst)
    bucket, now, taken, waits_until = Bucket(burst, 0.0), 0.0, 0, 0.0
    for pause in pauses:
        now += pause
        bucket, seconds = take(bucket, rate, now)
        if seconds:
            assert taken > 0
            waits_until = now + seconds
        else:
            taken += 1
            assert now >= waits_until - 1e-6
        assert taken <= burst + now * per_second + 1e-6
    _, seconds = take(bucket, rate, now)
    assert take(bucket, rate, now + seconds + 1e-6)[1] == 0


# addresses, whether they are one client
CLIENTS = {
    "one address": ("192.0.2.1", "192.0.2.1", True),
    "two addresses": ("192.0.2.1", "192.0.2.2", False),
    "one network of IPv6": ("2001:db8::1", "2001:db8::ffff:2", True),
    "two networks of IPv6": ("2001:db8::1", "2001:db8:0:1::1", False),
    "no addresses": ("", "unknown", False),
}


@each_row(CLIENTS)
def test_who_is_one_client(first, second, is_one):
    limiter = RateLimiter(Rate(1, 1))
    assert limiter.wait(first, 0.0) == 0
    assert (limiter.wait(second, 0.0) > 0) is is_one


def test_those_who_asked_last_are_remembered():
    limiter = RateLimiter(Rate(1, 1))
    for number in range(MAX_CLIENTS + 1):
        assert limiter.wait(f"client {number}", 0.0) == 0
    assert limiter.wait("client 0", 0.0) == 0  # forgotten
    assert limiter.wait(f"client {MAX_CLIENTS}", 0.0) > 0
