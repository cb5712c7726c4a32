"""Revisit records, through whole imports."""

import gzip
from pathlib import Path

from beamtrawl.transforms.outcomes import Outcome
from tests.imports.test_bad_input import imported, record
from tests.support.crawls import rows, states

SAME = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def revisit(path: str, day: int, of: str, of_day: int, answer: str = "HTTP/1.1 200 OK\r\n") -> bytes:
    head = (
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
