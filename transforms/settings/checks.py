"""Checks of strings and lists of strings: each returns the error as the end of a sentence, None for a valid value."""

import ipaddress
import os
import re
from collections.abc import Callable

from .values import downloader, header, is_port, pin


def each(check: Callable[[str], str | None]) -> Callable[[list[str]], str | None]:
    """The check of a list by a check of its items; the error is that of the first bad item."""
    return lambda items: next((error for item in items if (error := check(item))), None)


def names_a_kind(kinds: list[str]) -> str | None:
    """A list with at least one kind of content: a crawl without any would fetch nothing."""
    return None if kinds else 'must name a kind, such as "html"'


def product_token(text: str) -> str | None:
    """A product token for robots.txt (RFC 9309, 2.2.1) with an optional version for User-Agent; may be empty."""
    wanted = "must consist of letters, - and _, as in robots.txt; it may end with /VERSION"
    return _header_text(text, r"([A-Za-z_-]+(/[\w.+-]+)?)?", wanted)


def email_address(text: str) -> str | None:
    """An e-mail address for From (RFC 9110, 10.1.2); may be empty."""
    return _header_text(text, r"([^@\s]+@[^@\s]+)?", "must be an e-mail address")


def web_page(text: str) -> str | None:
    """The URL of a page for User-Agent; may be empty."""
    return _header_text(text, r"(https?://[^\s]+)?", "must be an http or https URL")


def port(text: str) -> str | None:
    """The number of a TCP port."""
    return None if is_port(text) else "must be numbers of ports"


def absolute_path(text: str) -> str | None:
    """The path of a file that each worker can read, from whatever directory; may be empty."""
    return None if not text or os.path.isabs(text) else "must be the absolute path of a file"


def _header_text(text: str, pattern: str, wanted: str) -> str | None:
    if not (text.isascii() and text.isprintable()):
        return "must be printable ASCII, because it is sent in an HTTP header"
    return None if re.fullmatch(pattern, text) else wanted


def regular_expression(text: str) -> str | None:
    """A regular expression of Python's module re."""
    return _error_of(re.compile, text)


def url_expression(text: str) -> str | None:
    """A regular expression of URLs; an empty one, which every URL has, is a mistake."""
    return regular_expression(text) if text else "must not be empty, because it would match everything"


def address_range(text: str) -> str | None:
    """An IP range in CIDR form."""
    problem = _error_of(ipaddress.ip_network, text)
    return problem and f"{problem}; give an address or a range such as 127.0.0.0/8"


def pinned_address(text: str) -> str | None:
    """A "NAME:PORT:ADDRESS" of `fetch.resolve`."""
    return _error_of(pin, text)


def downloader_rule(text: str) -> str | None:
    """A "NAME HOST" or "NAME SCHEME:" of `fetch.downloaders`."""
    return _error_of(downloader, text)


def _error_of(parse: Callable[[str], object], text: str) -> str | None:
    try:
        parse(text)
    except (ValueError, re.error) as error:
        return f"{error}"
    return None


_URL_PATTERN = re.compile(r"(?!https?:)[^\s/]+/\S*")


def url_pattern(text: str) -> str | None:
    """A "HOST/PATTERN" of `traps.allow`."""
    return None if _URL_PATTERN.fullmatch(text) else 'must be "HOST/PATTERN", without http://'


_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([ -~]+)", re.ASCII)

_OWN_HEADERS = {
    *("host", "user-agent", "from", "referer", "connection", "content-length", "transfer-encoding", "range"),
    *("accept-encoding", "if-none-match", "if-modified-since", "proxy-authorization"),
}


def additional_header(text: str) -> str | None:
    """A "Name: value" or "HOST Name: value" of `fetch.headers`, of a header that the crawler does not set itself."""
    _, name, value = header(text)
    if not value or not _HEADER.fullmatch(f"{name}: {value}"):
        return 'must be "Name: value" or "HOST Name: value", in printable ASCII'
    if name.lower() in _OWN_HEADERS:
        return f"{name} is set by the crawler; [robot] holds the robot's identity"
    return None


_CREDENTIALS = re.compile(r"(\S+)\s+([^\s:]+:.*)")


def basic_credentials(text: str) -> str | None:
    """A "HOST USER:PASSWORD" of `fetch.credentials`."""
    return None if _CREDENTIALS.fullmatch(text) else 'must be "HOST USER:PASSWORD"'


_PROXY = re.compile(r"http://([^\s:@/]+:[^\s@/]*@)?([^\s:@/\[\]]+|\[[0-9a-fA-F:]+\])(:(?P<port>\d+))?/?", re.ASCII)


def proxy_url(text: str) -> str | None:
    """The URL of an HTTP proxy; may be empty."""
    found = _PROXY.fullmatch(text)
    if text and not found:
        return "must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"
    if found and found["port"] and not is_port(found["port"]):
        return "must have a port from 1 to 65535"
    return None
