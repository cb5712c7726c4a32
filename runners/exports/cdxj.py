"""Index lines of an archive in the CDXJ format, which replay tools read."""

import json
import re
from datetime import datetime
from urllib.parse import urlsplit


def surt(url: str) -> str:
    """The sort key of a canonical URL: host in reverse order, path and query in lower case, parameters sorted.

    As replay tools compute it: without the scheme, a leading `www`, and the default port.

    >>> surt("https://www.Example.org/A/?b=2&a=1"), surt("http://example.org:8080/"), surt("http://127.0.0.1/x/")
    ('org,example)/a?a=1&b=2', 'org,example:8080)/', '1,0,0,127)/x')
    """
    parts = urlsplit(url)
    host = re.sub(r"^www\d*\.", "", (parts.hostname or "").lower())
    host = f"[{host}]" if ":" in host else ",".join(reversed(host.split(".")))
    port = f":{parts.port}" if parts.port and parts.port != {"http": 80, "https": 443}.get(parts.scheme) else ""
    path = parts.path.lower().rstrip("/") or "/"
    query = "&".join(sorted(parts.query.lower().split("&"))) if parts.query else ""
    return f"{host}{port}){path}" + (f"?{query}" if query else "")


def line(url: str, moment: datetime, fields: dict[str, str]) -> str:
    """One line: key, time to the second, and the fields as JSON in ASCII, which holds no line end."""
    return f"{surt(url)} {moment:%Y%m%d%H%M%S} {json.dumps({'url': url} | fields)}"
