"""The search box on pages of other sites: which origins may use the API, and the script that they embed."""

import re
from collections.abc import Collection

import flask
from flask.typing import ResponseReturnValue

from ...transforms.urls import canonical

SHARED = ("api", "suggest", "box")
"""The endpoints that allowed origins may read."""


def as_origin(text: str) -> str:
    """An origin in the form in which browsers state it (HTML, "ASCII serialisation of an origin").

    ValueError for anything else, also for the URL of a page: a path would be no limit.

    >>> as_origin("HTTPS://Docs.Example.org:443"), as_origin("http://127.0.0.1:8000/")
    ('https://docs.example.org', 'http://127.0.0.1:8000')
    >>> as_origin("https://example.org/docs")
    Traceback (most recent call last):
    ValueError: https://example.org/docs: must be an origin such as https://docs.example.org, without a path
    """
    is_origin = re.fullmatch(r"https?://[^/?#@*\\\s]+/?", text, re.IGNORECASE)
    url = canonical.canonicalize(text) if is_origin else None
    if url is None:
        raise ValueError(f"{text}: must be an origin such as https://docs.example.org, without a path")
    return canonical.origin(url)


def share(app: flask.Flask, origins: Collection[str]) -> None:
    """Add `/box.js`, and let pages of the origins read it and the answers of the API (CORS, Fetch standard 3.3).

    The box is a module script: browsers state the origin of a page that loads one, and keep it from others.
    """

    @app.get("/box.js")
    def box() -> ResponseReturnValue:
        return app.send_static_file("box.js")

    @app.after_request
    def allow(response: flask.Response) -> flask.Response:
        if flask.request.endpoint in SHARED:
            response.vary.add("Origin")
            origin = flask.request.headers.get("Origin")
            if origin and origin in origins:
                response.access_control_allow_origin = origin
        return response
