"""Observer that finds phrases, excerpts of texts, and images."""

from collections.abc import Callable, Iterable, Iterator

from ..duplicates.shingles import WORDS, Texts, shingles
from ..parsing.html_page import parse_page
from ..plugins import PluginError
from ..settings import Settings, Watch as WatchSettings
from .phrases import Phrases
from .registry import Alert, Document

_KINDS = ("html", "text", "pdf")  # of the watched texts


class Watch:
    """Finds what [watch] of crawl.toml names."""

    def __init__(self, settings: Settings, read_file: Callable[[str], bytes]) -> None:
        watch = settings.watch
        self._phrases = Phrases(watch.phrases)
        self._texts = Texts({name: _text(name, _body("texts", name, read_file)) for name in watch.texts})
        self._find_images = _image_finder(watch, settings.documents.kinds, read_file)

    def observe(self, document: Document) -> Iterator[Alert]:
        page = document.page
        text = "\n".join((page.title, page.description, page.text))
        for found in self._phrases.find(text):
            yield Alert("phrase", found.phrase, f"{found.times} times: {found.context}")
        for part in self._texts.find(text):
            yield Alert("text", part.name, f"{part.share:.0%} of it, in {part.runs} runs of {WORDS} words")
        if page.media_type.startswith("image/"):
            for name, distance in self._find_images(document.body):
                yield Alert("image", name, f"{distance} of 128 bits differ")


def _image_finder(
    watch: WatchSettings, kinds: list[str], read_file: Callable[[str], bytes]
) -> Callable[[bytes], Iterable[tuple[str, int]]]:
    """A function from the bytes of an image to the (name, distance) of the known images that it matches."""
    if not watch.images:
        return lambda body: ()
    if "image" not in kinds:
        raise PluginError('watch.images needs "image" in documents.kinds, or no image is fetched')
    try:
        from .images import KnownImages
    except ImportError as error:
        raise PluginError(f"watch.images needs Pillow: pip install 'beamtrawl[images]' ({error})") from error
    return KnownImages({name: _body("images", name, read_file) for name in watch.images}).find


def _body(key: str, name: str, read_file: Callable[[str], bytes]) -> bytes:
    try:
        return read_file(name)
    except OSError as error:
        raise PluginError(f'watch.{key}: "{name}" cannot be read in the crawl directory: {error}') from error


def _text(name: str, body: bytes) -> str:
    page = parse_page(body, "http://localhost/", None, [], "", _KINDS)
    text = page.text if page else ""
    if not shingles(text):
        raise PluginError(f'watch.texts: "{name}" has less than {WORDS} words of text; use watch.phrases instead')
    return text
