"""Objects of S3 and Google Cloud Storage as files: s3://BUCKET/KEY and gs://BUCKET/KEY.

Requests are made by the package `obstore`, the extra `s3` or `gcs`. Endpoints, regions and credentials come from the
environment of each process (docs/stores.md). A written object appears as a whole when it is closed, and is durable
then. There are no folders. Errors are StoreErrors, FileNotFoundError for a missing object.
"""

import contextlib
import functools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from ..outcomes import CrawlDirError, StoreError
from .object_file import open_object
from .store import Store, Tag, matcher

_URL = re.compile(r"(s3|gs)://([^/]*)/?(.*)", re.DOTALL)
_EXTRA = {"s3": "s3", "gs": "gcs"}
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to a key file",
}

_PART = 8 << 20  # bytes; larger objects are uploaded in parts
_PARTS_AT_ONCE = 4
_REQUESTS = 32  # for small objects, at once
_RETRIES = {
    "max_retries": 10,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 3},
}
"""A store that does not answer is asked again ten times, at growing random intervals: for 5 to 30 seconds."""
_PAUSES_S = (0.1, 0.3, 0.9, 2.7, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
"""Between tries of what obstore does not repeat: a request whose answer breaks off."""
_BROKEN_OFF = re.compile(r"response body|invalid \w+ response|end of file|connection closed", re.IGNORECASE)
_COMPLETED = "NoSuchUpload"
"""The answer to the end of an upload in parts that is repeated because the first answer was lost."""

_T = TypeVar("_T")


def is_object(path: str) -> bool:
    """Whether a path is that of an object.

    >>> is_object("s3://bucket/crawl"), is_object("hdfs://host/crawl")
    (True, False)
    """
    return bool(_URL.match(path))


class ObjectStore(Store):
    """S3 and Google Cloud Storage."""

    has_local_paths = False
    reads_by_request = True
    has_versions = True
    watch_s = 2.0
    report_s = 5.0

    def join(self, root: str, *parts: str) -> str:
        """The path below a root.

        >>> ObjectStore().join("s3://bucket/", "crawl", "crawl.toml")
        's3://bucket/crawl/crawl.toml'
        """
        return "/".join([root.rstrip("/"), *parts])

    def split(self, path: str) -> tuple[str, str]:
        folder, _, name = path.rpartition("/")
        return folder, name

    def exists(self, path: str) -> bool:
        at = _place(path)
        try:
            with _naming(path, "read"):
                _again(lambda: _obstore().head(at.store, at.key))
        except FileNotFoundError:
            return False
        return True

    def open(self, path: str) -> BinaryIO:
        """A file for reading, which requests nothing before it is read."""
        return open_object(functools.partial(read_range, path))

    def read(self, path: str) -> tuple[bytes, Tag | None]:
        """The contents of an object and their version, in one request."""
        at = _place(path)
        with _naming(path, "read"):
            data, meta = _again(lambda: _get(at))
            return data, _tag(meta)

    def read_all(self, paths: list[str]) -> list[bytes]:
        """The contents of small objects, requested in parallel."""
        with ThreadPoolExecutor(min(_REQUESTS, len(paths))) as requests:
            return [data for data, _ in requests.map(self.read, paths)]

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        """A file for writing, in one request if it is small."""
        return cast(BinaryIO, _Upload(path))

    def discard(self, file: BinaryIO) -> None:
        cast(_Upload, file).discard()

    def rename(self, source: str, target: str) -> None:
        at = _place(source)
        with _naming(target, "write"):
            _again(lambda: _obstore().copy(at.store, at.key, _place(target).key))
        self.delete([source])

    def write_whole(self, path: str, data: bytes) -> None:
        with self.sink(path) as file:
            file.write(data)

    def write_new(self, path: str, data: bytes, mode: int = 0o666) -> bool:
        return self.replace(path, data, None) is not None

    def replace(self, path: str, data: bytes, tag: Tag | None) -> Tag | None:
        """As `Store.replace`: of several concurrent writers one succeeds.

        A request that had succeeded, and was repeated because its answer was lost, counts as written.
        """
        obstore, at = _obstore(), _place(path)
        try:
            with _naming(path, "write"):
                return _tag(obstore.put(at.store, at.key, data, mode=dict(tag) if tag else "create"))
        except (FileExistsError, FileNotFoundError):
            try:
                found, now = self.read(path)
            except FileNotFoundError:
                return None
            return now if found == data else None

    def delete(self, paths: Iterable[str]) -> None:
        """Removes objects; missing ones count as removed."""
        by_bucket: dict[str, list[str]] = {}
        for path in paths:
            by_bucket.setdefault(path[: -len(_place(path).key)], []).append(_place(path).key)
        for bucket, keys in by_bucket.items():
            try:
                _delete(bucket, keys)
            except FileNotFoundError:  # the first one that Google's store misses ends a request for several
                for key in keys:
                    with contextlib.suppress(FileNotFoundError):
                        _delete(bucket, [key])

    def match(self, folder: str, pattern: str) -> Iterator[str]:
        at, wanted = _place(folder), matcher(pattern)
        start = len(at.key) + 1 if at.key else 0
        with _naming(folder, "read"):
            for path in _paths(at):
                if wanted.fullmatch(relative := path[start:]):
                    yield self.join(folder, relative)


def read_range(path: str, start: int, end: int) -> tuple[bytes, int]:
    """(bytes of an object, its size); from the end if `start` is negative; fewer bytes where the object ends."""
    at = _place(path)
    wanted = {"suffix": -start} if start < 0 else (start, end)
    try:
        with _naming(path, "read"):
            data, meta = _again(lambda: _get(at, {"range": wanted}))
            return data, int(meta["size"])
    except StoreError as error:
        with contextlib.suppress(FileNotFoundError), _naming(path, "read"):
            if _again(lambda: _obstore().head(at.store, at.key))["size"] == 0:
                return b"", 0  # no part of an empty object can be requested
        raise error


def _delete(bucket: str, keys: list[str]) -> None:
    with _naming(bucket, "write"):
        _again(lambda: _obstore().delete(_place(bucket).store, keys))


def _get(at: "_Place", options: Any = None) -> tuple[bytes, Mapping[str, Any]]:
    found = _obstore().get(at.store, at.key, options=options)
    return bytes(found.bytes()), found.meta


def _paths(at: "_Place") -> Iterator[str]:
    """The objects below a key. Where a listing breaks off, the next one goes on from there."""
    last, tries = None, 0
    while True:
        try:
            for batch in _obstore().list(at.store, at.key or None, offset=last):
                yield from (entry["path"] for entry in batch)
                last, tries = batch[-1]["path"], 0
            return
        except Exception as error:
            if not _breaks_off(error) or tries == len(_PAUSES_S):
                raise
        time.sleep(_PAUSES_S[tries])
        tries += 1


def _again(ask: Callable[[], _T]) -> _T:
    """The answer to a request that may be repeated, and is where the answer breaks off."""
    for pause_s in _PAUSES_S:
        try:
            return ask()
        except Exception as error:
            if not _breaks_off(error):
                raise
        time.sleep(pause_s)
    return ask()


def _breaks_off(error: Exception) -> bool:
    is_generic = type(error).__name__ == "GenericError"
    return (is_generic and bool(_BROKEN_OFF.search(str(error)))) or _COMPLETED in str(error)


class _Upload:
    """An object that is being written: to memory, a large one to a temporary file, so that it can be sent again."""

    def __init__(self, path: str) -> None:
        self._path, self._at = path, _place(path)
        self._data: Any = tempfile.SpooledTemporaryFile(_PART)  # noqa: SIM115 - it lives until `close` or `discard`

    def write(self, data: Any) -> int:
        return len(data) if self._data.closed else int(self._data.write(data))

    def flush(self) -> None:
        """Does nothing: an object appears when it is closed."""

    def close(self) -> None:
        if not self._data.closed:
            with self._data, _naming(self._path, "write"):
                _again(self._send)

    def discard(self) -> None:
        """No object appears."""
        self._data.close()

    def _send(self) -> None:
        self._data.seek(0)
        _obstore().put(self._at.store, self._at.key, self._data, chunk_size=_PART, max_concurrency=_PARTS_AT_ONCE)


class _Place(NamedTuple):
    store: Any
    key: str


def _place(path: str) -> _Place:
    found = _URL.match(path)
    if not found or not found[2]:
        raise CrawlDirError(f"{path} names no bucket; give a path such as s3://bucket/crawl")
    with _naming(path, "read"):
        return _Place(_store(found[1], found[2]), found[3].strip("/"))


@functools.cache
def _store(scheme: str, bucket: str) -> Any:
    """The client of a bucket, with the environment as it is at the first use."""
    _obstore(scheme)
    from obstore import store

    if scheme == "s3":
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        at: Any = {"endpoint": endpoint} if endpoint else {}
        return store.S3Store(bucket, **at, client_options=_client(endpoint), retry_config=cast(Any, _RETRIES))
    endpoint = os.environ.get("STORAGE_EMULATOR_HOST")
    if endpoint and "://" not in endpoint:
        endpoint = f"http://{endpoint}"
    any_ = {"token": "emulator", "expires_at": None}  # without credentials obstore asks for those of the machine
    at = {"base_url": endpoint.rstrip("/"), "credential_provider": lambda: any_} if endpoint else {}
    return store.GCSStore(bucket, **at, client_options=_client(endpoint), retry_config=cast(Any, _RETRIES))


def _client(endpoint: str | None) -> Any:
    is_plain = bool(endpoint and endpoint.startswith("http://"))
    return {"timeout": timedelta(seconds=30), "connect_timeout": timedelta(seconds=5), "allow_http": is_plain}


def _obstore(scheme: str = "s3") -> Any:
    try:
        import obstore
    except ModuleNotFoundError as error:
        extra = _EXTRA[scheme]
        raise CrawlDirError(
            f"{scheme}:// needs the package obstore: pip install 'beamtrawl[{extra}]', here and on all workers"
        ) from error
    return obstore


def _tag(meta: Mapping[str, Any]) -> Tag:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}


