"""Scrapy's side of the benchmark: crawl sites breadth first and write the URL of each page to a file.

    python benchmarks/scrapy_spider.py --depth 3 -o urls.jsonl http://127.0.1.1:8480/index.html …

Scrapy as its documentation has it for broad, breadth-first crawls: its LinkExtractor, 16 requests at a time,
no delay, robots.txt obeyed. Nothing but the URL is kept: no text, no digests, no index. `--tuned` is what an expert
makes of it for the least CPU time: links by one XPath on lxml's tree, one set of known URLs in place of fingerprints,
no middleware that the crawl does not need, no log, 64 requests at a time.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from lxml import etree
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS, LinkExtractor
from w3lib.url import safe_url_string


class SitesSpider(scrapy.Spider):
    """Yields the URL of every HTML page on the hosts of its start URLs."""

    name = "sites"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(start_urls=start_urls, **kwargs)
        self._links = LinkExtractor(allow_domains=[urlsplit(url).netloc for url in start_urls])

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url}
        for link in self._links.extract_links(response):
            if not link.nofollow:
                yield scrapy.Request(link.url)


_IGNORED = tuple(f".{name}" for name in IGNORED_EXTENSIONS)
_HREFS = etree.XPath("//a[@href][not(contains(@rel, 'nofollow'))]/@href | //area/@href", smart_strings=False)
_BASE = etree.XPath("string(//base/@href)", smart_strings=False)


class TunedSpider(scrapy.Spider):
    """Finds the pages of `SitesSpider` with less work; a link that was seen in the same folder costs a look-up."""

    name = "tuned"

    def __init__(self, start_urls: list[str], **kwargs: Any) -> None:
        super().__init__(start_urls=start_urls, **kwargs)
        self._hosts = {urlsplit(url).netloc for url in start_urls}
        self._known = set(start_urls)
        self._seen: dict[str, set[str]] = {}  # hrefs by folder

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url}
        self._known.add(response.url)
        tree = etree.HTML(response.body, etree.HTMLParser(encoding=response._declared_encoding()))
        if tree is None:
            return
        base = urljoin(response.url, _BASE(tree).strip()) if b"<base" in response.body else response.url
        seen = self._seen.setdefault(base.rpartition("/")[0], set())
        for href in _HREFS(tree):
            raw = href.partition("#")[0].strip()
            if raw and raw not in seen:
                if raw[0] != "?":  # a query alone depends on the page, not on its folder
                    seen.add(raw)
                yield from self._request(base, raw, response)

    def _request(self, base: str, href: str, response: Response) -> Iterator[scrapy.Request]:
        try:
            url = safe_url_string(urljoin(base, href), response.encoding)
            parts = urlsplit(url)
        except ValueError:
            return
        is_page = parts.scheme in ("http", "https") and not parts.path.lower().endswith(_IGNORED)
        if is_page and parts.netloc in self._hosts and url not in self._known:
            self._known.add(url)
            yield scrapy.Request(url, dont_filter=True)


_TUNED = {
    "CONCURRENT_REQUESTS": 64,
    "LOG_ENABLED": False,
    "COOKIES_ENABLED": False,
    "REFERER_ENABLED": False,
    "RETRY_ENABLED": False,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
        "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
    },
    "SPIDER_MIDDLEWARES": {"scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None},
    "EXTENSIONS": {
        "scrapy.extensions.corestats.CoreStats": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.memusage.MemoryUsage": None,
    },
}


def arguments() -> argparse.ArgumentParser:
    """The command line of both spiders."""
    parser = argparse.ArgumentParser(description="Crawl sites with Scrapy")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--depth", type=int, required=True, help="links from a start URL")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit")
    parser.add_argument("-o", "--output", required=True, help="JSON lines")
    return parser


def crawl(spider: type[scrapy.Spider], chosen: argparse.Namespace, more: Mapping[str, Any]) -> None:
    """Crawl breadth first (https://docs.scrapy.org/en/latest/faq.html); `more` are settings that differ."""
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "DEPTH_LIMIT": chosen.depth,
            "CLOSESPIDER_PAGECOUNT": chosen.max_pages,
            "FEEDS": {chosen.output: {"format": "jsonlines", "overwrite": True}},
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            **more,
        }
    )
    process.crawl(spider, start_urls=chosen.urls)
    process.start()


def main() -> None:
    parser = arguments()
    parser.add_argument("--tuned", action="store_true", help="by hand, for the least CPU time")
    chosen = parser.parse_args()
    crawl(TunedSpider if chosen.tuned else SitesSpider, chosen, _TUNED if chosen.tuned else {})


if __name__ == "__main__":
    main()
