"""The identity of URLs stays what it is: crawls that were begun with one version go on with the next.

url_golden.jsonl has a line for each of some hundred references: [reference, base, fetched form, dedup form, key]. A change
of a form is a change of identity: URLs of running crawls are visited once more, and counted as new. Where that is meant,
`python -m tests.test_url_golden` writes the file anew, and the change is in the diff for all to see.
"""

import json
from pathlib import Path

import pytest

from tests.url_pairs import DIFFERENT, SAME, pairs
from transforms import urls

FILE = Path(__file__).with_name("url_golden.jsonl")
BASE = "http://a.test/b/c/d;p?q"

RELATIVE = [
    "g",
    "./g",
    "g/",
    "/g",
    "//g",
    "?y",
    "g?y",
    "#s",
    "g#s",
    ";x",
    "g;x=1/../y",
    "",
    ".",
    "..",
    "../..",
    "../../..",
]
RELATIVE += [
    "../../../g",
    "/./g",
    "/../g",
    "g.",
    ".g",
    "..g",
    "./../g",
    "g?y/../x",
    "g#s/../x",
    "http:g",
    "//g?y",
    "\\g",
    "g h",
]
RELATIVE += [
    "g\th",
    " g ",
    "é",
    "?é",
    "g?%zz",
    "g%",
    "%2e%2e/g",
    "%2E/g",
    "..%2fg",
    "http://[",
    "mailto:a@b.test",
    "g:h",
    "//",
]
ODD = [
    "http://a.test/" + path
    for path in ("%", "%2", "%zz", "%%41", "%25", "%2525", "%00", "%0a", "'", "%27", '"', "<>", "\\")
]
ODD += [
    "http://a.test/" + path
    for path in ("{}", "|", "^", "`", "[]", "é", "한글", "😀", "\x7f", "\u200b", "a b", "a%20b", "+")
]
ODD += [
    "http://a.test/?" + query
    for query in ("'", "%27", '"', "<>", "[]", "{}", "|", "a%20b", "a+b", "a=a%20b", "é", "?", "??")
]
ODD += [
    "http://a.test/?" + query
    for query in ("=", "&", "&&", "a&", "=a", "a==b", "a=%26", "a=%3D", "a=%2B", "a;b", "a=1;b=2")
]
ODD += [
    "http://" + host + "/"
    for host in ("A.TEST", "a.test.", "a.test..", "a..test", ".a.test", "a_b.test", "-a.test", "1")
]
ODD += [
    "http://" + host + "/"
    for host in ("127.1", "0x7f.1", "017700000001", "256.1.1.1", "[::1]", "[1::0:1]", "[::ffff:1.2.3.4]")
]
ODD += [
    "http://" + host + "/"
    for host in ("ü.test", "faß.test", "ﬁsh.test", "한글.test", "a%41.test", "a b.test", "*.a.test")
]
ODD += [
    "http://" + host + "/"
    for host in ("a.test:", "a.test:0", "a.test:00080", "a.test:65536", "u@a.test", "u:p@a.test:81")
]
ODD += [
    "https://a.test:443/",
    "https://a.test:80/",
    "HTTP://a.test",
    "http:a.test",
    "http:///a.test",
    "ftp://a.test/",
    "data:,x",
]


def references() -> list[tuple[str, str | None]]:
    """What the file holds: every URL of the pairs, the odd ones, and relative references."""
    whole = [*(url for pair in pairs(DIFFERENT | SAME).values() for url in pair), *ODD]
    return [*((url, None) for url in dict.fromkeys(whole)), *((reference, BASE) for reference in RELATIVE)]


def line(reference: str, base: str | None) -> list[str | None]:
    url = urls.canonical(reference, base)
    return [reference, base, url, url and urls.dedup_form(url), url and urls.url_key(url).hex()]


GOLDEN = [json.loads(text) for text in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: ascii(golden[0]))
def test_a_reference_has_the_forms_and_the_key_that_it_always_had(golden: list[str | None]) -> None:
    reference, base, *_ = golden
    assert line(reference or "", base) == golden


def test_the_file_holds_all_references() -> None:
    assert [tuple(golden[:2]) for golden in GOLDEN] == references()
    assert len(GOLDEN) >= 300


if __name__ == "__main__":
    FILE.write_text(
        "".join(json.dumps(line(*each), ensure_ascii=False) + "\n" for each in references()), encoding="utf-8"
    )
    print(f"{len(references())} lines in {FILE.name}")
