"""Scrapy put together for the same outputs: main text, language, near duplicates, links and an index of the text.

    pip install scrapy trafilatura py3langid datasketch tantivy
    python benchmarks/scrapy_same_outputs.py --depth 3 -o urls.jsonl http://127.0.1.1:8480/index.html …

A contestant of against_scrapy.py. It crawls as `scrapy_spider.py` does, with Scrapy's LinkExtractor, and does to each
page in an item pipeline what is usual: trafilatura extracts the main text, py3langid names its language, a digest finds
the same text and datasketch's MinHash similar ones (128 permutations, five words, similarity 0.75), and tantivy indexes
title and text of all but copies. Beside the file of URLs, it writes documents.jsonl, links.jsonl and the folder index.
Bodies are not kept.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import py3langid
import scrapy
import tantivy
import trafilatura
from datasketch import MinHash, MinHashLSH
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy_spider import arguments, crawl

_PERMUTATIONS, _SIMILARITY, _WORDS = 128, 0.75, 5


class PagesSpider(scrapy.Spider):
    """Yields every HTML page on the hosts of its start URLs, with its links."""

    name = "pages"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(start_urls=start_urls, **kwargs)
        self._hosts = {urlsplit(url).netloc for url in start_urls}
        self._links = LinkExtractor()

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        links = self._links.extract_links(response)
        yield {
            "url": response.url,
            "title": response.css("title::text").get(default=""),
            "html": response.text,
            "links": [(link.url, link.text.strip(), link.nofollow) for link in links],
        }
        for link in links:
            if not link.nofollow and urlsplit(link.url).netloc in self._hosts:
                yield scrapy.Request(link.url)


class KeepOutputs:
    """The item pipeline: writes documents, links and the index; passes the URL on to the feed."""

    def open_spider(self, spider: PagesSpider) -> None:
        folder = Path(spider.settings["OUTPUTS"])
        self._documents, self._links = _new(folder / "documents.jsonl"), _new(folder / "links.jsonl")
        self._similar = MinHashLSH(threshold=_SIMILARITY, num_perm=_PERMUTATIONS)
        self._first: dict[bytes, str] = {}  # URL by digest
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("url", stored=True, tokenizer_name="raw")
        schema.add_text_field("title", stored=True)
        schema.add_text_field("body", stored=True)
        (folder / "index").mkdir()
        self._index = tantivy.Index(schema.build(), path=str(folder / "index"))
        self._writer = self._index.writer(num_threads=1)

    def process_item(self, item: dict[str, Any], spider: PagesSpider) -> dict[str, str]:
        url, title = item["url"], item["title"]
        text = trafilatura.extract(item["html"], url=url, include_comments=False) or ""
        copy_of = self._copy_of(url, text)
        document = {"url": url, "title": title, "text": text, "duplicate_of": copy_of}
        document["language"] = py3langid.classify(text)[0] if text else None
        _write(self._documents, document)
        for target, anchor, is_nofollow in item["links"]:
            _write(self._links, {"source": url, "target": target, "anchor": anchor, "nofollow": is_nofollow})
        if copy_of is None:
            self._writer.add_document(tantivy.Document(url=url, title=title, body=text))
        return {"url": url}

    def close_spider(self, spider: PagesSpider) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._documents.close()
        self._links.close()

    def _copy_of(self, url: str, text: str) -> str | None:
        """The URL of an earlier page with the same or a similar text; a page without one is kept to compare with."""
        digest = hashlib.sha1(text.encode()).digest()
        if (first := self._first.setdefault(digest, url)) != url:
            return first
        words = text.lower().split()
        shingles = {" ".join(words[n : n + _WORDS]).encode() for n in range(max(1, len(words) - _WORDS + 1))}
        signature = MinHash(num_perm=_PERMUTATIONS)
        signature.update_batch(list(shingles))
        if found := self._similar.query(signature):
            return str(found[0])
        self._similar.insert(url, signature, check_duplication=False)
        return None


def _new(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8")


def _write(file: TextIO, row: dict[str, Any]) -> None:
    file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    chosen = arguments().parse_args()
    outputs = str(Path(chosen.output).resolve().parent)
    crawl(PagesSpider, chosen, {"ITEM_PIPELINES": {KeepOutputs: 100}, "OUTPUTS": outputs})


if __name__ == "__main__":
    main()
