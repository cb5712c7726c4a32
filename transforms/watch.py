"""Watch for phrases, for parts of texts, and for images: an observer."""

from collections.abc import Callable, Iterator

from apache_beam.io.filesystem import BeamIOError

from transforms.observers import Alert, Document
from transforms.pages import parse_page
from transforms.phrases import Phrases
from transforms.pictures import Pictures
from transforms.plugins import PluginError
from transforms.settings import Settings
from transforms.shingles import WORDS, Texts, shingles

_KINDS = ("html", "text", "pdf")  # of the texts that are watched for


class Watch:
    """Looks for what [watch] of crawl.toml names."""

    def __init__(self, settings: Settings, read_file: Callable[[str], bytes]) -> None:
        watch = settings.watch
        if watch.images and "image" not in settings.documents.kinds:
            raise PluginError('watch.images needs "image" in documents.kinds, or no image is ever seen')
        self._phrases = Phrases(watch.phrases)
        self._texts = Texts({name: _text(name, _body("texts", name, read_file)) for name in watch.texts})
        self._pictures = Pictures({name: _body("images", name, read_file) for name in watch.images})

    def observe(self, document: Document) -> Iterator[Alert]:
        page = document.page
        text = "\n".join((page.title, page.description, page.text))
        for found in self._phrases.find(text):
            yield Alert("phrase", found.phrase, f"{found.times} times: {found.context}")
        for part in self._texts.find(text):
            yield Alert("text", part.name, f"{part.share:.0%} of it, in {part.runs} runs of {WORDS} words")
        if page.media_type.startswith("image/"):
            for alike in self._pictures.find(document.body):
                yield Alert("image", alike.name, f"{alike.distance} of 128 bits differ")


def _body(key: str, name: str, read_file: Callable[[str], bytes]) -> bytes:
    try:
        return read_file(name)
    except (OSError, BeamIOError) as error:
        raise PluginError(f'watch.{key}: "{name}" cannot be read in the crawl directory: {error}') from error


def _text(name: str, body: bytes) -> str:
    page = parse_page(body, "http://localhost/", None, [], "", _KINDS)
    text = page.text if page else ""
    if not shingles(text):
        raise PluginError(f'watch.texts: "{name}" has less than {WORDS} words of text; watch.phrases takes such')
    return text
