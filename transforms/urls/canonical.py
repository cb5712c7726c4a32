"""Resolves references, and computes the canonical form in which a URL is fetched and the key that identifies it.

References are resolved by the WHATWG URL standard (ada). Two spellings have the same canonical form only if they are
equivalent by RFC 3986 section 6, so the canonical form is always safe to fetch. The key is the hash of the dedup form,
which is only compared and never fetched. docs/urls.md lists every rule.
"""

import functools
import hashlib
import re
from collections.abc import Callable

import ada_url
from publicsuffixlist import PublicSuffixList

from . import dedup
from .query_charset import with_query_in

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE_OR_UNSAFE = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")
_USER_FOLDER = re.compile(r"/~[^/?]+")
_USER_INFO = re.compile(r"(https?://)[^/?#]*@")
_FINAL_DOT = re.compile(r"(?<=[^/:?#.])\.(?=[/:])")
# WHATWG allows further characters in hosts (`*`, `$`, empty labels), but such names cannot be resolved. Port 0 is
# reserved, and requests would drop it. RFC 3986 sections 3.3 and 3.4 list the characters of path and query; requests
# and urllib3 escape all others.
_FETCHABLE = re.compile(
    r"https?://(?:(?![^/:]{254})(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:]+\])(?::[1-9][0-9]*)?"
    r"/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*"
)
_PORT = re.compile(r":[0-9]*$")
_IPV4 = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
# A path whose segments no rule changes, after `../`. Possessive, so that it takes linear time.
_PLAIN_PATH = re.compile(
    r"((?:\.\./){0,20}+)(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+)?+"
)
_REMEMBERED = 1_024  # characters of reference and base; the directories of longer ones are not cached


def resolve(reference: str, base: str | None = None) -> str | None:
    """The absolute URL of a reference on a page at `base`, by the WHATWG URL standard.

    Any scheme; the fragment is kept. None if the reference is invalid; never raises.

    >>> resolve("../b?x#y", "http://Example.org/a/c/")
    'http://example.org/a/b?x#y'
    """
    try:
        return str(ada_url.normalize_url(reference) if base is None else ada_url.join_url(base, reference))
    except ValueError:
        return None


def canonicalize(reference: str, base: str | None = None, charset: str = "utf-8") -> str | None:
    """The form of an http or https URL that is stored and fetched; None for other schemes and invalid URLs.

    `resolve`, followed by `CANONICAL_RULES`. Idempotent; requests sends exactly these bytes. `charset` is that of the
    page: browsers send the query of its links in it (`with_query_in`).

    >>> canonicalize("HTTP://me@Example.org.:80/%7ea%2fb/../[x]?#top")
    'http://example.org/%5Bx%5D'
    """
    if charset != "utf-8":
        reference = with_query_in(reference, charset)
    return _of_plain_path(reference, base) or _by_standard(reference, base)


def _of_plain_path(reference: str, base: str | None) -> str | None:
    """`_by_standard` of a reference to a plain path, relative, from the root or with a host; None for any other one.

    Such a path below a canonical directory is canonical as it is. To see this takes half the time of the parser.
    """
    if not reference or len(reference) + len(base or "") > _REMEMBERED:
        return None
    has_host = reference.startswith(("http://", "https://"))
    start = reference.find("/", 8) + 1 if has_host else int(reference[0] == "/")
    plain = _PLAIN_PATH.fullmatch(reference, start)
    if plain is None:
        return None
    directory = "" if base is None else _directory(base)
    if has_host and directory is not None:  # an invalid base makes any reference invalid
        directory = _directory(reference[:start])
    if not directory:
        return None
    if start:
        directory = directory[: directory.find("/", 8) + 1]
    for _ in range(start, plain.end(1), 3):
        directory = directory[: directory.rfind("/", 8, -1) + 1] or directory  # the root is its own parent
    return directory + reference[plain.end(1) :]


@functools.lru_cache(maxsize=2**12)
def _directory(url: str) -> str | None:
    """A canonical URL up to the last slash of its path; None for others."""
    path = url.partition("?")[0]
    return path[: path.rfind("/") + 1] if _by_standard(url, None) == url else None


def _by_standard(reference: str, base: str | None) -> str | None:
    url = resolve(reference, base)
    if url is None or not url.startswith(("http://", "https://")):
        return None
    if "%" in url or url[-1] == "?" or not _FETCHABLE.fullmatch(url):  # otherwise no rule applies
        for rule in CANONICAL_RULES:
            url = rule(url)
        return url if _FETCHABLE.fullmatch(url) else None
    return url


def drop_fragment(url: str) -> str:
    """Without the fragment, which is not sent to the server (RFC 3986 section 3.5)."""
    return url.partition("#")[0]


def drop_user_info(url: str) -> str:
    """Without user name and password, which a link must not choose for the crawler."""
    match = _USER_INFO.match(url) if "@" in url else None
    return match[1] + url[match.end() :] if match else url


def drop_final_dot(url: str) -> str:
    """Without the final dot of an absolute host name (RFC 1034 section 3.1)."""
    start = url.find("/", 8)
    return _FINAL_DOT.sub("", url[: start + 1], 1) + url[start + 1 :] if "./" in url or ".:" in url else url


