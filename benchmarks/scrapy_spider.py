"""Scrapy's side of the benchmark: crawl sites breadth first and write the URL of each page to a file.

    python benchmarks/scrapy_spider.py --depth 3 -o urls.jsonl http://127.0.1.1:8480/index.html …

Scrapy as its documentation has it for broad, breadth-first crawls: its LinkExtractor, 16 requests at a time,
no delay, robots.txt obeyed. Nothing but the URL is kept: no text, no digests, no index.
"""

import argparse
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Crawl sites with Scrapy")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--depth", type=int, required=True, help="links from a start URL")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit")
    parser.add_argument("-o", "--output", required=True, help="JSON lines")
    arguments = parser.parse_args()
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "DEPTH_LIMIT": arguments.depth,
            "CLOSESPIDER_PAGECOUNT": arguments.max_pages,
            "FEEDS": {arguments.output: {"format": "jsonlines", "overwrite": True}},
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            # Breadth first: https://docs.scrapy.org/en/latest/faq.html
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        }
    )
    process.crawl(SitesSpider, start_urls=arguments.urls)
    process.start()


if __name__ == "__main__":
    main()
