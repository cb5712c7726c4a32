"""Files on the local disk and on Beam's file systems: one behaviour, and no Beam for local paths."""

import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from beamtrawl.transforms.files import filesystem
from tests.support import stores

FILES = ("one.json", "two.txt", "deep/three.json", "deep/er/four.json")


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "a[1]*"  # wildcards in a name stand for themselves
    for name in FILES:
        filesystem.write_bytes(str(root / name), name.encode())
    (tmp_path / "a1x").mkdir()
    (tmp_path / "a1x" / "other.json").write_text("")
    return str(root)


PATTERNS = {
    "*": ["one.json", "two.txt"],
    "*.json": ["one.json"],
    "o*": ["one.json"],
    "**": ["deep/er/four.json", "deep/three.json", "one.json", "two.txt"],
    "**.json": ["deep/er/four.json", "deep/three.json", "one.json"],
    "*/*": ["deep/three.json"],
    "one.jso": [],
    "one?json": [],
}


@pytest.mark.parametrize(("pattern", "names"), PATTERNS.items())
def test_a_pattern_matches_files_below_a_folder(folder, pattern, names):
    assert filesystem.match(folder, pattern) == [f"{folder}/{name}" for name in names]


def test_a_folder_that_is_missing_has_no_files(tmp_path):
    assert filesystem.match(str(tmp_path / "none"), "**") == []


def test_a_file_is_written_with_its_folders_and_replaced(tmp_path):
    path = str(tmp_path / "x/y/z.gz")
    filesystem.write_bytes(path, b"longer")
    filesystem.write_bytes(path, b"text")
    assert Path(path).read_bytes() == b"text"  # whatever the name ends in
    assert filesystem.read_bytes(path) == b"text"
    assert filesystem.exists(path)


@pytest.mark.parametrize("parts", [[], [b""], [b"123456789"], [b"1234", b"", b"56789"], [b"x" * 3_000_000, b"y"]])
def test_a_sink_counts_what_is_in_the_file(tmp_path, parts):
    with filesystem.create(str(tmp_path / "file")) as sink:
        for number, part in enumerate(parts):
            assert sink.tell() == sum(map(len, parts[:number]))
            assert sink.write(memoryview(part)) == len(part)
    data = b"".join(parts)
    assert (tmp_path / "file").read_bytes() == data
    assert (sink.size, sink.checksum) == filesystem.measure(sink.path)
    assert sink.size == len(data)


def test_the_checksum_is_crc32():
    """The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms."""
    assert filesystem.render_checksum(zlib.crc32(b"123456789")) == "crc32-cbf43926"


def test_a_new_name_is_taken_once(tmp_path):
    for name in ("one", "two"):
        filesystem.write_bytes(str(tmp_path / name), name.encode())
    assert filesystem.rename_new(str(tmp_path / "one"), str(tmp_path / "new"))
    assert not filesystem.rename_new(str(tmp_path / "two"), str(tmp_path / "new"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"new": "one", "two": "two"}


def test_a_guard_excludes_others_until_it_ends(tmp_path):
    order, inside, waiting = [], threading.Event(), threading.Event()

    def other():
        inside.wait(30)
        waiting.set()
        with filesystem.guard(str(tmp_path)):
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with filesystem.guard(str(tmp_path)):
        inside.set()
        waiting.wait(30)
        thread.join(0.1)  # it would end here if it were not excluded
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_rename_replaces(folder):
    filesystem.rename(f"{folder}/one.json", f"{folder}/two.txt")
    assert filesystem.match(folder, "*") == [f"{folder}/two.txt"]
    assert filesystem.read_bytes(f"{folder}/two.txt") == b"one.json"


def test_delete_takes_folders_and_goes_on_after_a_missing_file(folder):
    with pytest.raises(FileNotFoundError):
        filesystem.delete([f"{folder}/none", f"{folder}/deep", f"{folder}/one.json"])
    assert filesystem.match(folder, "**") == [f"{folder}/two.txt"]


def test_a_path_with_a_scheme_goes_to_beam(tmp_path):
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "part.txt").write_bytes(b"0123456789")
    root = stores.url(tmp_path / "crawl")
    assert not filesystem.is_local(root)
    assert filesystem.join(root, "a/b") == f"{root}/a/b"
    with filesystem.open_file(filesystem.join(root, "part.txt")) as file:
        file.seek(4)
        assert file.read(3) == b"456"


def test_a_scheme_is_never_taken_for_a_local_folder(tmp_path):
    write = "import sys; from beamtrawl.transforms.files.filesystem import write_bytes; write_bytes(sys.argv[1], b'')"
    words = [sys.executable, "-P", "-c", write, "nowhere://127.0.0.1:9/x"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_local_files_need_no_beam(tmp_path):
    program = (
        "import sys; from beamtrawl.transforms.files import filesystem as f; p = sys.argv[1];"
        "f.write_bytes(p + '/a', b'1'); f.rename(p + '/a', p + '/b'); f.match(p, '**'); f.read_bytes(p + '/b');"
        "f.delete([p + '/b']); print('apache_beam' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_no_other_module_uses_beams_file_systems():
    root = Path(__file__).parents[2]
    sources = [
        p for name in ("pipeline", "transforms", "runners", "search", "beamtrawl") for p in (root / name).rglob("*.py")
    ]
    users = [str(path.relative_to(root)) for path in sources if "apache_beam.io.filesystem" in path.read_text()]
    assert users == ["transforms/files/beam_files.py"]
    assert len(sources) > 150
