"""Downloader that runs the scripts of pages in a browser and finds generated text and links (docs/rendering.md).

The browser has no network access. The crawler's client fetches the page, and what its scripts request from the
page's host, subject to robots.txt and to the delay between requests.
"""

import base64
import dataclasses
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping

from ..http import media_types
from ..http.client import Client
from ..http.reply import Reply, header, outcome
from ..outcomes import Outcome
from ..plugins import PluginError
from ..politeness.backoff import HOST_FAILURES
from ..politeness.downloaders import Open, Through
from ..politeness.host_queue import BrowserRules
from ..settings import Fetch, Settings
from ..urls.canonical import canonicalize, host
from .devtools import Browser, BrowserError, Message

MAX_REQUESTS = 64
"""Maximum number of requests by the scripts of one page."""

_SCRIPT_TIME_MS = 5_000  # of virtual time, which skips idle time and stops during requests
_RENDERED_BY, _READ_BY = 0.8, 0.9  # shares of fetch.total_timeout: end of rendering, and of reading the result
_NEEDED = frozenset({"Script", "XHR"})  # includes fetch(); not images, styles, fonts, frames, beacons
_CACHE_BYTES = 32 << 20
_FORWARDED_HEADERS = ("User-Agent", "From", "Accept-Encoding", "Accept-Language")

# Dialogs would block; the other APIs bypass the interception of requests.
_QUIET = "alert = confirm = prompt = () => null; delete window.RTCPeerConnection; delete window.WebTransport;"


def render(settings: Settings) -> Open:
    """A function that opens rendering clients; PluginError if the browser is not installed."""
    fetch = settings.fetch
    if not (program := shutil.which(fetch.browser)):
        raise PluginError(f'fetch.browser = "{fetch.browser}": no such program; install Chromium, or set its path')
    scripts = Scripts(_CACHE_BYTES)
    return lambda client, browser_rules: Renderer(client, browser_rules, fetch, program, scripts)


class Scripts:
    """Cache of scripts that pages share, at most `max_bytes`; the oldest is evicted first."""

    def __init__(self, max_bytes: int) -> None:
        self._free_bytes = max_bytes
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, url: str) -> Reply | None:
        return self._replies.get(url)

    def put(self, url: str, reply: Reply) -> None:
        with self._lock:
            self._replies[url] = reply
            self._free_bytes -= len(reply.body)
            while self._free_bytes < 0:
                self._free_bytes += len(self._replies.popitem(last=False)[1].body)


@dataclasses.dataclass
class _Visit:
    """A page that is being rendered."""

    url: str
    page: Reply
    headers: Mapping[str, str]  # for the requests of its scripts
    session: str
    ends_at: float
    ready_at: float  # earliest time of the next request to the host
    is_given: bool = False  # whether the browser has received the page
    requests_left: int = MAX_REQUESTS