@contextlib.contextmanager
def _naming(path: str, action: str) -> Iterator[None]:
    """Converts errors of the store: FileNotFoundError, FileExistsError for a condition that fails, else StoreError."""
    try:
        yield
    except (StoreError, FileExistsError):
        raise
    except Exception as error:
        text = str(error)
        if type(error).__name__ in ("AlreadyExistsError", "PreconditionError") and "NoSuchBucket" not in text:
            raise FileExistsError(path) from error
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in text:
            raise FileNotFoundError(f"{path} does not exist") from error
        if not type(error).__module__.startswith("obstore") and not isinstance(error, OSError):
            raise
        raise StoreError(f"cannot {action} {path}: {reason(path, text)}") from error


def reason(path: str, text: str) -> str:
    """The reason of a failed request, and the way out, in one line."""
    scheme = path.partition(":")[0]
    bucket = "/".join(path.split("/")[:3])
    code = re.search(r"<Code>(\w+)</Code>", text)
    status = re.search(r"status code: (\d+ [\w ]+)", text)
    if code and code[1] == "NoSuchBucket":
        return f"there is no bucket {bucket}; create it, or name another one"
    if re.search(r"/latest/|169\.254\.169\.254|computeMetadata|Missing ?(AccessKeyId|SecretAccessKey)", text):
        return f"there are no credentials; {_CREDENTIALS[scheme]} (docs/stores.md)"
    if status and status[1][:3] in ("401", "403"):
        return f"the store refused the credentials ({code[1] if code else status[1]}); {_CREDENTIALS[scheme]}"
    if "error sending request" in text or "timed out" in text:
        where = re.search(r"https?://[^/ ]+", text)
        return f"{where[0] if where else 'the store'} does not answer; run the command again, what is committed is safe"
    return " ".join(text.split("Debug source", maxsplit=1)[0].split())[:300]
