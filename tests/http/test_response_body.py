"""Bodies: decoded piece by piece, however they are cut, within bounds of size and of time."""

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.http.errors import RequestError
from beamtrawl.transforms.http.response_body import Pace, read_body
from beamtrawl.transforms.outcomes import Outcome

LIMIT = 1000
PAGE = b"<p>herring" * 10


class Read(NamedTuple):
    """A body and how its reading ended."""

    data: bytes
    truncated: bool = False
    ended: bool = False
    failure: RequestError | None = None


def reader(pieces: Iterable[bytes | RequestError]) -> Callable[[int], bytes]:
    """Gives one piece at each call, and nothing after the last."""
    rest = iter(pieces)

    def read(n: int) -> bytes:
        piece = next(rest, b"")
        if isinstance(piece, RequestError):
            raise piece
        assert len(piece) <= n
        return piece

    return read


def body(pieces: Iterable[bytes | RequestError], encoding: str = "", limit: int = LIMIT) -> Read:
    return read(reader(pieces), encoding, limit)


def read(source: Callable[[int], bytes], encoding: str, limit: int = LIMIT, pace: Pace | None = None) -> Read:
    data, seconds = bytearray(), itertools.count(0, 4)
    found = read_body(source, encoding, limit, pace or Pace(0, 1, 0), lambda: next(seconds), data.extend)
    return Read(bytes(data), *found)


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return engine.compress(data) + engine.flush()


# encoding, body as it comes, what it stands for, whether nothing of it is left
WHOLE = {
    "as it is": ("", PAGE, PAGE, True),
    "nothing": ("", b"", b"", True),
    "gzip": ("gzip", gzip.compress(PAGE), PAGE, True),
    "gzip in any case": (" GZip ", gzip.compress(PAGE), PAGE, True),
    "gzip among nothing": ("identity, , x-gzip", gzip.compress(PAGE), PAGE, True),
    "gzip of nothing": ("gzip", gzip.compress(b""), b"", True),
    "nothing instead of gzip": ("gzip", b"", b"", True),
    "gzip twice": ("gzip, gzip", gzip.compress(gzip.compress(PAGE)), PAGE, True),
    "deflate within gzip": ("deflate, gzip", gzip.compress(zlib.compress(PAGE)), PAGE, True),
    "deflate": ("deflate", zlib.compress(PAGE), PAGE, True),
    "deflate without its frame": ("deflate", raw_deflate(PAGE), PAGE, True),
    "gzip under another name": ("deflate", gzip.compress(PAGE), PAGE, True),
    "two members": ("gzip", gzip.compress(PAGE) + gzip.compress(PAGE), PAGE * 2, True),
    "an empty member between": ("gzip", gzip.compress(PAGE) + gzip.compress(b"") + gzip.compress(PAGE), PAGE * 2, True),
    "many members": ("gzip", gzip.compress(b"x") * 500, b"x" * 500, True),
    "something else behind": ("gzip", gzip.compress(PAGE) + bytes(99), PAGE, False),
    "something else behind two": ("gzip", gzip.compress(PAGE) * 2 + b"\x1f\x8b\x07", PAGE * 2, False),
    "half the sign of another member": ("gzip", gzip.compress(PAGE) + b"\x1f\x8b", PAGE, True),
    "something else behind deflate": ("deflate", zlib.compress(PAGE) + b"more", PAGE, False),
}


@pytest.mark.parametrize("size", [1, 7, 10**6], ids=str)
@pytest.mark.parametrize(("encoding", "data", "expected", "ended"), WHOLE.values(), ids=WHOLE)
def test_a_body_is_the_same_however_it_is_cut(
    encoding: str, data: bytes, expected: bytes, ended: bool, size: int
) -> None:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert body(pieces, encoding) == Read(expected, ended=ended)


