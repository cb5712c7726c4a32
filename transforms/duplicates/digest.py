"""The content digest of a page: a hash of its text without parts that change between visits.

A page that is fetched twice, or under two URLs, is often not identical byte for byte: it contains generation times,
visit counters and advertisements. Words always count as content. A number is dropped only if it is a time with
seconds, or is in a short line that contains a word typical of notices.
"""

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence

ENOUGH = 64
"""Minimum number of characters of a text for comparison; shorter texts are compared as bytes."""

_NOTICE = 120
"""Maximum length in characters of a line that may be a notice; written content is often longer."""

_TOGETHER = 12  # lines that are tested together

_ADVERTS = (
    *("advertisement", "advertising:", "ad:", "ads:", "ads by ", "sponsored:", "sponsored by ", "promoted:"),
    *("anzeige:", "werbung:", "publicité", "publicidad:", "広告", "广告", "廣告", "광고"),
)
_INITIALS = "".join({case for advert in _ADVERTS for case in (advert[0], advert[0].upper())})
_MAY_BE_ADVERT = re.compile(rf"\n(?=[{_INITIALS}])(?:{'|'.join(_ADVERTS)})", re.IGNORECASE)
_NOTICES = frozenset(
    """
    generated rendered updated modified revised retrieved accessed printed cached visit visits visitor visitors hits
    views viewed reads online counter session sid phpsessid jsessionid token nonce today ago copyright
    stand aktualisiert geändert erstellt erzeugt abgerufen besucher aufrufe heute
    mise mis modifié généré visiteurs visites actualizado actualizada modificado modificada generado generada visitas
    aggiornato aggiornata modificato modificata generato generata visitatori
    """.split()  # noqa: SIM905
)
_CJK_WORDS = ("更新", "作成", "訪問者", "閲覧", "生成", "访问", "浏览", "방문", "조회", "갱신", "수정", "생성")
# Each alternative begins with a character: this makes a search five times as fast.
_CJK_NOTICE = re.compile("|".join([*_CJK_WORDS, *(f"{unit}\\s?[前전]" for unit in "秒分间時天日초시간")]))
_OF_TIME, _AT_PRESENT = frozenset({"time", "date"}), frozenset({"current", "local", "server", "now"})

CODE = "\t"
"""The first character of a line of preformatted text; its indentation follows."""

_INDENTATION = re.compile(f"\n{CODE} *")
_NUMBER = re.compile("[0-9]")
_WORDS = re.compile(r"[^\W\d_]+")
_NO_DIGIT = bytes(sorted({*range(256)} - {*b"0123456789\n"}))
_SEPARATING = bytes(code if code > 127 or chr(code).isalpha() else ord(" ") for code in range(256))
_CHANGING = re.compile(
    r"\b\d\d?\.?\ (?:de\ )?[^\W\d_]+\.?\ (?:de\ )?\d{4}\b"  # a date in any language
    r"|\w*\d[\w.,:/+-]*"
    r"|\b(?:an?|one|few)(?=\ \w+\ ago\b)|\b(?:second|minute|hour|day|week|month|year)s?(?=\ ago\b)"
    r"|\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?"
    r"|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|[ap]m)\b",
    re.IGNORECASE,
)
# Times with seconds are machine-generated. The pattern starts with a character: a search takes a tenth of the time.
_CLOCK = re.compile(r":(?<=\d:)[0-5]\d:[0-6]\d(?![\d:])")
_STAMP = re.compile(
    r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ]?)?(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d:[0-6]\d(?![\d:])(?:[.,]\d+)?"
    r"(?:Z\b|[+-]\d\d:?\d\d)?"
)

READING = b"\x00\x03"
"""The last bytes of a digest of HTML. Another parser, or rule of the main text, has others: its digests say nothing of
a change of the page. Digests of earlier versions end with any bytes; so do those of other kinds."""


