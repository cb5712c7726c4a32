"""URLs: resolving references as browsers do, and the one spelling in which a URL is stored and fetched.

Resolution is the WHATWG URL standard (by ada). Two spellings get one canonical form only where RFC 3986
section 6 says that they are surely the same resource, so the canonical form is always safe to fetch.
"""

import functools
import hashlib
import re

import ada_url
from publicsuffixlist import PublicSuffixList

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# RFC 3986 sections 3.3 and 3.4; requests and urllib3 escape everything else.
_CLEAN = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?]*")
_ESCAPE_OR_UNSAFE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")
_SPLIT = re.compile(r"(https?)://(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(:[0-9]+)?(/[^?#]*)(?:\?([^#]*))?")
# WHATWG hosts may hold more (`*`, `$`, empty labels), but no such name can be looked up.
_HOST_NAME = re.compile(r"(?!.{254})(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:]+\]")
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


def canonical(reference: str, base: str | None = None) -> str | None:
    """The form of an http or https URL that is stored and fetched; None for anything else.

    On top of `resolve`: upper-case escapes, unreserved characters unescaped, strays escaped (so that requests
    sends the very same bytes), no fragment, user info, empty query or final dot of the host. Idempotent.

    >>> canonical("HTTP://me@Example.org.:80/%7ea%2fb/../[x]?#top")
    'http://example.org/%5Bx%5D'
    """
    url = resolve(reference, base)
    parts = _SPLIT.match(url) if url else None
    if parts is None:
        return None
    scheme, name, port, path, query = parts.groups()
    name = name.removesuffix(".")
    # Nobody listens on port 0, and requests would drop it.
    if not _HOST_NAME.fullmatch(name) or port == ":0":
        return None
    url = f"{scheme}://{name}{port or ''}{_escape(path)}"
    return f"{url}?{_escape(query)}" if query else url


def url_key(url: str) -> bytes:
    """The 16-byte key of a canonical URL in every table."""
    return hashlib.blake2b(url.encode(), digest_size=16).digest()


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


def _escape(text: str) -> str:
    """A path or query with escapes exactly where RFC 3986 needs them."""
    return text if _CLEAN.fullmatch(text) else _ESCAPE_OR_UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return f"%{ord(match[0]):02X}"  # ada has escaped all but ASCII
    byte = int(digits, 16)
    return chr(byte) if byte in _UNRESERVED else f"%{digits.upper()}"
