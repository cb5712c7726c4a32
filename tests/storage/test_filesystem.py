"""Files on the local disk, and no Beam for local paths; what holds on all stores is in test_files_of_stores."""

import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from beamtrawl.transforms.files import filesystem
from tests.support import stores


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


def test_a_guard_excludes_others_until_it_ends(tmp_path):
    order, inside, waiting = [], threading.Event(), threading.Event()

    def other():
        inside.wait(60)
        waiting.set()
        with filesystem.guard(str(tmp_path)):
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with filesystem.guard(str(tmp_path)):
        inside.set()
        waiting.wait(60)
        thread.join(0.1)  # it would end here if it were not excluded
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_a_path_with_a_scheme_goes_to_beam(tmp_path):
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "part.txt").write_bytes(b"0123456789")
    root = stores.url(tmp_path / "crawl")
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
