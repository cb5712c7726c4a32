"""crawlee's side of the benchmark: crawl sites and write the URL of each page to a file.

    python benchmarks/crawlee_spider.py --depth 3 -o urls.jsonl http://127.0.1.1:8480/index.html …

Its ParselCrawler and its own `enqueue_links`, 16 requests at a time, in-memory storage, robots.txt obeyed. Nothing but
the URL is kept.
"""

import argparse
import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def crawl(urls: list[str], depth: int, most: int | None) -> list[str]:
    """The URLs of the pages up to so many links from one of the URLs, on their hosts."""
    found: list[str] = []
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=16, desired_concurrency=16, max_concurrency=16),
        max_crawl_depth=depth,
        max_requests_per_crawl=most,
        respect_robots_txt_file=True,
        max_request_retries=0,
        request_handler_timeout=timedelta(minutes=5),
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        if "html" in context.http_response.headers.get("content-type", ""):
            found.append(context.request.loaded_url or context.request.url)
            await context.enqueue_links(strategy="same-hostname")

    await crawler.run(urls)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Crawl sites with crawlee")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--depth", type=int, required=True, help="links from a start URL")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit")
    parser.add_argument("-o", "--output", required=True, help="JSON lines")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    found = asyncio.run(crawl(arguments.urls, arguments.depth, arguments.max_pages or None))
    with Path(arguments.output).open("w", encoding="utf-8") as output:
        output.writelines(json.dumps({"url": url}) + "\n" for url in found)


if __name__ == "__main__":
    main()
