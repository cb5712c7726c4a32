"""Lists whose items are in a temporary file."""

import itertools
import resource
import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from beamtrawl.runners.process.spool import Spool, SpooledList

SIZES = st.lists(st.integers(0, 3000), min_size=1)


def spooled(spool, items):
    found = SpooledList(spool)
    for item in items:
        found.append(item)
    return found


@given(SIZES)
def test_it_has_the_items_of_a_list(sizes):
    items = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    with Spool() as spool:
        found = spooled(spool, items)
        assert (list(found), len(found)) == (items, len(items))


@given(SIZES, st.integers(1, 4))
def test_shares_are_about_equally_large_and_begin_with_their_largest_items(sizes, count):
    with Spool() as spool:
        items = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
        shares = list(map(list, spooled(spool, items).divided(count)))
    assert (len(shares), sorted(itertools.chain(*shares))) == (count, sorted(items))
    assert all(share == sorted(share, key=len, reverse=True) for share in shares)
    totals = [sum(map(len, share)) for share in shares]
    assert max(totals) - min(totals) <= max(sizes)


@pytest.mark.parametrize(("size", "count"), [(1 << 20, 100), (100, 200_000), (0, 200_000)])
def test_items_are_not_in_memory(size, count):
    items = [bytes([number]) * size for number in range(100)]
    tracemalloc.start()
    with Spool() as spool:
        found = spooled(spool, itertools.islice(itertools.cycle(items), count))
        assert tracemalloc.get_traced_memory()[0] < 3_000_000 + 18 * count
        tracemalloc.stop()
        assert all(item == items[number % 100] for number, item in enumerate(found))


def test_threads_share_a_spool():
    def append(number):
        return spooled(spool, (bytes([number]) * size for size in range(2_000, 2_200)))

    with Spool() as spool, ThreadPoolExecutor(8) as executor:
        for number, items in enumerate(executor.map(append, range(8))):
            assert list(items) == [bytes([number]) * size for size in range(2_000, 2_200)]


def test_what_does_not_fit_on_the_disk_stays_in_memory():
    """Beyond the limit of a file's size, writes fail as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    items = [bytes([number]) * 300_000 for number in range(30)]
    with Spool() as spool:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, limits[1]))
        try:
            found = spooled(spool, items)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert list(found) == items
        assert Path(f"/proc/self/fd/{spool._file.fileno()}").stat().st_size <= 3_000_000


def test_a_file_that_is_cut_is_an_error():
    with Spool() as spool:
        found = spooled(spool, [b"x" * 5_000_000])
        spool._file.truncate(4_000)
        with pytest.raises(OSError, match="ended before byte 5000000"):
            list(found)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the folder of a file without a name: Linux only")
@pytest.mark.parametrize(
    ("environment", "folder"), [({}, "/var/tmp"), ({"TMPDIR": "/a"}, tempfile.gettempdir())], ids=["default", "given"]
)
def test_the_folder_is_on_a_disk_unless_another_is_given(environment, folder):
    with Spool(environment) as spool:
        assert Path(f"/proc/self/fd/{spool._file.fileno()}").readlink().parent == Path(folder)
