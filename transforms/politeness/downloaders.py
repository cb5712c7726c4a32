"""Downloaders: other ways to fetch the pages of some hosts, or of a scheme, than the one that fetches all the rest."""

from collections.abc import Callable, Mapping

from .. import plugins
from ..http.address_guard import Resolver
from ..http.client import Client, opener
from ..http.reply import Reply
from ..settings import Settings, downloader
from ..urls.canonical import host
from .host_queue import BrowserRules

Open = Callable[[Client, BrowserRules], Client]
"""Makes a client for a host, on top of the one that fetches all the rest."""

Downloader = Callable[[Settings], Open]
"""What an entry point of `beamtrawl.downloaders` leads to. It is called at the start of a crawl, where PluginError ends
it, and once for each bundle of hosts."""


class Through:
    """A Client that asks through another one; what a subclass does not do is the other's."""

    def __init__(self, client: Client, browser_rules: BrowserRules) -> None:
        self.client = client
        self.browser_rules = browser_rules

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        return self.client.get(url, headers, any_type)

    def abort(self) -> None:
        self.client.abort()

    def forget(self) -> None:
        self.client.forget()

    def close(self) -> None:
        self.client.close()


class _Chosen:
    """A Client that asks for each URL through the first of several that takes it; the last takes all."""

    def __init__(self, clients: list[tuple[str, Client]]) -> None:
        self._clients = clients

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        client = next(client for what, client in self._clients if takes(what, url))
        return client.get(url, headers, any_type)

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
    """Whether a canonical URL is of a host, `www.example.org`, or of a scheme, `https:`; all are of "".

    >>> takes("a.test", "http://a.test/"), takes("a.test", "http://a.test:81/"), takes("https:", "https://b.test/")
    (True, False, True)
    """
    return url.startswith(what) if what.endswith(":") or not what else host(url) == what


def open_downloaders(settings: Settings) -> list[tuple[str, Open]]:
    """The downloaders of a crawl, each with what it takes; PluginError says what is missing."""
    chosen = [downloader(text) for text in settings.fetch.downloaders]
    found: dict[str, Open] = {
        name: plugins.load(plugins.DOWNLOADERS, name)(settings) for name in dict.fromkeys(name for name, _ in chosen)
    }
    return [(what, found[name]) for name, what in chosen]


def client_opener(
    settings: Settings, public: bool, types: frozenset[str], resolver: Resolver
) -> Callable[[BrowserRules], Client]:
    """What opens a client for a host: that of `client.opener`, below the downloaders of the crawl."""
    open_direct = opener(settings.fetch, public, types, resolver)
    opens = open_downloaders(settings)

    def open_client(browser_rules: BrowserRules) -> Client:
        direct = open_direct(pause=browser_rules.rest)
        if not opens:
            return direct
        return _Chosen([*((what, open_(direct, browser_rules)) for what, open_ in opens), ("", direct)])

    return open_client
