"""The robot's Ed25519 key: read from a file, named by its thumbprint, published as a key directory."""

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from ..plugins import PluginError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_WANTED = "it must hold an Ed25519 private key, as PEM (PKCS #8, without a password) or JWK"


class SigningKey:
    """An Ed25519 private key. Its text never shows the key."""

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key
        self.x = _base64url(key.public_key().public_bytes_raw())  # the public key, as a JWK has it

    def sign(self, data: bytes) -> bytes:
        """The signature, 64 bytes (RFC 8032)."""
        return self._key.sign(data)

    @property
    def thumbprint(self) -> str:
        """The JWK thumbprint of the public key (RFC 7638; for Ed25519: RFC 8037, A.3)."""
        members = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": self.x}, separators=(",", ":"))
        return _base64url(hashlib.sha256(members.encode()).digest())


def read_key(path: str) -> SigningKey:
    """The key in the file that `robot.key` names; PluginError, without its content, if it cannot be used."""
    try:
        with open(path, "rb") as file:
            data = file.read(65_536)
    except OSError as error:
        raise PluginError(f"robot.key: {path} cannot be read: {error.strerror}") from error
    try:
        return parse_key(data)
    except ImportError as error:
        raise PluginError("robot.key needs cryptography: pip install 'beamtrawl[signatures]'") from error
    except ValueError:
        raise PluginError(f"robot.key: {path} cannot be used: {_WANTED}") from None


def parse_key(data: bytes) -> SigningKey:
    """The key from PEM or from a JWK (RFC 8037, 2); ValueError for anything else, ImportError without cryptography."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - of the extra signatures
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    if data.lstrip().startswith(b"{"):
        jwk: dict[str, Any] = json.loads(data)
        if (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519") or not isinstance(jwk.get("d"), str):
            raise ValueError("not an Ed25519 private key")
        key = SigningKey(Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(jwk["d"] + "==")))
        if jwk.get("x") not in (None, key.x):
            raise ValueError("the public key is of another private key")
        return key
    try:
        loaded = load_pem_private_key(data, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:  # TypeError: it has a password
        raise ValueError("not a usable key") from error
    if not isinstance(loaded, Ed25519PrivateKey):
        raise ValueError("not an Ed25519 key")
    return SigningKey(loaded)


def key_directory(key: SigningKey) -> str:
    """The public key as the JSON of `/.well-known/http-message-signatures-directory`.

    A JWK Set (RFC 7517, 5); its media type is `application/http-message-signatures-directory+json`
    (draft-meunier-http-message-signatures-directory-04).
    """
    jwk = {"kty": "OKP", "crv": "Ed25519", "kid": key.thumbprint, "x": key.x, "use": "sig"}
    return json.dumps({"keys": [jwk]}, indent=2) + "\n"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
