"""Bodies: decoded piece by piece, however they are cut, within bounds of size and of time."""

import gzip
import itertools
import random
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import brotli
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.http.content_coding import Decoder, zstd
from beamtrawl.transforms.http.errors import RequestError
from beamtrawl.transforms.http.response_body import Pace, read_body
from beamtrawl.transforms.outcomes import Outcome
from tests.support.tables import each_row

LIMIT = 1000
PAGE = b"<p>herring" * 10


class Read(NamedTuple):
    """A body and how its reading ended."""

    data: bytes
    truncated: bool = False
    ended: bool = False
    failure: RequestError | None = None
    oddity: str | None = None


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


def compress_br(data: bytes, window: int = 22) -> bytes:
    """A stream of Brotli in its fifth quality: the best takes a tenth of a second for a few bytes."""
    return brotli.compress(data, quality=5, lgwin=window)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "br": compress_br, "zstd": zstd.compress}
SKIPPED = struct.pack("<II", 0x184D2A50, 5) + b"abcde"


def flushed_brotli(data: bytes) -> bytes:
    """A stream of br that lacks its end, and nothing before it."""
    engine = brotli.Compressor()
    return engine.process(data) + engine.flush()


def frame(window: int, data: bytes) -> bytes:
    """A frame of zstd with one raw block; `window` is its window descriptor (RFC 8878, 3.1.1.1.2)."""
    return struct.pack("<IBB", 0xFD2FB528, 0, window) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def single_segment(size: int) -> bytes:
    """A frame of zstd whose window is its content of `size` bytes, which all are x."""
    full, rest = divmod(size, 131_072)
    blocks = [131_072] * full + [rest]
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, size) + b"".join(
        (count << 3 | 2 | (number == full)).to_bytes(3, "little") + b"x" for number, count in enumerate(blocks)
    )


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
    "br": ("br", compress_br(PAGE), PAGE, True),
    "br of nothing": ("BR", compress_br(b""), b"", True),
    "nothing instead of br": ("br", b"", b"", True),
    "br with the largest window": ("br", compress_br(PAGE, 24), PAGE, True),
    "something else behind br": ("br", compress_br(PAGE) + b"more", PAGE, False),
    "a second stream behind br": ("br", compress_br(PAGE) * 2, PAGE, False),
    "zstd": ("zstd", zstd.compress(PAGE), PAGE, True),
    "zstd of nothing": ("zstd", zstd.compress(b""), b"", True),
    "nothing instead of zstd": ("zstd", b"", b"", True),
    "two frames": ("zstd", zstd.compress(PAGE) * 2, PAGE * 2, True),
    "many frames": ("zstd", zstd.compress(b"x") * 500, b"x" * 500, True),
    "frames to skip": ("zstd", SKIPPED + zstd.compress(PAGE) + SKIPPED + zstd.compress(PAGE), PAGE * 2, True),
    "something else behind zstd": ("zstd", zstd.compress(PAGE) + b"more", PAGE, False),
    "something else behind two frames": ("zstd", zstd.compress(PAGE) * 2 + bytes(99), PAGE * 2, False),
    "half the sign of another frame": ("zstd", zstd.compress(PAGE) + b"\x28\xb5\x2f", PAGE, True),
    "a window of 8 MB": ("zstd", frame(13 << 3, PAGE), PAGE, True),
    "br within gzip": ("br, gzip", gzip.compress(compress_br(PAGE)), PAGE, True),
    "gzip within br": ("gzip, br", compress_br(gzip.compress(PAGE)), PAGE, True),
    "br within zstd within gzip": ("br,zstd,gzip", gzip.compress(zstd.compress(compress_br(PAGE))), PAGE, True),
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
    "gzip as long as may be, and a second member": (
        "gzip",
        [gzip.compress(b"x" * LIMIT) + gzip.compress(b"y")],
        b"x" * LIMIT,
        True,
        None,
    ),
    "gzip of nothing but wrapping": ("gzip", [gzip.compress(b"") * 500] * 10, b"", False, Outcome.TOO_LONG),
    "an unknown encoding": ("compress", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "four encodings": (
        "gzip, gzip, gzip, gzip",
        [gzip.compress(gzip.compress(gzip.compress(gzip.compress(PAGE))))],
        b"",
        False,
        Outcome.BAD_RESPONSE,
    ),
    "two encodings in the wrong order": (
        "gzip, br",
        [gzip.compress(compress_br(PAGE))],
        b"",
        False,
        Outcome.BAD_RESPONSE,
    ),
    "br as long as may be": ("br", [compress_br(b"x" * LIMIT)], b"x" * LIMIT, False, None),
    "br a byte too long": ("br", [compress_br(b"x" * LIMIT + b"y")], b"x" * LIMIT, True, None),
    "br of nothing but metadata": ("br", [b"\x0c", *[b"\x06" * 9999] * 10], b"", False, Outcome.TOO_LONG),
    "br that is none": ("br", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "br cut short": ("br", [flushed_brotli(PAGE)], PAGE, True, None),
    "br with a window beyond 16 MB": ("br", [b"\x11\x1e\x03"], b"", False, Outcome.BAD_RESPONSE),
    "zstd as long as may be": ("zstd", [zstd.compress(b"x" * LIMIT)], b"x" * LIMIT, False, None),
    "zstd a byte too long": ("zstd", [zstd.compress(b"x" * LIMIT + b"y")], b"x" * LIMIT, True, None),
    "zstd too long with its second frame": ("zstd", [zstd.compress(b"x" * 600) * 2], b"x" * LIMIT, True, None),
    "zstd of empty frames": ("zstd", [zstd.compress(b"") * 1000] * 10, b"", False, Outcome.TOO_LONG),
    "zstd of frames to skip": ("zstd", [SKIPPED * 1000] * 10, b"", False, Outcome.TOO_LONG),
    "a frame to skip of 4 GB": ("zstd", [b"\x50\x2a\x4d\x18\xff\xff\xff\xff"], b"", False, Outcome.BAD_RESPONSE),
    "zstd that is none": ("zstd", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "zstd cut short": ("zstd", [zstd.compress(PAGE * 9)[:-1]], b"", False, Outcome.BAD_RESPONSE),
    "zstd cut in its second frame": (
        "zstd",
        [zstd.compress(PAGE), zstd.compress(PAGE)[:9]],
        PAGE,
        True,
        None,
    ),
    "a window beyond 8 MB": ("zstd", [frame(13 << 3 | 1, PAGE)], b"", False, Outcome.BAD_RESPONSE),
    "a window of 2 GB": ("zstd", [frame(21 << 3, PAGE)], b"", False, Outcome.BAD_RESPONSE),
    "content of 8 MB in one segment": ("zstd", [single_segment(8 << 20)], b"x" * LIMIT, True, None),
    "content of 9 MB in one segment": ("zstd", [single_segment(9 << 20)], b"", False, Outcome.BAD_RESPONSE),
    "content of 2 GB in one segment": ("zstd", [single_segment(1 << 31)[:9000]], b"", False, Outcome.BAD_RESPONSE),
    "a dictionary": ("zstd", [frame(0, b"")[:4] + b"\x01\x00\x07\x01\x00\x00"], b"", False, Outcome.BAD_RESPONSE),
    "two encodings of which none is there": ("gzip, gzip", [PAGE], b"", False, Outcome.BAD_RESPONSE),
    "gzip twice, the inner one cut short": (
        "gzip, gzip",
        [gzip.compress(gzip.compress(PAGE)[:-1])],
        PAGE,
        True,
        None,
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
    "text that may begin a deflate stream": ("gzip", [b"short"], b"@\x87\x82A", False, Outcome.BAD_RESPONSE),
    "gzip cut short": ("gzip", [gzip.compress(PAGE)[:-1]], PAGE, True, None),
    "gzip cut in its second member": (
        "gzip",
        [gzip.compress(PAGE), gzip.compress(PAGE)[:9]],
        PAGE,
        True,
        None,
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


@each_row(CUT)
def test_what_is_kept_of_a_body_that_does_not_end_well(
    encoding: str, pieces: list[bytes | RequestError], data: bytes, truncated: bool, end: Outcome | None
) -> None:
    found = body(pieces, encoding)
    assert (found.data, found.truncated) == (data, truncated)
    assert (found.failure.outcome if found.failure else None) == end
    assert found.ended == (end is None and (not truncated or found.oddity is not None))


@given(
    st.sampled_from(list(COMPRESS)),
    st.binary(max_size=300),
    st.lists(st.binary(max_size=50), max_size=5),
    st.booleans(),
)
def test_any_bytes_under_the_name_of_a_coding_come_to_an_end(
    coding: str, start: bytes, more: list[bytes], compressed: bool
) -> None:
    found = body([COMPRESS[coding](start) if compressed else start, *more], coding)
    assert len(found.data) <= LIMIT
    assert not compressed or found.data[: len(start)] == start


@pytest.mark.parametrize("coding", COMPRESS)
def test_a_long_body_is_whole(coding: str) -> None:
    words = random.Random(1).choices([b"herring ", b"gull ", b"<p>", b"lighthouse "], k=60_000)
    data = COMPRESS[coding](b"".join(words))
    for size in (1000, 16_384):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert body(pieces, coding, limit=10**7) == Read(b"".join(words), ended=True), size


@pytest.mark.parametrize("coding", COMPRESS)
def test_a_bomb_is_not_unpacked_beyond_the_limit(coding: str) -> None:
    bomb = COMPRESS[coding](bytes(3 * 10**7))
    pieces = [bomb[start : start + 16_384] for start in range(0, len(bomb), 16_384)] + [b"more"]
    source = reader(pieces)
    assert read(source, coding) == Read(bytes(LIMIT), truncated=True)
    assert source(10**6) == pieces[1]


def test_the_frames_of_a_zstd_body_are_limited() -> None:
    """Each takes time, also an empty one, and the limit of bytes allows a million of them."""
    empty, most = zstd.compress(b""), 10_000
    decode = Decoder.of("zstd", 10**7, 0)
    assert decode is not None
    assert b"".join(decode(empty * most)) == b""
    with pytest.raises(RequestError) as ended:
        list(decode(empty))
    assert (ended.value.outcome, str(ended.value)) == (Outcome.TOO_LONG, "more than 10000 frames of zstd")


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
