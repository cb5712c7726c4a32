"""Changes as an Atom feed (RFC 4287)."""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from ..directory.manifests import Manifest
from .find import Change

# XML 1.0, section 2.2: other characters cannot be written, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WEB = re.compile("https?://")
_MEDIA_TYPES = {
    "self": "application/atom+xml",
    "next": "application/atom+xml",  # RFC 5005, section 3
    "previous": "application/atom+xml",
    "alternate": "text/html",
}


def feed_id(manifests: Sequence[Manifest]) -> uuid.UUID:
    """The identifier of the feed of a crawl: a UUID (RFC 4122, version 5) made of its first step.

    It stays when the crawl is moved or copied, or the title of its gateway changes.
    """
    first = min(manifests, key=lambda m: (not m.started_at, m.started_at, m.round))
    return uuid.uuid5(uuid.NAMESPACE_URL, f"beamtrawl:{first.name}:{first.settings_digest}:{first.started_at}")


def write_feed(
    changes: Iterable[Change],
    own: uuid.UUID,
    name: str,
    now: datetime,
    sink: IO[bytes],
    links: Mapping[str, str] | None = None,
) -> int:
    """Write a feed with an entry for each change; returns their number.

    `own` is its identifier (`feed_id`); that of an entry is the same for the same change each time. `links` are URLs by
    their relation to the feed, as `self`.
    """
    related = "".join(
        f' <link rel="{rel}" type="{_MEDIA_TYPES[rel]}" href={quoteattr(href)}/>\n'
        for rel, href in (links or {}).items()
    )
    sink.write(
        _encoded(
            '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
            f" <id>{own.urn}</id>\n <title>Changes of {_text(name)}</title>\n <updated>{_time(now)}</updated>\n"
            f" <author><name>Beamtrawl</name></author>\n{related}"
        )
    )
    count = 0
    for change in changes:
        sink.write(_encoded(_entry(change, own)))
        count += 1
    sink.write(b"</feed>\n")
    return count


def _entry(change: Change, feed: uuid.UUID) -> str:
    id_ = uuid.uuid5(feed, f"{change.kind} {change.url} {change.at.isoformat()}").urn
    lines = [f"moved to {change.moved_to}"] if change.moved_to else change.diff or [change.kind]
    href = quoteattr(_ILLEGAL.sub("", change.url))
    link = f'  <link rel="alternate" href={href}/>\n' if _WEB.match(change.url) else ""
    return (
        f" <entry>\n  <id>{id_}</id>\n  <title>{change.kind}: {_text(change.title or change.url)}</title>\n"
        f"  <updated>{_time(change.at)}</updated>\n{link}"
        f'  <category term="{change.kind}"/>\n'
        f'  <content type="text">{_text(chr(10).join(lines))}</content>\n </entry>\n'
    )


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("\ufffd", text)).replace("\r", "&#13;")


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
