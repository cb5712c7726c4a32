"""The answer in a record of an archive."""

import sys
from collections.abc import Callable

from ..http.reply import Headers, Reply
from ..outcomes import Outcome
from .digests import PayloadDigest
from .http_block import decode_body, is_chunked, original_headers, read_answer_head
from .reader import DamagedError, Record

_CHUNK = 1 << 16


class Skip(Exception):
    """A record that is not imported: the name of the reason, and what is wrong with it if it is bad."""

    def __init__(self, reason: str, problem: str = "") -> None:
        super().__init__(reason)
        self.reason, self.problem = reason, problem


def head_of(record: Record, head_bytes: int) -> tuple[int, Headers, bytes]:
    """(status, headers, first bytes of the body) of a record; of a resource, what stands for them."""
    declared = record.field("Content-Type")
    if record.type == "resource":
        return 200, [("Content-Type", declared)] if declared else [], b""
    if declared and not declared.lower().startswith("application/http"):
        raise Skip("not_http")
    return read_answer_head(record.read, head_bytes)


def reply_of(record: Record, digest: str | None, body_bytes: int, head_bytes: int) -> Reply:
    """The answer in a record, with its body decoded, and cut after `body_bytes`; `failure` says what is wrong with it.

    `digest` is that of its payload, as the record, or a revisit of it, says.
    """
    status, headers, rest = head_of(record, head_bytes)
    headers = original_headers(headers)
    check, body = PayloadDigest(digest or ""), bytearray()
    read = _payload(record, rest, check)
    failure, error, is_cut = None, None, bool(record.field("WARC-Truncated"))
    try:
        decoded, lacks_chunks = decode_body(read, headers, body_bytes, body.extend, check.without_chunks)
        while read(_CHUNK):  # the digest is that of all bytes
            pass
        is_cut = is_cut or lacks_chunks
        error = decoded.oddity
        if decoded.failure and not is_cut and status < 300:  # another one says it all
            failure, error = decoded.failure.outcome, decoded.failure.text
    except DamagedError as damage:
        return Reply(status, headers, failure=Outcome.BAD_RESPONSE, error=str(damage))
    if is_cut and not body:
        failure, error = Outcome.TOO_LONG, "the archive has no byte of the body"
    if not check.agrees and not decoded.truncated:  # what is cut was not hashed without its chunks
        failure, error = Outcome.BAD_RESPONSE, f"the payload digest {str(digest)[:80]} is not that of the record"
    kept = b"" if failure else bytes(body)
    address = record.field("WARC-IP-Address") or None
    return Reply(status, headers, kept, decoded.truncated or is_cut, address, failure=failure, error=error)


def contradicts(record: Record, head: tuple[int, Headers, bytes], digest: str | None) -> bool:
    """Whether a payload has another digest; reads the rest of the record, as far as that is needed."""
    check, (_, headers, rest) = PayloadDigest(digest or ""), head
    if not check.is_understood:
        return False
    read = _payload(record, rest, check)
    if is_chunked(headers):
        decode_body(read, [("Transfer-Encoding", "chunked")], sys.maxsize, lambda _: None, check.without_chunks)
    while read(_CHUNK):
        pass
    return not check.agrees


def _payload(record: Record, rest: bytes, check: PayloadDigest) -> Callable[[int], bytes]:
    """A function that reads the payload of a record, of which `rest` is read already, for its digest, too."""
    rests = [rest]

    def read(size: int) -> bytes:
        data = (rests.pop() if rests else b"") or record.read(size)
        check.as_it_is(data)
        return data

    return read