def normalise_escapes(url: str) -> str:
    """With upper-case escapes, and only where RFC 3986 section 6.2.2 requires them."""
    start = url.find("/", 8)
    return url[:start] + _ESCAPE_OR_UNSAFE.sub(_escaped, url[start:])


def drop_empty_query(url: str) -> str:
    """Without the question mark of an empty query."""
    return url[:-1] if url.find("?") == len(url) - 1 else url


CANONICAL_RULES: tuple[Callable[[str], str], ...] = (
    drop_fragment,
    drop_user_info,
    drop_final_dot,
    normalise_escapes,
    drop_empty_query,
)
"""The rules that make a resolved http or https URL canonical, in order."""


def dedup_form(url: str) -> str:
    """The form of a canonical URL that is compared: URLs with equal forms are almost certainly one resource.

    Applies `dedup.RULES`. The result is a canonical URL; idempotent.

    >>> dedup_form("http://a.org/b;jsessionid=1F?y=2&utm_source=c&x=1")
    'http://a.org/b?x=1&y=2'
    """
    if dedup.may_change(url):
        for rule in dedup.RULES:
            url = rule(url)
    return url


def url_key(url: str) -> bytes:
    """The 16-byte key of a canonical URL in every table: BLAKE2b of its dedup form."""
    return hashlib.blake2b(dedup_form(url).encode(), digest_size=16).digest()


def neatness(url: str) -> tuple[int, str]:
    """Sort key of spellings with the same URL key; the smallest is fetched: the shortest, then alphabetical."""
    return (len(url), url)


def host(url: str) -> str:
    """The host of a canonical URL, with `:port` unless it is the scheme's default."""
    return url.split("/", 3)[2]


def host_name(host: str) -> str:
    """A host without its port: the key of a politeness queue.

    >>> host_name("a.org:8080"), host_name("[::1]:80"), host_name("[::1]")
    ('a.org', '[::1]', '[::1]')
    """
    return _PORT.sub("", host) if ":" in host else host


def origin(url: str) -> str:
    """`scheme://host[:port]` of a canonical URL: the scope of a robots.txt."""
    return "/".join(url.split("/", 3)[:3])


@functools.lru_cache(maxsize=2**16)
def domain(host: str) -> str:
    """The registered domain of a host (public suffix list); an IP address or a public suffix is returned unchanged.

    >>> domain("www.Example.co.uk:8080"), domain("127.0.0.1:80"), domain("localhost")
    ('example.co.uk', '127.0.0.1', 'localhost')
    """
    name = host_name(host.lower())
    if name.startswith("[") or _IPV4.fullmatch(name):
        return name
    return _public_suffixes().privatesuffix(name) or name


def site(host: str) -> str:
    """The host without a leading `www.`: under either name, one owner publishes.

    >>> site("www.example.org:8080"), site("blog.example.org")
    ('example.org:8080', 'blog.example.org')
    """
    return host.removeprefix("www.")


def user_folder(path: str) -> str:
    """The folder of the user to whom a path of a host, or its template, belongs; empty for all other paths.

    >>> user_folder("/~eve/item?id=1"), user_folder("/docs/~eve/")
    ('/~eve', '')
    """
    return match[0] if path.startswith("/~") and (match := _USER_FOLDER.match(path)) else ""


def owner(host: str, url: str) -> str:
    """Who publishes a canonical URL of a host: its site, with the folder of a user, which is not for others to change.

    >>> owner("www.example.org", "http://www.example.org/docs/"), owner("example.org", "http://example.org/~eve/docs/")
    ('example.org', 'example.org/~eve')
    """
    return site(host) + user_folder(url[len(origin(url)) :])


def front(url: str) -> str:
    """The front page of the host of a canonical URL, or of the folder of a user in which it is.

    >>> front("http://a.org/docs/x"), front("http://a.org/~eve/x")
    ('http://a.org/', 'http://a.org/~eve/')
    """
    start = origin(url)
    return f"{start}{user_folder(url[len(start) :])}/"


def is_foreign(url: str, source: str | None) -> bool:
    """Whether a link on the page `source` leads to a page of another site (`site`); False if the page is unknown.

    What a page in the folder of a user links outside of it is another's, too. The front page of a host counts as linked
    by its own site: it is one page, whoever links to it.

    >>> is_foreign("http://a.org/b", "http://www.a.org/"), is_foreign("http://a.org/b", "http://c.org/")
    (False, True)
    >>> is_foreign("http://a.org/", "http://c.org/"), is_foreign("http://a.org/b", None)
    (False, False)
    >>> is_foreign("http://a.org/~bob/b", "http://a.org/~eve/"), is_foreign("http://a.org/~bob/b", "http://a.org/")
    (True, False)
    """
    if source is None:
        return False
    start = source.find("/", 8)
    folder = user_folder(source[start:])
    if not folder and url.startswith(source[: start + 1]):
        return False
    *_, name, path = url.split("/", 3)
    is_outside = site(name) != site(host(source)) or (folder != "" and user_folder(f"/{path}") != folder)
    return path != "" and is_outside


@functools.cache
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _escaped(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return f"%{ord(match[0]):02X}"  # ada has escaped all non-ASCII characters
    byte = int(digits, 16)
    return chr(byte) if byte in _UNRESERVED else f"%{digits.upper()}"
