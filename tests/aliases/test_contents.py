"""The contents of URLs of earlier rounds, by which alias rules are judged."""

import pyarrow as pa

from beamtrawl.transforms.aliases.apply import ALIAS
from beamtrawl.transforms.aliases.learn import CONTENTS_OF_URLS, seen_before
from beamtrawl.transforms.tables.batches import from_ipc, to_ipc
from beamtrawl.transforms.tables.schemas import URLS

FETCHED, NORMAL_FORM = b"fetched digest..", b"representative's"


def row(url: str, state: str, digest: bytes | None = None, reason: str | None = None) -> dict[str, object]:
    known = dict.fromkeys(URLS.names) | {"url": url, "host": "a.test", "state": state, "digest": digest}
    return known | {"url_key": url.encode()[-16:].rjust(16), "reason": reason, "round": 3, "foreign": False}


def test_an_alias_has_the_content_of_the_url_that_represents_it() -> None:
    seen = row("http://a.test/x", "fetched", FETCHED)
    alias = row("http://a.test/y", ALIAS, NORMAL_FORM, "sorted of http://b.test/y?a=1")
    others = [row(f"http://a.test/{state}", state, digest) for state, digest in (("gone", FETCHED), ("due", None))]
    of_alias = ("http://b.test/y?a=1", "b.test", NORMAL_FORM, 3, False)
    of_seen = ("http://a.test/x", "a.test", FETCHED, 3, False)
    for rows, expected in (
        ([], []),
        ([seen, *others], [of_seen]),
        ([alias, seen, *others], [of_alias, of_seen]),
    ):
        ((number, batch),) = seen_before((5, to_ipc(pa.Table.from_pylist(rows, schema=URLS))))
        found = from_ipc([batch], CONTENTS_OF_URLS).to_pylist()
        assert (number, [tuple(one.values()) for one in found]) == (5, expected)
