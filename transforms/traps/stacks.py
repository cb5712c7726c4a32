"""Stacked URLs: a page that is also had under a longer path, as `/de/x` or `/x.php/more/` for `/x` or `/x.php`.

A server that ignores a part of a path answers endlessly many paths with one page.
"""

from ..urls.canonical import url_key


def is_stacked(url: str, original: bytes) -> bool:
    """Whether a URL is that of another page with more folders before or after its path.

    `original` is the key of the URL of the page that it is an exact or near duplicate of.

    >>> is_stacked("http://a.test/de/news/x", url_key("http://a.test/news/x"))
    True
    >>> is_stacked("http://a.test/x.php/more/", url_key("http://a.test/x.php"))
    True
    >>> is_stacked("http://a.test/x?print=1", url_key("http://a.test/x"))
    False
    """
    scheme, _, host, target = url.split("/", 3)
    path, mark, query = target.partition("?")
    names = path.split("/")
    origin = f"{scheme}//{host}/"
    parts = [*("/".join(names[start:]) for start in range(1, len(names)))]
    parts += ["/".join(names[:end]) + "/" * is_folder for end in range(1, len(names)) for is_folder in (0, 1)]
    return any(url_key(origin + part + mark + query) == original for part in parts if part != path)
