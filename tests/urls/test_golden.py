"""The identity of URLs stays what it is: crawls that were begun with one version go on with the next.

url_golden.jsonl has lines of [reference, base, fetched form, dedup form, key]: every URL of the pairs, odd ones, and
relative references. A change of a form is a change of identity: such URLs of running crawls are visited once more, and
counted as new. Where that is meant, `python -m tests.urls.test_golden` writes the file anew, and the change is in the
diff for all to see. To add a reference, add a line [reference, base] first.
"""

import json
from pathlib import Path

from beamtrawl.transforms.urls.canonical import canonicalize, dedup_form, url_key
from tests.support.url_pairs import DIFFERENT, SAME, pairs

FILE = Path(__file__).with_name("golden.jsonl")
GOLDEN = [json.loads(text) for text in FILE.read_text(encoding="utf-8").splitlines()]


def forms(reference: str, base: str | None) -> list[str | None]:
    """The line of a reference."""
    url = canonicalize(reference, base)
    return [reference, base, url, url and dedup_form(url), url and url_key(url).hex()]


def test_a_reference_has_the_forms_and_the_key_that_it_always_had() -> None:
    assert [(line, found) for line in GOLDEN if (found := forms(*line[:2])) != line] == []


def test_the_file_holds_each_reference_once_and_all_pairs() -> None:
    references = [tuple(line[:2]) for line in GOLDEN]
    assert len(set(references)) == len(references) >= 600
    assert {(url, None) for pair in pairs(DIFFERENT | SAME).values() for url in pair} <= set(references)


if __name__ == "__main__":
    known = [tuple(line[:2]) for line in GOLDEN]
    new = [(url, None) for pair in pairs(DIFFERENT | SAME).values() for url in pair]
    lines = [json.dumps(forms(*each), ensure_ascii=False) for each in dict.fromkeys([*known, *new])]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
