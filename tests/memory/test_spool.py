"""Lists whose large items are in a temporary file."""

import resource
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.runners.process.spool import Spool, SpooledList

ITEMS = st.lists(st.one_of(st.integers(), st.tuples(st.integers(0, 255), st.integers(0, 3000))))


def bytes_of(item):
    """An integer, or so many bytes of one value."""
    return item if isinstance(item, int) else bytes([item[0]]) * item[1]


@given(ITEMS, ITEMS, st.integers(1, 4))
def test_it_has_the_items_of_a_list(first, then, step):
    first, then = ([bytes_of(item) for item in items] for items in (first, then))
    with Spool() as spool:
        found = SpooledList(spool, first)
        for item in then:
            found.append(item)
        assert (list(found), len(found)) == (first + then, len(first + then))
        assert [list(found[start::step]) for start in range(step)] == [
            (first + then)[start::step] for start in range(step)
        ]
        found.extend(SpooledList(spool, then))
        found.extend(first)
        assert list(found) == first + then + then + first


def test_large_items_are_not_in_memory():
    with Spool() as spool:
        found = SpooledList(spool, (bytes([number]) * (1 << 20) for number in range(200)))
        assert sum(map(len, filter(lambda item: isinstance(item, bytes), found._items))) == 0
        assert [item[:1] for item in found] == [bytes([number]) for number in range(200)]


def test_threads_share_a_spool():
    def append(number):
        items = SpooledList(spool)
        for size in range(2_000, 2_200):
            items.append(bytes([number]) * size)
        return items

    with Spool() as spool, ThreadPoolExecutor(8) as executor:
        for number, items in enumerate(executor.map(append, range(8))):
            assert list(items) == [bytes([number]) * size for size in range(2_000, 2_200)]


def test_what_does_not_fit_on_the_disk_stays_in_memory():
    """Beyond the limit of a file's size, writes fail as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    items = [bytes([number]) * 3_000 for number in range(9)]
    with Spool() as spool:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        try:
            found = SpooledList(spool, items)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert list(found) == items
        assert [item for item in found._items if isinstance(item, bytes)] == items[3:]


def test_a_file_that_is_cut_is_an_error():
    with Spool() as spool:
        found = SpooledList(spool, [b"x" * 5_000])
        spool._file.truncate(4_000)
        with pytest.raises(OSError, match="ended before byte 5000"):
            list(found)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the folder of a file without a name: Linux only")
@pytest.mark.parametrize(
    ("environment", "folder"), [({}, "/var/tmp"), ({"TMPDIR": "/a"}, tempfile.gettempdir())], ids=["default", "given"]
)
def test_the_folder_is_on_a_disk_unless_another_is_given(environment, folder):
    with Spool(environment) as spool:
        assert Path(f"/proc/self/fd/{spool._file.fileno()}").readlink().parent == Path(folder)
