"""Small crawls that have been indexed, for the tests of the reading side."""

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.indexing.analysis import name, tokens
from beamtrawl.transforms.indexing.link_folders import Name, invert_links, links_folder, write_link_index
from beamtrawl.transforms.indexing.write_segment import DOCS, ROW_POSTINGS, with_lengths, write_segment
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import TableWriter, open_parquet
from beamtrawl.transforms.urls.canonical import host, url_key


def documents(*rows):
    """DOCUMENTS of rows that say only what matters: a URL at least."""
    return pa.Table.from_pylist(
        [
            {"host": host(row["url"]), "url_key": url_key(row["url"]), "round": 1, "language": "en", "noarchive": False}
            | {"fetched_at": datetime(2026, 1, 2, tzinfo=UTC)}
            | {name: value for name, value in row.items() if name in DOCUMENTS.names}
            for row in rows
        ],
        schema=DOCUMENTS,
    )


def commit(crawl, round_, *segments, gone=(), korean_morphemes=False, row_postings=ROW_POSTINGS):
    """Commit an update step of a round with an index segment of each list of rows.

    Rows may also have `anchors` and a `link_rank`. Older versions of them, and the URLs that are `gone`, are buried.
    """
    folders = [f"index/round={round_:06d}/shard-{number:04d}-{number:016x}" for number in range(len(segments))]
    links = {}
    for folder, rows in zip(folders, segments, strict=True):
        table = documents(*({"round": round_} | row for row in rows))
        write_segment(crawl.root, folder, table, korean_morphemes, row_postings)
        if any({"anchors", "names", "link_rank"} & row.keys() for row in rows):
            links[folder] = links_folder(folder, "0123abcd")
            _add_links(crawl.root, folder, links[folder], {row["url"]: row for row in rows}, row_postings)
    removals = {row["url"]: "replaced" for rows in segments for row in rows} | dict.fromkeys(gone, "gone")
    writer = TableWriter(crawl.root, "tombstones", round_)
    writer.write_rows([{"url_key": url_key(url), "round": round_, "reason": why} for url, why in removals.items()])
    files = tuple(filter(None, [writer.close()]))
    crawl.commit(Manifest("update", round_, "", files, {}, (), "", "", tuple(folders), links))


def _add_links(root, folder, links, by_url, row_postings):
    with open_parquet(root, f"{folder}/{DOCS}") as file:
        docs = file.read(["url", "language"])
    rows = [by_url[url] for url in docs["url"].to_pylist()]
    anchors = [row.get("anchors", []) for row in rows]
    names = [_names(row.get("names", [])) for row in rows]
    ranks = [row.get("link_rank", 0.0) for row in rows]
    write_links(root, links, docs["language"].to_pylist(), anchors, ranks, row_postings, names)


def write_links(root, folder, languages, anchors, ranks, row_postings=ROW_POSTINGS, names=()):
    """Write the link data of the documents of a segment."""
    index = invert_links(languages, anchors, names)
    docs = with_lengths(pa.table({"link_rank": pa.array(ranks, pa.float32())}), index)
    return write_link_index(root, folder, languages, [index], docs, row_postings)


def _names(texts):
    """The names of a document's sections: texts, or a mapping of texts to the ids of the sections."""
    ids = texts if isinstance(texts, dict) else dict.fromkeys(texts, "")
    counts = Counter(term for text in texts if (term := name(tokens(text))))
    return {term: Name(counts[term], id_) for text, id_ in ids.items() if (term := name(tokens(text)))}


def indexed(path, *segments, korean_morphemes=False, row_postings=ROW_POSTINGS):
    """A crawl of one round with these segments."""
    crawl = CrawlDir(str(path))
    commit(crawl, 1, *segments, korean_morphemes=korean_morphemes, row_postings=row_postings)
    return crawl
