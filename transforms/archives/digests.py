"""Payload digests, as archives write them: `sha1:` and the digest in base 32 or hexadecimal."""

import base64
import binascii
import contextlib
import hashlib
from typing import Any

_HEXADECIMAL = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}


def normalized(promised: str) -> str:
    """The same text for equal digests: those that can be compared with bytes in hexadecimal, others in lower case.

    >>> normalized("sha-1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    'sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709'
    """
    name, value = _parts(promised)
    found = _decoded(name, value)
    return promised.strip().lower() if found is None else f"{name}:{found.hex()}"


def is_understood(promised: str) -> bool:
    """Whether a digest can be compared with the bytes of a payload."""
    return _decoded(*_parts(promised)) is not None


def _parts(promised: str) -> tuple[str, str]:
    name, _, value = promised.partition(":")
    return name.strip().lower().replace("-", ""), value.strip()


class PayloadDigest:
    """Compares the bytes of a payload with a digest; one that is not understood agrees with all.

    Archives take the digest of a payload with its chunks or without them, so two forms are hashed.
    """

    def __init__(self, promised: str) -> None:
        name, value = _parts(promised)
        self._promised = _decoded(name, value)
        self._forms: list[Any] = []
        if self._promised is not None:
            self._forms = [hashlib.new(name, usedforsecurity=False) for _ in ("as it is", "without chunks")]

    def as_it_is(self, data: bytes) -> None:
        """Add bytes of the payload as the record has them."""
        if self._forms:
            self._forms[0].update(data)

    def without_chunks(self, data: bytes) -> None:
        """Add bytes of the same payload without its chunks."""
        if self._forms:
            self._forms[1].update(data)

    @property
    def is_understood(self) -> bool:
        return self._promised is not None

    @property
    def agrees(self) -> bool:
        return self._promised is None or self._promised in [form.digest() for form in self._forms]


def _decoded(name: str, value: str) -> bytes | None:
    if name not in _HEXADECIMAL:
        return None
    with contextlib.suppress(ValueError):
        if len(value) == _HEXADECIMAL[name]:
            return bytes.fromhex(value)
    with contextlib.suppress(binascii.Error, ValueError):
        found = base64.b32decode(value.upper().rstrip("=") + "=" * (-len(value.rstrip("=")) % 8))
        return found if len(found) == _HEXADECIMAL[name] // 2 else None
    return None
