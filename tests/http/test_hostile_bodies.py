"""Hostile compressed bodies end within bounds of memory and of CPU time, measured in a process of its own."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import brotli
import pytest

from beamtrawl.transforms.http.content_coding import zstd

ROOT = Path(__file__).parents[2]
LIMIT = 10_485_760  # the default of fetch.max_body_bytes
ZEROS = bytes(3 * LIMIT)

# coding, start of the body, what is repeated after it without end, the outcome; None: cut at the limit
BODIES: dict[str, tuple[str, bytes, bytes, str | None]] = {
    "gzip of empty members": ("gzip", b"", gzip.compress(b""), "too_long"),
    "zstd of empty frames": ("zstd", b"", zstd.compress(b""), "too_long"),
    "zstd of frames to skip": ("zstd", b"", b"\x50\x2a\x4d\x18" + bytes(4), "too_long"),
    "zstd of a frame to skip of 4 GB": ("zstd", b"\x50\x2a\x4d\x18\xff\xff\xff\xff", b"x", "too_long"),
    "zstd of empty blocks": ("zstd", b"\x28\xb5\x2f\xfd\x00\x38", bytes(3), "too_long"),
    "zstd of blocks of 128 kB in 4 bytes": ("zstd", b"\x28\xb5\x2f\xfd\x00\x68", b"\x02\x00\x10x", None),
    "zstd with a window of 2 GB": ("zstd", b"\x28\xb5\x2f\xfd\x00\xa8", b"\x02\x00\x10x", "bad_response"),
    "br of metadata": ("br", b"\x0c", b"\x06", "too_long"),
    "br": ("br", brotli.compress(ZEROS, quality=1, lgwin=24), b"x", None),
    "br within br": ("br, br", brotli.compress(brotli.compress(ZEROS, quality=1, lgwin=24)), b"x", None),
    "zstd within zstd": ("zstd, zstd", zstd.compress(zstd.compress(ZEROS)), b"x", None),
}

PROGRAM = """
import json, pathlib, sys, time
from beamtrawl.transforms.http.response_body import Pace, read_body

def peak():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

for encoding, start, repeated in json.load(sys.stdin):
    rest, repeated, sizes = bytearray.fromhex(start), bytes.fromhex(repeated), [0]
    repeated *= 16_384 // len(repeated)

    def read(n):
        data = bytes(rest[:n]) or repeated
        del rest[:n]
        return data

    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, began = peak(), time.process_time()
    body = read_body(read, encoding, LIMIT, Pace(0, 1, 0), time.monotonic, lambda part: sizes.append(len(part)))
    spent = time.process_time() - began
    outcome = body.failure.outcome.value if body.failure else None
    print(json.dumps([outcome, sum(sizes), max(sizes), peak() - before, spent]))
"""


@pytest.fixture(scope="module")
def measured() -> dict[str, list[float]]:
    given = json.dumps([[coding, start.hex(), repeated.hex()] for coding, start, repeated, _ in BODIES.values()])
    program = [sys.executable, "-c", PROGRAM.replace("LIMIT", str(LIMIT))]
    ran = subprocess.run(program, input=given, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(zip(BODIES, map(json.loads, ran.stdout.splitlines()), strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_ends_within_bounds(measured: dict[str, list[float]], name: str) -> None:
    outcome, content_bytes, piece_bytes, grown_kb, seconds = measured[name]
    expected = BODIES[name][3]
    assert outcome == expected
    assert content_bytes == (0 if expected else LIMIT)
    assert piece_bytes <= 524_288
    assert grown_kb < 40_000  # windows and pieces; the content itself goes to a buffer that spills
    assert seconds < 20  # of CPU, on a busy machine; 2.4 at most on an idle one
