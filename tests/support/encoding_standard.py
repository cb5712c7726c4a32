"""What the Encoding standard says of labels and bytes: its algorithms as written, on its own index files.

`python -m tests.support.encoding_standard FOLDER` reads encodings.json and indexes.json, which
https://github.com/whatwg/encoding has, and writes tests/parsing/encoding_standard.json: the labels, and for each
encoding the digest of the text of `sequences`. So the tests need no file of a megabyte.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

TABLE = Path(__file__).parents[1] / "parsing" / "encoding_standard.json"
LABELS: dict[str, str] = json.loads(TABLE.read_bytes())["labels"] if TABLE.exists() else {}
DIGESTS: dict[str, str] = json.loads(TABLE.read_bytes())["digests"] if TABLE.exists() else {}

Indexes = dict[str, list[int | None]]
_BAD = 0xFFFD
_ESCAPES = {b"(B": "ascii", b"(J": "roman", b"(I": "katakana", b"$@": "jis", b"$B": "jis"}


def sequences(name: str) -> bytes:
    """Every byte of a single-byte encoding; every pair, right or wrong, of another, each ended by ASCII."""
    if name.startswith(("gb", "big5", "euc", "shift")):
        bodies = [bytes((lead, trail)) for lead in range(0x80, 0x100) for trail in range(0x100)]
        if name == "euc-jp":
            bodies += [bytes((0x8F, lead, trail)) for lead in range(0xA0, 0x100) for trail in range(0x100)]
        if name.startswith("gb"):
            bodies += map(_four_bytes, (*range(39_500), *range(188_900, 190_000), *range(1_237_000, 1_240_000)))
        return b"!".join([*bodies, b""])
    if name == "iso-2022-jp":
        jis = (bytes((lead, trail)) for lead in range(0x1C, 0x90) for trail in range(0x1C, 0x90))
        rest = (escape + bytes((byte,)) for escape in (b"(I", b"(J", b"(B", b"$", b"(") for byte in range(0x100))
        return b"!".join([*(b"\x1b$B" + pair + b"\x1b(B" for pair in jis), *(b"\x1b" + b + b"\x1b(B" for b in rest)])
    return bytes(range(0x100))


def digest(text: str) -> str:
    return hashlib.sha256(text.replace("\0", "").encode()).hexdigest()[:16]


def _four_bytes(pointer: int) -> bytes:
    first, second, third = pointer // 12_600 % 126, pointer // 1_260 % 10, pointer // 10 % 126
    return bytes((0x81 + first, 0x30 + second, 0x81 + third, 0x30 + pointer % 10))


def decoded(name: str, body: bytes, indexes: Indexes) -> str:
    """The text of a body, by the decoder of an encoding."""
    if name == "replacement":
        return chr(_BAD) if body else ""
    if name == "x-user-defined":
        return "".join(chr(byte if byte < 0x80 else 0xF780 + byte - 0x80) for byte in body)
    if name == "iso-2022-jp":
        return "".join(map(chr, _iso_2022_jp(body, indexes["jis0208"])))
    if (index := indexes.get("iso-8859-8" if name == "iso-8859-8-i" else name)) and len(index) == 128:
        return "".join(chr(byte if byte < 0x80 else index[byte - 0x80] or _BAD) for byte in body)
    step = {"gbk": _gb18030, "gb18030": _gb18030, "big5": _big5, "euc-jp": _euc_jp, "euc-kr": _euc_kr}.get(name, _sjis)
    text: list[int] = []
    at = 0
    while at < len(body):
        if body[at] < 0x80:
            text.append(body[at])
            at += 1
        else:
            taken, found = step(body[at : at + 4], indexes)
            text += found
            at += taken
    return "".join(map(chr, text))


Taken = tuple[int, Sequence[int]]


def _of_pair(pair: bytes, index: list[int | None], pointer: int | None) -> Taken:
    """The character of a pointer; of a wrong pair, an ASCII byte is read again."""
    point = index[pointer] if pointer is not None and 0 <= pointer < len(index) else None
    if point is not None:
        return 2, (point,)
    return (1 if len(pair) > 1 and pair[1] < 0x80 else len(pair[:2])), (_BAD,)


def _gb18030(body: bytes, indexes: Indexes) -> Taken:
    lead, trail = body[0], body[1] if len(body) > 1 else 0
    if lead in (0x80, 0xFF):
        return 1, (0x20AC if lead == 0x80 else _BAD,)
    if not 0x30 <= trail <= 0x39:
        is_trail = 0x40 <= trail <= 0x7E or 0x80 <= trail <= 0xFE
        pointer = (lead - 0x81) * 190 + trail - (0x40 if trail < 0x7F else 0x41) if is_trail else None
        return _of_pair(body, indexes["gb18030"], pointer)
    if not (0x81 <= (*body, 0x81)[2] <= 0xFE and 0x30 <= (*body, 0x30, 0x30)[3] <= 0x39):
        return 1, (_BAD,)
    if len(body) < 4:
        return len(body), (_BAD,)
    pointer = (lead - 0x81) * 12_600 + (trail - 0x30) * 1_260 + (body[2] - 0x81) * 10 + body[3] - 0x30
    if 39_419 < pointer < 189_000 or pointer > 1_237_575:
        return 4, (_BAD,)
    if pointer == 7_457:
        return 4, (0xE7C7,)
    start, point = max(pair for pair in indexes["gb18030-ranges"] if pair[0] <= pointer)  # type: ignore[misc, index, operator]
    return 4, (point + pointer - start,)


def _big5(body: bytes, indexes: Indexes) -> Taken:
    lead, trail = body[0], body[1] if len(body) > 1 else 0
    if not 0x81 <= lead <= 0xFE:
        return 1, (_BAD,)
    is_trail = 0x40 <= trail <= 0x7E or 0xA1 <= trail <= 0xFE
    pointer = (lead - 0x81) * 157 + trail - (0x40 if trail < 0x7F else 0x62) if is_trail else None
    two = {1133: (0xCA, 0x304), 1135: (0xCA, 0x30C), 1164: (0xEA, 0x304), 1166: (0xEA, 0x30C)}
    return (2, two[pointer]) if pointer in two else _of_pair(body, indexes["big5"], pointer)


def _euc_kr(body: bytes, indexes: Indexes) -> Taken:
    lead, trail = body[0], body[1] if len(body) > 1 else 0
    if not 0x81 <= lead <= 0xFE:
        return 1, (_BAD,)
    return _of_pair(body, indexes["euc-kr"], (lead - 0x81) * 190 + trail - 0x41 if 0x41 <= trail <= 0xFE else None)


def _sjis(body: bytes, indexes: Indexes) -> Taken:
    lead, trail = body[0], body[1] if len(body) > 1 else 0
    if lead == 0x80:
        return 1, (0x80,)
    if 0xA1 <= lead <= 0xDF:
        return 1, (0xFF61 - 0xA1 + lead,)
    if lead in (0xA0, 0xFD, 0xFE, 0xFF):
        return 1, (_BAD,)
    is_trail = 0x40 <= trail <= 0x7E or 0x80 <= trail <= 0xFC
    pointer = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 188 + trail - (0x40 if trail < 0x7F else 0x41)
    if is_trail and 8_836 <= pointer <= 10_715:
        return 2, (0xE000 - 8_836 + pointer,)
    return _of_pair(body, indexes["jis0208"], pointer if is_trail else None)


def _euc_jp(body: bytes, indexes: Indexes) -> Taken:
    lead, trail = body[0], body[1] if len(body) > 1 else 0
    if lead == 0x8E and 0xA1 <= trail <= 0xDF:
        return 2, (0xFF61 - 0xA1 + trail,)
    if lead == 0x8F and 0xA1 <= trail <= 0xFE:
        taken, found = _euc_pair(body[1:], indexes["jis0212"])
        return taken + 1, found
    return _euc_pair(body, indexes["jis0208"]) if lead in (0x8E, 0x8F) or 0xA1 <= lead <= 0xFE else (1, (_BAD,))


def _euc_pair(pair: bytes, index: list[int | None]) -> Taken:
    is_pair = len(pair) > 1 and 0xA1 <= pair[0] <= 0xFE and 0xA1 <= pair[1] <= 0xFE
    return _of_pair(pair, index, (pair[0] - 0xA1) * 94 + pair[1] - 0xA1 if is_pair else None)


def _iso_2022_jp(body: bytes, index: list[int | None]) -> Iterator[int]:
    state, is_output, at = "ascii", False, 0
    while at < len(body):
        byte = body[at]
        at += 1
        if byte == 0x1B:
            if new := _ESCAPES.get(body[at : at + 2]):
                state, at = new, at + 2
                if is_output:
                    yield _BAD
                is_output = True
                continue
            is_output = False
            yield _BAD
            continue
        is_output = False
        if state == "jis":
            if not 0x21 <= byte <= 0x7E or body[at : at + 1] == b"\x1b":
                yield _BAD
            else:
                trail = body[at] if at < len(body) else 0
                pointer = (byte - 0x21) * 94 + trail - 0x21
                at += 1
                yield (index[pointer] if 0x21 <= trail <= 0x7E and pointer < len(index) else None) or _BAD
        elif state == "katakana":
            yield 0xFF61 - 0x21 + byte if 0x21 <= byte <= 0x5F else _BAD
        elif byte > 0x7F or byte in (0x0E, 0x0F):
            yield _BAD
        else:
            yield {0x5C: 0xA5, 0x7E: 0x203E}.get(byte, byte) if state == "roman" else byte


def main(folder: Path) -> None:
    """Write the table."""
    groups = json.loads((folder / "encodings.json").read_bytes())
    indexes: Indexes = json.loads((folder / "indexes.json").read_bytes())
    encodings = [encoding for group in groups for encoding in group["encodings"]]
    labels = {label: encoding["name"].lower() for encoding in encodings for label in encoding["labels"]}
    names = sorted(name for name in set(labels.values()) if not name.startswith("utf"))
    digests = {name: digest(decoded(name, sequences(name), indexes)) for name in names}
    TABLE.write_text(json.dumps({"labels": labels, "digests": digests}, indent=0) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
