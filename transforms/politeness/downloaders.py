"""Downloaders: alternative clients for the pages of some hosts or of a URL scheme."""

from collections.abc import Callable, Mapping, Sequence

from .. import plugins
from ..http.address_guard import Resolver
from ..http.client import Client, opener
from ..http.reply import Reply
from ..http.transport import Method
from ..settings import Fetch, Robot, Settings, downloader
from ..signatures.signer import signer_of
from ..urls.canonical import host
from .host_queue import BrowserRules

Open = Callable[[Client, BrowserRules], Client]
"""Creates a client for a host, on top of the default client."""

Downloader = Callable[[Settings], Open]
"""The object of an entry point of `beamtrawl.downloaders`. It is called at the start of a crawl, where PluginError ends
the crawl, and once per bundle of hosts."""


class Through:
    """A Client that delegates to another one; subclasses override single methods."""

    def __init__(self, client: Client, browser_rules: BrowserRules) -> None:
        self.client = client
        self.browser_rules = browser_rules

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self.client.get(url, headers, any_type)

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self.client.head(url, headers, method)

    def abort(self) -> None:
        self.client.abort()

    def forget(self) -> None:
        self.client.forget()

    def close(self) -> None:
        self.client.close()


class _Chosen:
    """A Client that fetches each URL with the first of several clients that matches it; the last matches all."""

    def __init__(self, clients: list[tuple[str, Client]]) -> None:
        self._clients = clients

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self._client(url).get(url, headers, any_type)

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self._client(url).head(url, headers, method)

    def _client(self, url: str) -> Client:
        return next(client for what, client in self._clients if takes(what, url))

    def abort(self) -> None:
        for _, client in self._clients:
            client.abort()

    def forget(self) -> None:
        for _, client in self._clients:
            client.forget()

    def close(self) -> None:
        for _, client in self._clients:
            client.close()


def takes(what: str, url: str) -> bool:
    """Return whether a canonical URL has the host `www.example.org` or the scheme `https:`; "" matches all URLs.

    >>> takes("a.test", "http://a.test/"), takes("a.test", "http://a.test:81/"), takes("https:", "https://b.test/")
    (True, False, True)
    """
    return url.startswith(what) if what.endswith(":") or not what else host(url) == what


def open_downloaders(settings: Settings) -> list[tuple[str, Open]]:
    """Return the downloaders of a crawl, each with its host or scheme; PluginError if one is missing."""
    chosen = [downloader(text) for text in settings.fetch.downloaders]
    found: dict[str, Open] = {
        name: plugins.load(plugins.DOWNLOADERS, name)(settings) for name in dict.fromkeys(name for name, _ in chosen)
    }
    return [(what, found[name]) for name, what in chosen]


def refuse_without_head(downloaders: Sequence[tuple[str, Open]], fetch: Fetch) -> None:
    """Raise PluginError if a downloader cannot ask for the status of an external target."""
    rules = BrowserRules(allows=lambda url: False, rest=lambda elapsed_s: 0.0)
    for what, open_ in downloaders:
        client = open_(opener(fetch, public=False)(), rules)  # connects to nothing
        client.close()
        if not hasattr(client, "head"):
            raise plugins.PluginError(
                f"scope.check_external needs a method head, which {type(client).__name__} (for {what}) lacks: derive"
                " it from beamtrawl.Through, or set scope.check_external = false"
            )


def client_opener(
    fetch: Fetch,
    robot: Robot,
    downloaders: Callable[[], Sequence[tuple[str, Open]]],
    public: bool,
    types: frozenset[str],
    resolver: Resolver,
) -> Callable[[BrowserRules], Client]:
    """Return a function that opens a client for a host: that of `client.opener`, below the crawl's downloaders."""
    open_direct = opener(fetch, public, types, resolver, signer_of(robot))
    opens = downloaders()

    def open_client(browser_rules: BrowserRules) -> Client:
        direct = open_direct(pause=browser_rules.rest)
        if not opens:
            return direct
        return _Chosen([*((what, open_(direct, browser_rules)) for what, open_ in opens), ("", direct)])

    return open_client