class Renderer(Through):
    """A client that renders the pages of a host; starts a browser with the first page."""

    def __init__(
        self, client: Client, browser_rules: BrowserRules, fetch: Fetch, program: str, scripts: Scripts
    ) -> None:
        super().__init__(client, browser_rules)
        self._fetch, self._program, self._scripts = fetch, program, scripts
        self._browser: Browser | None = None
        self._aborted = threading.Event()

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        """The reply, with the page after its scripts have run; if that fails, the original page and an `error`."""
        self._aborted.clear()
        started = time.monotonic()
        reply = self.client.get(url, headers, any_type)
        is_fetched = outcome(url, reply, conditional=False) is Outcome.FETCHED
        if any_type or not is_fetched or not reply.body or _media_type(reply) not in media_types.HTML:
            return reply
        try:
            text = self._render(url, headers, reply, started)
        except BrowserError as error:
            self._end_browser()
            return reply._replace(error=f"not rendered: {error}")
        body = text.encode("utf-8", "replace")
        fields = [(name, value) for name, value in reply.headers if name.lower() != "content-type"]
        return reply._replace(
            headers=[*fields, ("Content-Type", "text/html; charset=utf-8")],
            body=body[: self._fetch.max_body_bytes],
            truncated=reply.truncated or len(body) > self._fetch.max_body_bytes,
        )

    def abort(self) -> None:
        self._aborted.set()
        super().abort()
        if browser := self._browser:
            browser.kill()

    def close(self) -> None:
        self._end_browser()
        super().close()

    def _end_browser(self) -> None:
        if self._browser:
            self._browser.close()
            self._browser = None

    def _render(self, url: str, headers: Mapping[str, str], page: Reply, started: float) -> str:
        """The HTML of a page after its scripts have run."""
        seconds = self._fetch.total_timeout
        ends_at, read_by = started + _RENDERED_BY * seconds, started + _READ_BY * seconds
        browser = self._browser = self._browser or Browser(self._program)
        context = browser.call(ends_at, "Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = browser.call(ends_at, "Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = browser.call(ends_at, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.call(ends_at, "Page.enable", session)
        browser.call(ends_at, "Page.addScriptToEvaluateOnNewDocument", session, source=_QUIET)
        browser.call(ends_at, "Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        browser.call(ends_at, "Emulation.setUserAgentOverride", session, userAgent=headers.get("User-Agent", ""))
        browser.call(ends_at, "Emulation.setVirtualTimePolicy", session, policy="pause")
        own = {name: value for name, value in headers.items() if name in _FORWARDED_HEADERS}
        own |= {"Accept": "*/*", "Referer": url}
        visit = _Visit(url, page, own, session, ends_at, time.monotonic() + self.browser_rules.rest(page.elapsed_s))
        browser.send("Page.navigate", session, url=url)
        while (event := browser.event(ends_at)) and not self._is_over(browser, visit, event):
            pass
        script = "document.documentElement.outerHTML"
        found = browser.call(read_by, "Runtime.evaluate", session, expression=script, returnByValue=True)
        browser.send("Target.disposeBrowserContext", browserContextId=context)
        return str(found["result"].get("value", ""))

    def _is_over(self, browser: Browser, visit: _Visit, event: Message) -> bool:
        """Handles an event; returns whether rendering is finished."""
        method, parameters = event.get("method"), event.get("params", {})
        if event.get("sessionId") != visit.session:
            return False
        if method == "Fetch.requestPaused":
            command, answer = _answer(self._reply(visit, parameters))
            browser.send(command, visit.session, requestId=parameters["requestId"], **answer)
        elif method == "Page.frameNavigated" and "parentId" not in parameters["frame"]:
            policy = {"policy": "pauseIfNetworkFetchesPending", "budget": _SCRIPT_TIME_MS}
            browser.send("Emulation.setVirtualTimePolicy", visit.session, **policy)
        elif method == "Inspector.targetCrashed":
            raise BrowserError("the page has crashed")
        return method == "Emulation.virtualTimeBudgetExpired"

    def _reply(self, visit: _Visit, paused: Message) -> Reply | None:
        """The reply to a request of a page; None if the request is refused or has failed."""
        kind, request = paused["resourceType"], paused["request"]
        if kind == "Document" and not visit.is_given:
            visit.is_given = True
            return visit.page
        url = canonicalize(request["url"])
        if kind not in _NEEDED or request["method"] != "GET" or url is None or host(url) != host(visit.url):
            return None
        if kind == "Script" and (known := self._scripts.get(url)):
            return known
        if not visit.requests_left or visit.ready_at > visit.ends_at or not self.browser_rules.allows(url):
            return None
        if self._aborted.wait(max(0.0, visit.ready_at - time.monotonic())):
            raise BrowserError("it took too long")
        reply = self.client.get(url, visit.headers, any_type=True)
        visit.ready_at = time.monotonic() + self.browser_rules.rest(reply.elapsed_s)
        end = outcome(url, reply, conditional=False)
        visit.requests_left = 0 if end in HOST_FAILURES else visit.requests_left - 1
        if reply.failure or end is Outcome.REDIRECTED:
            return None
        if kind == "Script" and end not in HOST_FAILURES:  # also a 404: other pages will request it too
            self._scripts.put(url, reply)
        return reply


def _answer(reply: Reply | None) -> tuple[str, Message]:
    """The command that passes a reply to the browser, with the media type as its only header."""
    if reply is None:
        return "Fetch.failRequest", {"errorReason": "Aborted"}  # after which the current page stays loaded
    fields = [{"name": "Content-Type", "value": header(reply.headers, "content-type") or _media_type(reply)}]
    body = base64.b64encode(reply.body).decode()
    return "Fetch.fulfillRequest", {"responseCode": reply.status, "responseHeaders": fields, "body": body}


def _media_type(reply: Reply) -> str:
    return media_types.media_type(header(reply.headers, "content-type"), reply.body)
