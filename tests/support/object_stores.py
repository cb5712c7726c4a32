"""Object stores on loopback: S3 by moto's server, and a server of Google Cloud Storage's XML API.

No package at hand honours the conditions of the XML API (fake-gcs-server 1.56 ignores them), so `GoogleStorage` is
written here, for the requests that the program makes and no more: it does not prove conformance with Google's service.
"""

import contextlib
import hashlib
import itertools
import logging
import random
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

from moto.backends import get_backend
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

_NUMBERS = itertools.count(1)
_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Store(NamedTuple):
    """A running store with one bucket, whose name no other store of this process has."""

    root: str  # such as s3://crawls-1
    environment: dict[str, str]
    requests: Counter[str]  # by method; `LIST` apart from `GET`, and conditional ones as `PUT if`
    stop: Callable[[], None]
    faults: "Faults"


class Faults:
    """What a store does wrong, to a share of the requests, from the same seed the same."""

    KINDS = ("dropped", "lost", "error", "slow down", "cut", "delayed")

    def __init__(self) -> None:
        self._random, self._lock = random.Random(47), threading.Lock()
        self.share = 0.0
        self.kinds: tuple[str, ...] = self.KINDS
        self.seen = Counter[tuple[str, str]]()  # (method, kind)

    def draw(self, method: str) -> str:
        """What is wrong with a request; empty if nothing is."""
        with self._lock:
            kind = self._random.choice(self.kinds) if self._random.random() < self.share else ""
            if kind:
                self.seen[method, kind] += 1
            return kind

    def answer(self, kind: str, app: "_App", environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """The answer of a store with this fault."""
        if kind == "delayed":
            time.sleep(0.2)
        if kind in ("error", "slow down"):
            status, code = ("500 X", "InternalError") if kind == "error" else ("503 X", "SlowDown")
            body = f"<Error><Code>{code}</Code></Error>".encode()
            start(status, [("Content-Length", str(len(body)))])
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return [body]
        if kind == "dropped":  # before the store has done anything
            return self._close(environ)
        if kind not in ("lost", "cut"):
            return app(environ, start)
        head: list[Any] = []
        body = b"".join(app(environ, lambda *given: head.extend(given)))
        if kind == "lost":  # done, but the answer does not arrive
            return self._close(environ)
        headers = [(name, value) for name, value in head[1] if name.lower() != "content-length"]
        length = next((value for name, value in head[1] if name.lower() == "content-length"), str(len(body)))
        start(head[0], [*headers, ("Content-Length", length)])
        if environ["REQUEST_METHOD"] == "HEAD" or not body:
            return [body]
        return itertools.chain([body[: len(body) // 2]], self._close(environ))

    @staticmethod
    def _close(environ: dict[str, Any]) -> Iterator[bytes]:
        with contextlib.suppress(OSError):
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise ConnectionError  # nothing more is written
        yield


@contextlib.contextmanager
def s3_store() -> Iterator[Store]:
    get_backend("s3").reset()
    with _served(DomainDispatcherApplication(create_backend_app)) as (url, *rest):
        bucket = f"crawls-{next(_NUMBERS)}"
        _call(url, f"/{bucket}", "PUT")
        environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_METADATA_ENDPOINT": "http://127.0.0.1:1",  # without credentials, no request leaves this machine
        }
        yield Store(f"s3://{bucket}", environment, *rest)


@contextlib.contextmanager
def gcs_store() -> Iterator[Store]:
    bucket = f"crawls-{next(_NUMBERS)}"
    with _served(GoogleStorage(bucket)) as (url, *rest):
        yield Store(f"gs://{bucket}", {"STORAGE_EMULATOR_HOST": url}, *rest)


STORES = {"S3": s3_store, "GCS": gcs_store}


@contextlib.contextmanager
def _served(app: _App) -> Iterator[tuple[str, Counter[str], Callable[[], None], Faults]]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    requests, faults = Counter[str](), Faults()

    def counting(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        conditions = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH", "HTTP_X_GOOG_IF_GENERATION_MATCH")
        is_conditional = any(name in environ for name in conditions)
        kind = "LIST" if "list-type" in environ["QUERY_STRING"] else environ["REQUEST_METHOD"]
        requests[kind + (" if" if is_conditional else "")] += 1
        return faults.answer(faults.draw(kind), app, environ, start)

    server = make_server("127.0.0.1", 0, counting, threaded=True, request_handler=_Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        thread.join()
        server.server_close()

    try:
        yield f"http://127.0.0.1:{server.port}", requests, stop, faults
    finally:
        if thread.is_alive():
            stop()


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        pass


def _call(url: str, path: str, method: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url + path, method=method)) as answer:
        assert answer.status == 200


class _Object(NamedTuple):
    data: bytes
    generation: int


class GoogleStorage:
    """The requests of the XML API that obstore makes, on one bucket in memory; conditions are atomic."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket
        self._objects: dict[str, _Object] = {}
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        bucket, _, key = environ["PATH_INFO"].encode("latin-1").decode().lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"], True).items()}
        with self._lock:
            if bucket != self._bucket:
                status, headers, data = _error(404, "NoSuchBucket")
            else:
                status, headers, data = getattr(self, "_" + environ["REQUEST_METHOD"].lower())(
                    key, query, environ, body
                )
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        start(f"{status} X", [("Content-Length", str(len(data))), *headers.items()])
        return [b"" if is_head else data]

    def _get(self, key: str, query: dict[str, str], environ: dict[str, Any], _: bytes) -> "_Answer":
        if not key:
            return self._list(query)
        if not (found := self._objects.get(key)):
            return _error(404, "NoSuchKey")
        headers = _headers(found)
        if not (wanted := environ.get("HTTP_RANGE")):
            return _Answer(200, headers, found.data)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        size = len(found.data)
        begin = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if begin >= size:
            return _error(416, "InvalidRange")
        return _Answer(206, headers | {"Content-Range": f"bytes {begin}-{end - 1}/{size}"}, found.data[begin:end])

    _head = _get

    def _list(self, query: dict[str, str]) -> "_Answer":
        keys = sorted(key for key in self._objects if key.startswith(query.get("prefix", "")))
        after = max(query.get("continuation-token", ""), query.get("start-after", ""))
        page = [key for key in keys if key > after][:1000]
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self._objects[key].data)}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{self._objects[key].generation}</ETag></Contents>"
            for key in page
        )
        more = page and page[-1] != keys[-1]
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return _Answer(200, {}, f"<ListBucketResult>{entries}{token}</ListBucketResult>".encode())

    def _put(self, key: str, query: dict[str, str], environ: dict[str, Any], body: bytes) -> "_Answer":
        if "uploadId" in query:
            self._uploads[query["uploadId"]][int(query["partNumber"])] = body
            return _Answer(200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b"")
        now = self._objects[key].generation if key in self._objects else 0
        if source := environ.get("HTTP_X_GOOG_COPY_SOURCE"):
            body = self._objects[unquote(source).lstrip("/").partition("/")[2]].data
        wanted = environ.get("HTTP_X_GOOG_IF_GENERATION_MATCH")
        if wanted is not None and int(wanted) != now:
            return _error(412, "PreconditionFailed")
        return self._written(key, body)

    def _written(self, key: str, data: bytes) -> "_Answer":
        self._objects[key] = _Object(data, next(self._numbers))
        return _Answer(200, _headers(self._objects[key]), b"")

    def _post(self, key: str, query: dict[str, str], environ: dict[str, Any], body: bytes) -> "_Answer":
        if "uploads" in query:
            upload = f"upload-{next(self._numbers)}"
            self._uploads[upload] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return _Answer(200, {}, text.encode())
        if (parts := self._uploads.pop(query["uploadId"], None)) is None:
            return _error(404, "NoSuchUpload")
        answer = self._written(key, b"".join(parts[number] for number in sorted(parts)))
        tag = answer.headers["ETag"].replace('"', "&quot;")
        return answer._replace(
            data=f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>".encode()
        )

    def _delete(self, key: str, *_: Any) -> "_Answer":
        return _Answer(204, {}, b"") if self._objects.pop(key, None) else _error(404, "NoSuchKey")


class _Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    data: bytes


def _headers(found: _Object) -> dict[str, str]:
    return {
        "ETag": f'"{hashlib.md5(found.data).hexdigest()}"',
        "x-goog-generation": str(found.generation),
        "Last-Modified": formatdate(1_700_000_000, usegmt=True),
    }


def _error(status: int, code: str) -> _Answer:
    return _Answer(status, {}, f"<Error><Code>{code}</Code></Error>".encode())
