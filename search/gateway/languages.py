"""The languages of the pages: English, and those with a catalogue in the folder `translations`."""

import functools
import gettext
import json
from collections.abc import Mapping
from pathlib import Path

import flask

ENGLISH = "en"
LANGUAGES = (ENGLISH, "ko")


class Catalogue(gettext.NullTranslations):
    """Translations by English text; a text in singular and plural has one translation, under its plural."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def gettext(self, message: str) -> str:
        return self.texts.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.texts.get(msgid2) or (msgid1 if n == 1 else msgid2)


@functools.cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of one of LANGUAGES."""
    if language == ENGLISH:
        return Catalogue({})
    path = Path(__file__).with_name("translations") / f"{language}.json"
    return Catalogue(json.loads(path.read_text(encoding="utf-8")))


def speak(app: flask.Flask) -> None:
    """Show the pages of an application in the language that a browser prefers; English if it names none of them."""
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        lambda message: catalogue(_language()).gettext(message),
        lambda one, many, n: catalogue(_language()).ngettext(one, many, n),
        newstyle=True,
    )
    app.jinja_env.globals["page_language"] = _language

    @app.after_request
    def vary(response: flask.Response) -> flask.Response:
        if response.mimetype == "text/html":
            response.vary.add("Accept-Language")
            response.content_language.add(_language())
        return response


def _language() -> str:
    return flask.request.accept_languages.best_match(LANGUAGES, ENGLISH)
