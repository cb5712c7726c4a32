"""Revisit records, through whole imports."""

import base64
import gzip
import hashlib
import json
from pathlib import Path

from beamtrawl.transforms.outcomes import Outcome
from tests.imports.test_bad_input import imported, record
from tests.support.command_line import beamtrawl
from tests.support.crawls import rows, states

SAME = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def revisit(path: str, day: int, of: str, of_day: int, answer: str = "HTTP/1.1 200 OK\r\n", digest: str = "") -> bytes:
    named = f"WARC-Payload-Digest: {digest}\r\n" if digest else ""
    head = named + (
        f"WARC-Type: revisit\r\nWARC-Target-URI: http://a.test/{path}\r\nWARC-Date: 2025-01-{day:02}T00:00:00Z\r\n"
        f"WARC-Refers-To-Target-URI: http://a.test/{of}\r\nWARC-Refers-To-Date: 2025-01-{of_day:02}T00:00:00Z\r\n"
        f"WARC-Profile: {SAME}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(answer) + 2}\r\n"
    )
    return gzip.compress(f"WARC/1.1\r\n{head}\r\n{answer}\r\n\r\n\r\n".encode())


def test_a_revisit_has_the_body_of_its_original_or_says_that_the_page_has_not_changed(tmp_path: Path) -> None:
    first = record("a", "<title>A</title><p>First.", Date="2025-01-01T00:00:00Z")
    (tmp_path / "1.warc.gz").write_bytes(revisit("copy", 2, "a", 1) + first + revisit("lost", 2, "gone", 1))
    assert imported(tmp_path / "c", tmp_path / "1.warc.gz")["skipped"] == {"revisit": 1}
    bodies = {row["url"][14:]: row["body"] for row in rows(tmp_path / "c", "visits")}
    assert bodies == dict.fromkeys(["a", "copy"], b"<title>A</title><p>First.")
    (tmp_path / "2.warc.gz").write_bytes(revisit("a", 5, "a", 1) + revisit("a", 3, "a", 1))
    said = imported(tmp_path / "c", tmp_path / "2.warc.gz")
    assert (said["visits"], said["skipped"]) == (1, {"older": 1})
    last = rows(tmp_path / "c", "visits")[-1]
    assert (last["outcome"], last["status"], last["fetched_at"].day) == (Outcome.NOT_MODIFIED, 304, 5)
    assert len(rows(tmp_path / "c", "documents")) == 2
    assert states(tmp_path / "c")["http://a.test/a"]["state"] == "fetched"


def test_versions_that_are_imported_one_after_the_other_are_changes(tmp_path: Path) -> None:
    for day, text in ((1, "First."), (2, "Second."), (3, "Second.")):
        page = record("a", f"<title>A</title><p>{text}", Date=f"2025-01-{day:02}T00:00:00Z")
        (tmp_path / f"{day}.warc.gz").write_bytes(page)
        imported(tmp_path / "c", tmp_path / f"{day}.warc.gz")
    assert [(row["round"], row["text"]) for row in rows(tmp_path / "c", "documents")] == [(1, "First."), (2, "Second.")]
    state = states(tmp_path / "c")["http://a.test/a"]
    assert (state["changes"], state["changed"], state["unchanged"], state["fetches"]) == (1, 1, 1, 3)


def test_a_revisit_keeps_its_own_answer(tmp_path: Path) -> None:
    pages = b"".join(
        record(name, "<title>A</title><p>First.", "text/html\r\nX-Old: 1", Date="2025-01-01T00:00:00Z")
        for name in ("a", "b", "c")
    )
    own = {
        "a": "HTTP/1.1 200 OK\r\nX-Robots-Tag: noindex, noarchive\r\n",
        "b": "HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noindex\r\n",
        "c": "HTTP/1.1 404 Not Found\r\nX-New: 2\r\n",
        "d": "HTTP/1.1 503 Busy\r\n",
    }
    revisits = b"".join(revisit(name, 2, "a" if name == "d" else name, 1, answer) for name, answer in own.items())
    (tmp_path / "1.warc.gz").write_bytes(pages + revisits + record("d", Date="2025-01-01T00:00:00Z"))
    imported(tmp_path / "c", tmp_path / "1.warc.gz")
    found = {row["url"][14:]: row for row in rows(tmp_path / "c", "visits")}
    html = ("Content-Type", "text/html")
    headers = {name: [(each["name"], each["value"]) for each in row["headers"]] for name, row in found.items()}
    assert headers == {
        "a": [("X-Robots-Tag", "noindex, noarchive"), html],
        "b": [("X-Robots-Tag", "noindex"), html, ("X-Old", "1")],
        "c": [("X-New", "2"), html],
        "d": [html],
    }
    assert {name: row["status"] for name, row in found.items()} == {"a": 200, "b": 200, "c": 404, "d": 200}
    assert {row["url"][14:]: row["noindex"] for row in rows(tmp_path / "c", "documents")} == {
        **{"a": True, "b": True},
        "d": False,
    }


FIRST, SECOND = "<title>A</title><p>First.", "<title>A</title><p>Second."


