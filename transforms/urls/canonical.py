"""URLs: resolving references as browsers do, the one spelling in which a URL is fetched, and the key it is known by.

Resolution is the WHATWG URL standard (by ada). Two spellings get one canonical form only where RFC 3986
section 6 says that they are surely the same resource, so the canonical form is always safe to fetch. The key is of a
bolder form, which is compared and never fetched. docs/urls.md has every rule.
"""

import functools
import hashlib
import re
from collections.abc import Callable

import ada_url
from publicsuffixlist import PublicSuffixList

from . import dedup

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE_OR_UNSAFE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")
_USER_INFO = re.compile(r"(?<=://)[^/?#]*@")
_FINAL_DOT = re.compile(r"(?<=[^/:?#.])\.(?=[/:])")
# WHATWG hosts may hold more (`*`, `$`, empty labels), but no such name can be looked up; nobody listens on port 0, and
# requests would drop it. RFC 3986 sections 3.3 and 3.4 have what may follow; requests and urllib3 escape all else.
_FETCHABLE = re.compile(
    r"https?://(?:(?![^/:]{254})(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:]+\])(?::[1-9][0-9]*)?"
    r"/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*"
)
_IPV4 = re.compile(r"[0-9]+(?:\.[0-9]+){3}")


def resolve(reference: str, base: str | None = None) -> str | None:
    """The absolute URL that a reference means on a page at `base`, by the WHATWG URL standard.

    Any scheme; the fragment is kept. None if the standard rejects it; never raises.

    >>> resolve("../b?x#y", "http://Example.org/a/c/")
    'http://example.org/a/b?x#y'
    """
    try:
        return str(ada_url.normalize_url(reference) if base is None else ada_url.join_url(base, reference))
    except ValueError:
        return None


def canonicalize(reference: str, base: str | None = None) -> str | None:
    """The form of an http or https URL that is stored and fetched; None for anything else.

    On top of `resolve`, what `CANONICAL_RULES` do. Idempotent, and requests sends the very same bytes.

    >>> canonicalize("HTTP://me@Example.org.:80/%7ea%2fb/../[x]?#top")
    'http://example.org/%5Bx%5D'
    """
    url = resolve(reference, base)
    if url is None or not url.startswith(("http://", "https://")):
        return None
    if "%" in url or url[-1] == "?" or not _FETCHABLE.fullmatch(url):  # else no rule would change it
        for rule in CANONICAL_RULES:
            url = rule(url)
        return url if _FETCHABLE.fullmatch(url) else None
    return url


def drop_fragment(url: str) -> str:
    """A fragment is for the reader and is not sent (RFC 3986 section 3.5)."""
    return url.partition("#")[0]


def drop_user_info(url: str) -> str:
    """Without a name and password, which a link must not choose for us."""
    return _USER_INFO.sub("", url, 1) if "@" in url else url


def drop_final_dot(url: str) -> str:
    """Without the dot that makes a host's name absolute (RFC 1034 section 3.1)."""
    start = url.find("/", 8)
    return _FINAL_DOT.sub("", url[: start + 1], 1) + url[start + 1 :] if "./" in url or ".:" in url else url


def normalise_escapes(url: str) -> str:
    """With escapes in capitals, exactly where RFC 3986 needs them (section 6.2.2)."""
    start = url.find("/", 8)
    return url[:start] + _ESCAPE_OR_UNSAFE.sub(_escaped, url[start:])


def drop_empty_query(url: str) -> str:
    """Without a question mark that nothing follows."""
    return url[:-1] if url.find("?") == len(url) - 1 else url


CANONICAL_RULES: tuple[Callable[[str], str], ...] = (
    drop_fragment,
    drop_user_info,
    drop_final_dot,
    normalise_escapes,
    drop_empty_query,
)
"""What makes a resolved http or https URL canonical, in this order."""


def dedup_form(url: str) -> str:
    """The form of a canonical URL by which it is compared with others: most probably the same resource.

    `dedup_rules.RULES`. Itself a canonical URL, and final.

    >>> dedup_form("http://a.org/b;jsessionid=1F?y=2&utm_source=c&x=1")
    'http://a.org/b?x=1&y=2'
    """
    if dedup.concerned(url):
        for rule in dedup.RULES:
            url = rule(url)
    return url


def url_key(url: str) -> bytes:
    """The 16-byte key of a canonical URL in every table: BLAKE2b of its dedup form."""
    return hashlib.blake2b(dedup_form(url).encode(), digest_size=16).digest()


def neatness(url: str) -> tuple[int, str]:
    """Of several spellings with one key, the smallest is fetched: the shortest, then the first of the alphabet."""
    return (len(url), url)


def host(url: str) -> str:
    """The host of a canonical URL, with `:port` unless it is the scheme's default: the politeness key."""
    return url.split("/", 3)[2]


def origin(url: str) -> str:
    """`scheme://host[:port]` of a canonical URL: what a robots.txt speaks for."""
    return "/".join(url.split("/", 3)[:3])


@functools.lru_cache(maxsize=2**16)
def domain(host: str) -> str:
    """The registered domain of a host (public suffix list); an address or a bare suffix is its own.

    >>> domain("www.Example.co.uk:8080"), domain("127.0.0.1:80"), domain("localhost")
    ('example.co.uk', '127.0.0.1', 'localhost')
    """
    name = re.sub(r":[0-9]*$", "", host.lower())
    if name.startswith("[") or _IPV4.fullmatch(name):
        return name
    return _public_suffixes().privatesuffix(name) or name


@functools.cache
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _escaped(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return f"%{ord(match[0]):02X}"  # ada has escaped all but ASCII
    byte = int(digits, 16)
    return chr(byte) if byte in _UNRESERVED else f"%{digits.upper()}"
