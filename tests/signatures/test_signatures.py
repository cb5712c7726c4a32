"""Signed requests: the vectors of RFC 9421, another implementation as the judge, and who gets a signature."""

import base64
import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, algorithms

from beamtrawl.transforms.http.client import opener
from beamtrawl.transforms.http.reply import redirect_target
from beamtrawl.transforms.plugins import PluginError
from beamtrawl.transforms.settings import Fetch, changed_values, parse
from beamtrawl.transforms.signatures.keys import key_directory, parse_key, read_key
from beamtrawl.transforms.signatures.message import signature_base, signed_headers
from beamtrawl.transforms.signatures.signer import Signer, asks
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html

# RFC 9421, B.1.4
PEM = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
JWK = {
    "kty": "OKP",
    "crv": "Ed25519",
    "kid": "test-key-ed25519",
    "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
}
KEY = parse_key(PEM)
SECRETS = (JWK["d"], "MC4CAQAwBQYDK2VwBCIEIJ")


def test_the_signature_of_the_rfc() -> None:
    """RFC 9421, B.2.6: Ed25519 is deterministic."""
    components = [
        ('"date"', "Tue, 20 Apr 2021 02:07:55 GMT"),
        ('"@method"', "POST"),
        ('"@path"', "/foo"),
        ('"@authority"', "example.com"),
        ('"content-type"', "application/json"),
        ('"content-length"', "18"),
    ]
    base, signed = signature_base(components, ';created=1618884473;keyid="test-key-ed25519"')
    assert signed.startswith('("date" "@method" "@path" "@authority" "content-type" "content-length");created')
    expected = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    assert base64.b64encode(KEY.sign(base)).decode() == expected


def test_keys_are_named_by_their_thumbprints() -> None:
    """The vector of RFC 8037, A.3, and the test key, whose name is in the drafts."""
    seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    example = parse_key(json.dumps({"kty": "OKP", "crv": "Ed25519", "d": seed}).encode())
    assert example.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert KEY.thumbprint == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
    assert parse_key(json.dumps(JWK).encode()).thumbprint == KEY.thumbprint


def verified(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """The parameters of a signature that the other implementation accepts for a GET of a URL."""
    public = ed25519.Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(JWK["x"] + "="))
    resolver = SimpleNamespace(resolve_public_key=lambda name: {KEY.thumbprint: public}[name])
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=resolver)
    (result,) = verifier.verify(
        SimpleNamespace(method="GET", url=url, headers=dict(headers)), expect_tag="web-bot-auth"
    )
    return dict(result.parameters)


URLS = {
    "a host": ("https://a.test/x?y", "a.test"),
    "a port": ("http://a.test:8080/", "a.test:8080"),
    "the port of the scheme": ("https://a.test:443/", "a.test"),
    "an address": ("http://[::1]:81/", "[::1]:81"),
}


@pytest.mark.parametrize("agent", ["https://example.org", ""])
@pytest.mark.parametrize(("url", "authority"), URLS.values(), ids=URLS)
def test_another_implementation_accepts_the_signature(url: str, authority: str, agent: str) -> None:
    now = int(time.time())
    headers = signed_headers(KEY, authority, agent, now, b"n" * 32)
    parameters = verified(url, headers)
    assert parameters == {
        "created": now,
        "keyid": KEY.thumbprint,
        "alg": "ed25519",
        "expires": now + 300,
        "nonce": base64.b64encode(b"n" * 32).decode(),
        "tag": "web-bot-auth",
    }
    assert headers.get("Signature-Agent") == ('sig1="https://example.org"' if agent else None)
    with pytest.raises(InvalidSignature):
        verified("https://evil.test/", headers)
    if agent:
        with pytest.raises(InvalidSignature):
            verified(url, headers | {"Signature-Agent": 'sig1="https://evil.test"'})


# values of Accept-Signature, whether they ask for a signature of Web Bot Auth
ASKED = {
    "as the drafts have it": (['sig1=("@authority" "signature-agent");created;tag="web-bot-auth"'], True),
    "no use is named": (['sig1=("@authority")'], True),
    "another use": (['sig1=("@authority");tag="app-123"'], False),
    "one of two": (['a=("@method");tag="x", b=();tag="web-bot-auth"'], True),
    "two lines": (['a=("@method");tag="x"', 'b=();tag="web-bot-auth"'], True),
    "none": ([], False),
    "empty": ([""], False),
    "no list": (["sig1"], False),
    "broken": (['sig1=("@authority"'], False),
    "not ASCII": (['sig1=("\xe9")'], False),
}


@each_row(ASKED)
def test_who_asks_for_a_signature(values: list[str], expected: bool) -> None:
    assert asks([("Accept-signature", value) for value in values]) is expected


def pem_of(key: Any, password: bytes | None = None) -> bytes:
    cipher = BestAvailableEncryption(password) if password else NoEncryption()
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher))


