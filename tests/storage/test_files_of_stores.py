"""What `store.Store` promises, on the local disk, a file system of Beam, S3 and Google Cloud Storage."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from beamtrawl.transforms.files import filesystem
from tests.support import slow_store
from tests.support.prerequisites import lacks

FILES = ("one.json", "two.txt", "deep/three.json", "deep/er/four.json", "deep/zwei%41 ü")


def object_store(kind: str) -> AbstractContextManager[str]:
    try:
        stores = import_module("tests.support.object_stores").STORES
    except ModuleNotFoundError as error:
        lacks(f"a client and a server of S3 (pip install '.[test]'): {error}")

    @contextmanager
    def running() -> Iterator[str]:
        before = dict(os.environ)
        with stores[kind]() as store:
            os.environ.update(store.environment)
            yield store.root
        os.environ.clear()
        os.environ.update(before)

    return running()


STORES = [
    "local disk",
    "Beam",
    pytest.param("S3", marks=pytest.mark.slow("object stores")),
    pytest.param("GCS", marks=pytest.mark.slow("object stores")),
]


@pytest.fixture(params=STORES)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty folder, whose name has wildcards, which stand for themselves."""
    if request.param in ("S3", "GCS"):
        with object_store(request.param) as store:
            yield f"{store}/a [1]*"
    else:
        yield f"{slow_store.QUICK if request.param == 'Beam' else ''}{tmp_path}/a [1]*"


@pytest.fixture
def folder(root: str) -> str:
    for name in FILES:
        filesystem.write_bytes(filesystem.join(root, name), name.encode())
    filesystem.write_bytes(f"{os.path.dirname(root)}/a 1x/other.json", b"")  # noqa: PTH120 - not always a local path
    return root


PATTERNS = {
    "*": ["one.json", "two.txt"],
    "*.json": ["one.json"],
    "o*": ["one.json"],
    "**": ["deep/er/four.json", "deep/three.json", "deep/zwei%41 ü", "one.json", "two.txt"],
    "**.json": ["deep/er/four.json", "deep/three.json", "one.json"],
    "one.jso": [],
    "one?json": [],
}


def test_a_pattern_matches_files_below_a_folder_in_order(folder: str) -> None:
    for pattern, names in PATTERNS.items():
        assert filesystem.match(folder, pattern) == [f"{folder}/{name}" for name in names], pattern
    assert filesystem.match(f"{folder}/none", "**") == []


def test_a_file_is_written_with_its_folders_and_replaced(root: str) -> None:
    path = filesystem.join(root, "x/y/z.gz")
    filesystem.write_bytes(path, b"longer")
    filesystem.write_bytes(path, b"text")  # not compressed, whatever the name ends in
    assert (filesystem.read_bytes(path), filesystem.exists(path)) == (b"text", True)
    assert filesystem.split(path) == (f"{root}/x/y", "z.gz")
    assert not filesystem.exists(filesystem.join(root, "x/none"))


@pytest.mark.parametrize("data", [b"", b"0123456789", bytes(range(256)) * 36_000], ids=["empty", "small", "large"])
def test_a_file_is_read_from_any_place(root: str, data: bytes) -> None:
    path = filesystem.join(root, "file")
    filesystem.write_bytes(path, data)
    half = len(data) // 2
    with filesystem.open_file(path) as file:
        assert (file.read(), filesystem.read_bytes(path), filesystem.measure(path)[0]) == (data, data, len(data))
        assert file.seek(-half, os.SEEK_END) == len(data) - half
        assert file.read() == data[len(data) - half :]
        file.seek(half)
        assert file.read(3) == data[half : half + 3]


def test_small_files_are_read_in_the_order_of_their_paths(folder: str) -> None:
    assert filesystem.read_all(filesystem.join(folder, name) for name in FILES) == [name.encode() for name in FILES]
    assert filesystem.read_all([]) == []


def test_a_missing_file_is_an_error_of_its_own(root: str) -> None:
    with pytest.raises(FileNotFoundError):
        filesystem.read_bytes(f"{root}/none")


def test_rename_replaces(folder: str) -> None:
    filesystem.rename(f"{folder}/one.json", f"{folder}/two.txt")
    assert filesystem.match(folder, "*") == [f"{folder}/two.txt"]
    assert filesystem.read_bytes(f"{folder}/two.txt") == b"one.json"


def test_a_file_is_written_whole_and_leaves_no_draft(root: str) -> None:
    store, path = filesystem.store_of(root), filesystem.join(root, "deep/file")
    for data in (b"first", b"second"):
        store.write_whole(path, data)
        assert (filesystem.read_bytes(path), filesystem.match(root, "**")) == (data, [path])


def test_a_new_name_is_taken_once(root: str) -> None:
    store, path = filesystem.store_of(root), filesystem.join(root, "new")
    assert [store.write_new(path, text) for text in (b"one", b"two")] == [True, False]
    assert (filesystem.read_bytes(path), filesystem.match(root, "**")) == (b"one", [path])


def test_a_file_is_replaced_in_its_version(root: str) -> None:
    """Where there are versions, a writer that has read an older one is refused; elsewhere `guard` excludes it."""
    store, path = filesystem.store_of(root), filesystem.join(root, "file")
    first = store.replace(path, b"1", None)
    assert store.read(path) == (b"1", first if store.has_versions else None)
    assert store.replace(path, b"2", first) is not None
    late = store.replace(path, b"late", first)
    assert (late is None, store.read(path)[0]) == ((True, b"2") if store.has_versions else (False, b"late"))


def test_delete_goes_on_after_a_missing_file(folder: str) -> None:
    store = filesystem.store_of(folder)
    try:
        filesystem.delete([f"{folder}/none", f"{folder}/deep/three.json", f"{folder}/one.json"])
        is_error = False
    except OSError:
        is_error = True
    assert is_error == (not store.has_versions)
    assert filesystem.match(folder, "*") == [f"{folder}/two.txt"]


def test_a_file_whose_writing_failed_is_not_taken_for_a_whole_one(root: str) -> None:
    """An object does not appear; a local file that is incomplete has the name of a draft, or is in no manifest."""
    store = filesystem.store_of(root)
    sink = store.sink(f"{root}/half")
    sink.write(b"half")
    sink.__exit__(KeyError, KeyError(), None)
    assert filesystem.exists(f"{root}/half") == (not store.has_versions)


def test_a_guard_makes_the_folder_that_a_store_needs(root: str) -> None:
    with filesystem.guard(root):
        filesystem.write_bytes(f"{root}/file", b"1")
    assert filesystem.match(root, "*") == [f"{root}/file"]


def test_the_facts_of_a_store_fit_together(root: str) -> None:
    store = filesystem.store_of(root)
    filesystem.write_bytes(f"{root}/file", b"1")
    assert store.has_local_paths == Path(f"{root}/file").exists() == (not store.reads_by_request)
    assert (store.space(root) is not None, store.changed_at(f"{root}/file") is not None) == 2 * (store.has_local_paths,)
    assert store.absolute(root) == root
    assert (store.watch_s == 0.0) == store.has_local_paths
