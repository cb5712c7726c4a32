"""Scrapy as a maker of archives: crawls sites and writes every answer to WARC files, as it came over the wire.

    python benchmarks/warc_spider.py OUT http://127.0.1.10:8080/ …

Pages and what they link and show (images, styles), robots.txt obeyed. A file ends with 100 MB. Bodies keep their
content coding; chunks are joined, so `Transfer-Encoding` gets the prefix `X-Crawl-`, as in Common Crawl.
"""

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from lxml import etree
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Request, Response
from w3lib.url import safe_url_string
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

_LARGEST = 100_000_000


class ArchiveMiddleware:
    """Writes requests and responses; stands below the one that decodes bodies."""

    def __init__(self, out: Path) -> None:
        self._out, self._parts = out, 0
        self._begin()

    @classmethod
    def from_crawler(cls, crawler: Any) -> "ArchiveMiddleware":
        return cls(Path(crawler.settings["ARCHIVE"]))

    def _begin(self) -> None:
        name = f"scrapy-{self._parts:05d}.warc.gz"
        self._parts += 1
        self._file = (self._out / name).open("wb")
        self._writer = WARCWriter(self._file, gzip=True)
        self._writer.write_record(
            self._writer.create_warcinfo_record(name, {"software": f"Scrapy/{scrapy.__version__}"})
        )

    def process_response(self, request: Request, response: Response) -> Response:
        target = urlsplit(request.url)
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        asked = StatusAndHeaders(f"{request.method} {path} HTTP/1.1", _fields(request), is_http_request=True)
        answered = StatusAndHeaders(f"{response.status} OK", _fields(response), protocol="HTTP/1.1")
        make = self._writer.create_warc_record
        kept = make(request.url, "response", io.BytesIO(response.body), len(response.body), http_headers=answered)
        self._writer.write_request_response_pair(make(request.url, "request", http_headers=asked), kept)
        if self._file.tell() > _LARGEST:
            self._file.close()
            self._begin()
        return response


def _fields(message: Request | Response) -> list[tuple[str, str]]:
    found = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in message.headers.items()
        for value in values
    ]
    return [(f"X-Crawl-{name}" if name == "Transfer-Encoding" else name, value) for name, value in found]


_TARGETS = etree.XPath("//a/@href | //area/@href | //link/@href | //img/@src", smart_strings=False)


class SitesSpider(scrapy.Spider):
    """Follows links, images and styles on the hosts of its start URLs."""

    name = "sites"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(start_urls=start_urls, **kwargs)
        self._hosts = {urlsplit(url).netloc for url in start_urls}
        self._known = set(start_urls)

    def parse(self, response: Response) -> Iterator[Request]:
        tree = etree.HTML(response.body) if isinstance(response, HtmlResponse) and response.body else None
        for target in _TARGETS(tree) if tree is not None else ():
            url = safe_url_string(urljoin(response.url, target.partition("#")[0].strip()))
            if urlsplit(url).netloc in self._hosts and url not in self._known:
                self._known.add(url)
                yield scrapy.Request(url, dont_filter=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write WARC files with Scrapy")
    parser.add_argument("out", type=Path, help="a folder")
    parser.add_argument("urls", nargs="+")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    process = CrawlerProcess(
        {
            "ARCHIVE": str(arguments.out),
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
            "HTTPERROR_ALLOW_ALL": True,
            "ROBOTSTXT_OBEY": True,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOADER_MIDDLEWARES": {ArchiveMiddleware: 595},  # HttpCompressionMiddleware has 590
        }
    )
    process.crawl(SitesSpider, start_urls=arguments.urls)
    process.start()


if __name__ == "__main__":
    main()
