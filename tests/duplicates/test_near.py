"""Near duplicates of a site meet in one shard, whatever the number of shards and the name of its host."""

from pathlib import Path

import pyarrow as pa

from beamtrawl.transforms.duplicates.clusters import DOCUMENT, ENTRIES, entries
from beamtrawl.transforms.duplicates.near import ROUNDS, hosts_of_sites, read_earlier
from beamtrawl.transforms.tables.batches import from_ipc
from beamtrawl.transforms.tables.bloom import Bloom, shard
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import host, url_key

SIGNATURE = bytes(range(128))
SHARDS = 64


def document(url: str, round_: int) -> dict[str, object]:
    return {"url_key": url_key(url), "url": url, "depth": 1, "round": round_, "signature": SIGNATURE, "host": host(url)}


def test_documents_of_earlier_rounds_are_read_under_both_names_of_a_site(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "near", 1)
    earlier = [document(url, 1) for url in ("http://www.a.test/x", "http://a.test/y", "http://b.test/z")]
    earlier.append(document("http://a.test/unlike", 1) | {"signature": SIGNATURE[::-1]})  # shares no band
    writer.write_rows(earlier)
    file = writer.close()
    assert file is not None
    for url in ("http://a.test/new", "http://www.a.test/new"):
        new = pa.Table.from_pylist([document(url, 2)], schema=DOCUMENT)
        bands = Bloom(100)
        bands.add(entries(new)["band"])
        wanted = Wanted("band", [], "band", bands)
        outputs = list(read_earlier(file.path, wanted, sorted(hosts_of_sites(new)), str(tmp_path), 1, SHARDS))
        similar = from_ipc((each.value[1] for each in outputs if each.tag == "earlier"), ENTRIES)
        assert set(similar["url"].to_pylist()) == {"http://www.a.test/x", "http://a.test/y"}
        rounds = [each.value for each in outputs if each.tag == "rounds"]
        assert {number for number, _ in rounds} == {shard("a.test", SHARDS)}
        assert from_ipc((batch for _, batch in rounds), ROUNDS).num_rows == 3