def of_html(digest: bytes) -> bytes:
    """The digest of an HTML page as this version reads it."""
    return digest[: -len(READING)] + READING


def are_comparable(one: bytes, other: bytes) -> bool:
    """Whether two digests of a page differ only if the page has changed."""
    return one.endswith(READING) == other.endswith(READING)


def content_digest(title: str, text: str, body: bytes, truncated: str = "", display_rules: str = "") -> bytes:
    """16 bytes of BLAKE2b, equal for equal content; of the raw body if there is too little text to compare.

    `text` has one line per block of the page. `truncated` is set if the rest of the text is unknown.
    """
    settled = settle(text)
    content = f"{title}\n{settled}".encode() if len(settled) >= ENOUGH and not truncated else body
    if display_rules:  # pages with different rules are not duplicates, so that results obey the rules of each page
        content += b"\0" + display_rules.encode()
    return hashlib.blake2b(content, digest_size=16).digest()


def settle(text: str) -> str:
    """The text without parts that change between visits: labelled advertisements, times, counters, sessions.

    The indentation of code does not count.

    >>> settle("Tides\\nAdvertisement: Boots!\\nGenerated on Thursday, 5 March 2026\\nOpen from 9:30, since 1998.")
    'Tides\\nGenerated on 0\\nOpen from 9:30, since 1998.'
    """
    if CODE in text:
        text = _INDENTATION.sub("\n", f"\n{text}")[1:]
    lines = text.split("\n")
    suspects = {*_suspects(text, lines)}
    for number in suspects:
        lines[number] = _settle(lines[number])
    return "\n".join(filter(None, lines)) if suspects or not all(lines) else text


def _suspects(text: str, lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines that `_settle` may change; it changes one line in 300."""
    digits = text.encode(errors="ignore").translate(None, _NO_DIGIT).split(b"\n")
    numbered = itertools.compress(range(len(lines)), digits)
    yield from _notices([number for number in numbered if len(lines[number]) <= _NOTICE], lines)
    line = place = 0
    for clock in _CLOCK.finditer(text):
        line += text.count("\n", place, clock.start())
        place = clock.start()
        yield line
    if " ago" in text:
        yield from (number for number, line in enumerate(lines) if " ago" in line)
    if _MAY_BE_ADVERT.search(text) or _is_advert(text):
        yield from (number for number, line in enumerate(lines) if _is_advert(line))


def _notices(numbers: Sequence[int], lines: Sequence[str]) -> Iterator[int]:
    for start in range(0, len(numbers), _TOGETHER):
        together = numbers[start : start + _TOGETHER]
        if _is_notice("\n".join([lines[number] for number in together])):
            yield from together


def _settle(line: str) -> str:
    if len(line) > _NOTICE:
        return _STAMP.sub("0", line) if _CLOCK.search(line) else line
    if _is_advert(line):
        return ""
    if not (_NUMBER.search(line) or " ago" in line) or not _is_notice(line):
        return line
    return re.sub(r"0(?:[\s,]+0)+", "0", _CHANGING.sub("0", line))


def _is_advert(line: str) -> bool:
    return line[:16].lower().startswith(_ADVERTS)


def _is_notice(line: str) -> bool:
    if _CLOCK.search(line):
        return True
    words = _letters(line.lower())
    if not _NOTICES.isdisjoint(words):
        return True
    if not _OF_TIME.isdisjoint(words) and not _AT_PRESENT.isdisjoint(words):
        return True
    return not line.isascii() and ("©" in line or _CJK_NOTICE.search(line) is not None)


def _letters(text: str) -> list[str]:
    """The runs of letters of a text; it is searched only where it has other characters than ASCII."""
    pieces = text.encode(errors="surrogatepass").translate(_SEPARATING).decode(errors="surrogatepass").split()
    if text.isascii():
        return pieces
    return pieces + _WORDS.findall(" ".join([piece for piece in pieces if not piece.isascii()]))