OWN = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BROKEN = {
    "nothing": b"",
    "a page": b"<p>herring",
    "bytes": bytes(range(256)),
    "a key of RSA": pem_of(rsa.generate_private_key(65537, 2048)),
    "a public key": OWN.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    "a password": pem_of(OWN, b"secret"),
    "a PEM that is cut": PEM[:70],
    "a JWK without the private part": json.dumps({**JWK, "d": None}).encode(),
    "a JWK of RSA": json.dumps({"kty": "RSA", "n": "AQAB", "e": "AQAB"}).encode(),
    "a JWK of another curve": json.dumps({**JWK, "crv": "X25519"}).encode(),
    "a JWK with another public key": json.dumps({**JWK, "x": "A" * 43}).encode(),
    "a JWK whose key is too short": json.dumps({**JWK, "d": "AAAA"}).encode(),
    "a JWK that is cut": json.dumps(JWK).encode()[:-9],
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_key_that_is_none_is_refused_in_one_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    with pytest.raises(PluginError) as refused:
        read_key(str(path))
    text = str(refused.value)
    assert text.startswith(f"robot.key: {path} cannot be used: it must hold an Ed25519 private key")
    assert "\n" not in text and not any(secret in text for secret in SECRETS)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"robot.key: .*/none cannot be read: No such file"):
        read_key(str(tmp_path / "none"))


def test_the_key_directory_has_no_private_part() -> None:
    (jwk,) = json.loads(key_directory(KEY))["keys"]
    assert jwk == {"kty": "OKP", "crv": "Ed25519", "kid": KEY.thumbprint, "x": JWK["x"], "use": "sig"}


def test_a_key_in_the_place_of_its_file_is_not_repeated() -> None:
    for key in SECRETS:
        with pytest.raises(ValueError, match=r"robot\.key") as refused:
            parse(f'[robot]\nkey = "{key}"\n')
        assert key not in str(refused.value)


def test_the_settings_that_are_stored_do_not_say_where_the_key_is() -> None:
    settings = parse('[robot]\nkey = "/keys/robot.pem"\nsign = "always"\n')
    assert settings.robot.key == "/keys/robot.pem"
    assert changed_values(settings) == {"robot.sign": "always"}
    assert "/keys" not in repr(settings)


ASKS = ("Accept-Signature", 'sig1=("@authority" "signature-agent");created;tag="web-bot-auth"')
REFUSAL = Answer(401, b"Who?", (ASKS,))


def guarded(headers: Mapping[str, str]) -> Answer:
    return html("Members", "herring") if "signature" in headers else REFUSAL


@pytest.mark.parametrize("client", ["direct", "requests"])
def test_a_signature_is_for_the_host_that_asked_for_it(client: str) -> None:
    """A host asks, and then redirects to another, which did not ask, and to a third, which refuses."""
    asking = {
        "/page": guarded,
        "/open": Answer(headers=(ASKS,)),
        "/away": Answer(302, headers=(("Location", "//other.test/"),)),
    }
    sites = {"asks.test": asking, "other.test": {"/": html("Other")}, "refuses.test": {"/": Answer(403)}}
    signer = Signer(KEY, "https://example.org", always=False)
    fetch = Fetch(allow_addresses=["127.0.0.0/8"], client=client)
    with Web(sites) as web, contextlib.closing(opener(fetch, public=True, signer=signer)()) as asked:

        def get(url: str) -> Any:
            return asked.get(url, {"User-Agent": "Robot/1"})

        home = web.url("asks.test")
        assert get(web.url("other.test")).status == 200
        assert get(home + "page").status == 200
        assert get(home + "page").status == 200
        away = get(home + "away")
        target = redirect_target(home + "away", away)
        assert target == web.url("other.test")
        assert get(target).status == 200
        assert get(web.url("refuses.test")).status == 403
        requests = [(request.host, request.path, request.headers) for request in web.requests]
    sent = [(host, path, "signature" in headers) for host, path, headers in requests]
    assert sent == [
        ("other.test", "/", False),
        ("asks.test", "/page", False),
        ("asks.test", "/page", True),
        ("asks.test", "/page", True),
        ("asks.test", "/away", True),
        ("other.test", "/", False),
        ("refuses.test", "/", False),
    ]
    nonces = {verified(home, headers)["nonce"] for host, _, headers in requests if "signature" in headers}
    assert len(nonces) == 3


def test_always_signs_for_each_host_by_its_own_name() -> None:
    signer = Signer(KEY, "", always=True)
    with Web({"a.test": {"/": html("A")}, "b.test": {"/": html("B")}}) as web:
        fetch = Fetch(allow_addresses=["127.0.0.0/8"])
        with contextlib.closing(opener(fetch, public=True, signer=signer)()) as client:
            for name in ("a.test", "b.test"):
                client.get(web.url(name), {"User-Agent": "Robot/1"})
        for request in web.requests:
            assert verified(web.url(request.host), request.headers)["tag"] == "web-bot-auth"
        with pytest.raises(InvalidSignature):
            verified(web.url("b.test"), web.requests[0].headers)


def test_a_host_that_asks_and_refuses_all_the_same_is_asked_twice_at_most() -> None:
    with Web({"a.test": {"/": REFUSAL}}) as web:
        signer = Signer(KEY, "", always=False)
        with contextlib.closing(opener(Fetch(allow_addresses=["127.0.0.0/8"]), public=True, signer=signer)()) as client:
            assert [client.get(web.url("a.test"), {}).status for _ in range(2)] == [401, 401]
        assert [("signature" in request.headers) for request in web.requests] == [False, True, True]