def sha1(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return f"sha1:{base64.b32encode(hashlib.sha1(data).digest()).decode()}"


def page(path: str, text: str, day: int, promised: str = "", **fields: str) -> bytes:
    return record(
        path, text, **{"Payload-Digest": promised or sha1(text), "Date": f"2025-01-{day:02}T00:00:00Z"}, **fields
    )


def bodies(folder: Path) -> dict[str, bytes]:
    """The last body of each URL."""
    return {row["url"][14:]: row["body"] for row in rows(folder, "visits")}


def importing(folder: Path, name: str, *records: bytes) -> dict[str, int]:
    (folder / name).write_bytes(b"".join(records))
    return dict(imported(folder / "c", folder / name)["skipped"])


def test_a_revisit_has_the_body_of_a_page_of_an_earlier_import(tmp_path: Path) -> None:
    assert importing(tmp_path, "1.warc.gz", page("a", FIRST, 1)) == {}
    assert importing(tmp_path, "2.warc.gz", page("a", SECOND, 2)) == {}
    last = [revisit("b", 3, "a", 1, digest=sha1(FIRST)), revisit("a", 4, "a", 1, digest=sha1(FIRST))]
    lies = [revisit("c", 3, "a", 1, digest=sha1("Third.")), revisit("d", 3, "a", 1), revisit("e", 3, "z", 1)]
    assert importing(tmp_path, "3.warc.gz", *last, *lies) == {"revisit": 1, "revisit_differs": 2}
    assert bodies(tmp_path / "c") == {"a": FIRST.encode(), "b": FIRST.encode()}
    found = {row["url"][14:]: row["payload_digest"] for row in rows(tmp_path / "c", "visits")}
    assert found == dict.fromkeys("ab", f"sha1:{hashlib.sha1(FIRST.encode()).hexdigest()}")
    # What was resolved is an original itself, and a page whose version is the last one has not changed.
    assert importing(tmp_path, "4.warc.gz", revisit("f", 5, "b", 3, digest=sha1(FIRST))) == {}
    assert importing(tmp_path, "5.warc.gz", revisit("a", 6, "a", 1, digest=sha1(FIRST))) == {}
    assert bodies(tmp_path / "c")["f"] == FIRST.encode()
    assert rows(tmp_path / "c", "visits")[-1]["outcome"] == Outcome.NOT_MODIFIED


def test_a_digest_is_that_of_the_coded_payload_and_a_body_that_was_cut_is_no_original(tmp_path: Path) -> None:
    packed = gzip.compress(FIRST.encode(), mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    fields = (
        f"WARC-Type: response\r\nWARC-Target-URI: http://a.test/a\r\nWARC-Date: 2025-01-01T00:00:00Z\r\n"
        f"WARC-Payload-Digest: {sha1(packed)}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(head + packed)}\r\n\r\n"
    )
    coded = gzip.compress(b"WARC/1.1\r\n" + fields.encode() + head + packed + b"\r\n\r\n")
    (folder := tmp_path / "c").mkdir()
    (folder / "crawl.toml").write_text("[fetch]\nmax_body_bytes = 100\n")
    long = "<title>L</title>" + "x" * 200
    importing(tmp_path, "1.warc.gz", coded, page("long", long, 1))
    revisits = [revisit("b", 2, "a", 1, digest=sha1(packed)), revisit("cut", 2, "long", 1, digest=sha1(long))]
    assert importing(tmp_path, "2.warc.gz", *revisits) == {"revisit_differs": 1}
    assert bodies(tmp_path / "c")["b"] == FIRST.encode()


def test_a_file_that_claims_the_digest_of_another_page_attaches_nothing(tmp_path: Path) -> None:
    """A record whose payload is not what its digest says is no original, whatever it claims to be."""
    assert importing(tmp_path, "1.warc.gz", page("secret", FIRST, 1), page("bait", SECOND, 1, sha1(FIRST))) == {}
    claims = [revisit("x", 3, "bait", 1, digest=sha1(FIRST)), revisit("y", 3, "y", 1, digest=sha1(FIRST))]
    assert importing(tmp_path, "2.warc.gz", *claims) == {"revisit": 2}
    assert beamtrawl("block", tmp_path / "c", "a.test/secret").code == 0
    assert importing(tmp_path, "3.warc.gz", revisit("z", 3, "secret", 1, digest=sha1(FIRST))) == {"revisit": 1}
    assert {name for name in bodies(tmp_path / "c") if name in "xyz"} == set()


def test_parts_in_any_order_give_what_one_round_gives(tmp_path: Path) -> None:
    """The original of a revisit may be in another part, and a page that another capture has replaced.

    Of two answers in one second the first counts.
    """
    captures = [
        revisit("b", 5, "a", 1, digest=sha1(FIRST)),
        page("a", SECOND, 3),
        page("a", FIRST, 1),
        revisit("d", 5, "a", 1),
    ]
    (tmp_path / "1.warc.gz").write_bytes(b"".join(captures[:3]))
    (tmp_path / "2.warc.gz").write_bytes(captures[3] + page("e", FIRST, 1) + page("e", SECOND, 1))
    for part in (1, 9):
        said = imported(tmp_path / str(part), tmp_path / "*.warc.gz", "--part", part)
        assert said["visits"] == 4 and not said["skipped"].get("revisit"), json.dumps(said)
        expected = {"a": SECOND.encode(), "b": FIRST.encode(), "d": FIRST.encode(), "e": FIRST.encode()}
        assert bodies(tmp_path / str(part)) == expected