# encoding, pieces, what there is of the body, whether it was cut at the limit, else what was wrong
CUT = {
    "as long as may be": ("", [b"x" * LIMIT], b"x" * LIMIT, False, None),
    "a byte too long": ("", [b"x" * LIMIT, b"x"], b"x" * LIMIT, True, None),
    "gzip as long as may be": ("gzip", [gzip.compress(b"x" * LIMIT)], b"x" * LIMIT, False, None),
    "gzip a byte too long": ("gzip", [gzip.compress(b"x" * LIMIT + b"y")], b"x" * LIMIT, True, None),
    "gzip too long with its second member": ("gzip", [gzip.compress(b"x" * 600) * 2], b"x" * LIMIT, True, None),
    "gzip of nothing but wrapping": ("gzip", [gzip.compress(b"") * 500] * 10, b"", False, Outcome.TOO_LONG),
    "an unknown encoding": ("br", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "two encodings of which none is there": ("gzip, gzip", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "four encodings": ("gzip, gzip, gzip, gzip", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "gzip twice, the inner one cut short": (
        "gzip, gzip",
        [gzip.compress(gzip.compress(PAGE)[:-1])],
        PAGE,
        False,
        Outcome.BAD_RESPONSE,
    ),
    "gzip twice, too long": ("gzip, gzip", [gzip.compress(gzip.compress(b"x" * 1001))], b"x" * LIMIT, True, None),
    "gzip twice of nothing but wrapping": (
        "gzip, gzip",
        [gzip.compress(gzip.compress(b"") * 10_000)],
        b"",
        False,
        Outcome.TOO_LONG,
    ),
    "gzip that is none": ("gzip", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "gzip cut short": ("gzip", [gzip.compress(PAGE)[:-1]], PAGE, False, Outcome.BAD_RESPONSE),
    "gzip cut in its second member": (
        "gzip",
        [gzip.compress(PAGE), gzip.compress(PAGE)[:9]],
        PAGE,
        False,
        Outcome.BAD_RESPONSE,
    ),
    "gzip that does not add up": ("gzip", [gzip.compress(PAGE)[:-4], bytes(4)], PAGE, False, Outcome.BAD_RESPONSE),
    "a line that breaks": (
        "",
        [PAGE, RequestError(Outcome.CONNECT_ERROR, "reset")],
        PAGE,
        False,
        Outcome.CONNECT_ERROR,
    ),
}


@pytest.mark.parametrize(("encoding", "pieces", "data", "truncated", "end"), CUT.values(), ids=CUT)
def test_what_is_kept_of_a_body_that_does_not_end_well(
    encoding: str, pieces: list[bytes | RequestError], data: bytes, truncated: bool, end: Outcome | None
) -> None:
    found = body(pieces, encoding)
    assert (found.data, found.truncated) == (data, truncated)
    assert (found.failure.outcome if found.failure else None) == end
    assert found.ended == (end is None and not truncated)


@given(st.binary(max_size=300), st.lists(st.binary(max_size=50), max_size=5))
def test_any_bytes_under_the_name_of_gzip_come_to_an_end(start: bytes, more: list[bytes]) -> None:
    found = body([start, *more], "gzip")
    assert len(found.data) <= LIMIT


def test_a_bomb_is_not_unpacked_beyond_the_limit() -> None:
    bomb = gzip.compress(bytes(10**8))
    pieces = [bomb[start : start + 16_384] for start in range(0, len(bomb), 16_384)]
    source = reader(pieces)
    assert read(source, "gzip") == Read(bytes(LIMIT), truncated=True)
    assert source(10**6) == pieces[1]


# bytes that came, at which second; whether that was too slow: 100 bytes a second, measured over 10
PACES = {
    "fast": [(10_000, 1, False), (10_000, 9, False)],
    "just fast enough": [(1000, 10, False), (1000, 20, False)],
    "just too slow": [(999, 10, True)],
    "slow, but for less than the span": [(1, 9.9, False)],
    "fast and then slow": [(10**6, 10, False), (10, 15, False), (10, 20, True)],
    "a long wait for much": [(5000, 30, False)],
    "a long wait for little": [(2999, 30, True)],
}


@pytest.mark.parametrize("came", PACES.values(), ids=PACES)
def test_the_pace_is_measured_over_spans_of_time(came: list[tuple[int, float, bool]]) -> None:
    pace = Pace(100, 10, now=0)
    assert [pace.too_slow(count, now) for count, now, _ in came] == [slow for *_, slow in came]


def test_without_a_floor_nothing_is_too_slow() -> None:
    assert not Pace(0, 10, now=0).too_slow(1, 1e6)


def test_a_slow_body_ends_with_what_came_of_it() -> None:
    found = read(reader([PAGE, b"x", b"y", b"z"]), "", pace=Pace(100, 4, 0))  # a piece in four seconds
    assert (found.data, found.failure.outcome if found.failure else None) == (PAGE, Outcome.TIMEOUT)
