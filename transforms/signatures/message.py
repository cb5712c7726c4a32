"""HTTP Message Signatures of requests (RFC 9421), in the profile of Web Bot Auth."""

import base64
from collections.abc import Sequence

from .keys import SigningKey

LABEL = "sig1"
TAG = "web-bot-auth"
_VALID_S = 300  # seconds; draft-meunier-web-bot-auth-architecture-05 recommends at most a day

Component = tuple[str, str]
"""The identifier of a covered component as it is written in a signature's input, and its value."""


def signature_base(components: Sequence[Component], parameters: str) -> tuple[bytes, str]:
    """The bytes to sign, and the value of Signature-Input without its label (RFC 9421, 2.5).

    `parameters` are those of the signature as they are sent, from `;created` on.
    """
    signed = f"({' '.join(identifier for identifier, _ in components)}){parameters}"
    lines = [f"{identifier}: {value}" for identifier, value in components]
    return "\n".join([*lines, f'"@signature-params": {signed}']).encode("ascii"), signed


def signed_headers(key: SigningKey, authority: str, agent: str, created: int, nonce: bytes) -> dict[str, str]:
    """The headers that sign a request to an authority: `HOST[:PORT]` in lower case, without a default port.

    Args:
        key: the robot's key.
        authority: of the URL that is requested.
        agent: the origin with the key directory, as `https://HOST`; "" for none.
        created: seconds since the epoch.
        nonce: random bytes, used once.
    """
    components = [('"@authority"', authority)]
    headers = {}
    if agent:
        components.append((f'"signature-agent";key="{LABEL}"', f'"{agent}"'))
        headers["Signature-Agent"] = f'{LABEL}="{agent}"'
    parameters = (
        f';created={created};keyid="{key.thumbprint}";alg="ed25519";expires={created + _VALID_S}'
        f';nonce="{base64.b64encode(nonce).decode()}";tag="{TAG}"'
    )
    base, signed = signature_base(components, parameters)
    headers["Signature-Input"] = f"{LABEL}={signed}"
    headers["Signature"] = f"{LABEL}=:{base64.b64encode(key.sign(base)).decode()}:"
    return headers
