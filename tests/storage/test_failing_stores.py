"""Object stores that drop, lose, refuse, delay and cut a share of all requests: all of them are asked again."""

import os

import pytest

from beamtrawl.transforms.files import filesystem
from tests.support.prerequisites import lacks

try:
    from tests.support.object_stores import Store
except ModuleNotFoundError as error:
    lacks(f"a client and a server of S3 (pip install '.[test]'): {error}", whole_module=True)

pytestmark = pytest.mark.slow("object stores")

_FILES = 1_100
"""More than a store lists in one answer."""


def test_a_listing_that_breaks_off_is_asked_for_again(store: Store) -> None:
    names = [f"{number:05}" for number in range(_FILES)]
    for name in names:
        filesystem.write_bytes(f"{store.root}/many/{name}", b"")
    store.faults.share = 0.4
    for kind in store.faults.KINDS:
        store.faults.kinds = (kind,)
        while store.faults.seen["LIST", kind] < 2:
            assert filesystem.match(f"{store.root}/many", "*") == [f"{store.root}/many/{name}" for name in names], kind


def test_files_of_a_store_that_fails_often(store: Store) -> None:
    """Written (in parts, too), read, renamed, listed and deleted, with a third of requests failing; conditions hold."""
    store.faults.share = 0.33
    data = bytes(range(256)) * 80_000  # an upload in parts
    for number in range(4):
        folder = f"{store.root}/{number}"
        filesystem.write_bytes(f"{folder}/a", data)
        assert filesystem.read_bytes(f"{folder}/a") == data
        assert filesystem.store_of(folder).write_new(f"{folder}/new", b"first")
        assert not filesystem.store_of(folder).write_new(f"{folder}/new", b"second")
        with filesystem.open_file(f"{folder}/a") as file:
            file.seek(-100, os.SEEK_END)
            assert file.read() == data[-100:]
        filesystem.write_bytes(f"{folder}/b", b"small")
        filesystem.rename(f"{folder}/b", f"{folder}/c")
        assert filesystem.read_all([f"{folder}/c", f"{folder}/new"]) == [b"small", b"first"]
        assert filesystem.match(folder, "*") == [f"{folder}/{name}" for name in ("a", "c", "new")]
        filesystem.delete([f"{folder}/{name}" for name in ("a", "c", "new")])
        assert filesystem.match(folder, "**") == []
