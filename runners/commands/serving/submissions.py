"""Submissions through the gateway: judged by the crawl's own rules, and added as `seeds add` does."""

import threading
from datetime import UTC, datetime

from ....pipeline.seeds import Seed, add_seeds, parse_seeds
from ....search.gateway.app import Receipt, Submit
from ....transforms.directory.crawl_dir import CrawlDir, paths_of
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.parsing.crawl_scope import CrawlScope
from ....transforms.settings import settings_digest
from ...crawling.session import refuse_lost_settings


def open_submissions(crawl: CrawlDir) -> Submit:
    """Return what takes submissions to a crawl, which may be running.

    SettingsError if its settings cannot be read, StartError if they are lost.
    One is taken at a time: it costs a look through the URLs that the crawl knows, and searches come first.
    """
    refuse_lost_settings(crawl)
    stored_settings(crawl)
    turn = threading.Lock()

    def submit(text: str) -> Receipt:
        if not turn.acquire(blocking=False):
            return Receipt(503, "Somebody else is submitting a page at this moment. Try again.")
        try:
            return take(crawl, text, datetime.now(UTC))
        finally:
            turn.release()

    return submit


def take(crawl: CrawlDir, text: str, now: datetime) -> Receipt:
    """Put a URL into the crawl's next round, if it is one, belongs to the crawl, and has not been there."""
    seeds, bad = parse_seeds(text.splitlines()[:1])
    if not seeds:
        problem = bad[0].problem if bad else "there is no URL"
        return Receipt(400, f"This cannot be visited: {problem}.")
    settings, url = stored_settings(crawl), seeds[0].url
    scope = CrawlScope.of(crawl.root, settings.scope, settings.documents, paths_of(crawl.manifests(), "seeds"))
    if rule := scope.url_filter().reject(url, depth=0, redirects=0):
        return Receipt(403, f"{url} is outside the scope of this crawl (rule {rule}).")
    added = add_seeds(crawl, [Seed(url)], settings_digest(settings), now)
    if added.known:
        return Receipt(200, f"{url} is known already: the crawl has visited it, or will.")
    return Receipt(202, f"{url} is accepted: the crawl visits it in its next round.")
