"""What is said when an object store cannot be used: one line with the value and the way out."""

import os
import subprocess
import sys

import pytest

from beamtrawl.transforms.files.object_store import is_object, reason
from tests.support.tables import each_row

# path, what the store's client says; the reason
REASONS = {
    "no bucket": (
        "s3://b/crawl/x",
        "Generic S3 error: status code: 404 Not Found: <Error><Code>NoSuchBucket</Code></Error>",
        "there is no bucket s3://b; create it, or name another one",
    ),
    "no credentials, and no role of the machine": (
        "s3://b/x",
        "Error performing PUT http://127.0.0.1:1/latest/api/token in 1s - HTTP error: error sending request",
        "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (docs/stores.md)",
    ),
    "half of the credentials": (
        "s3://b/x",
        "Generic S3 error: Missing AccessKeyId",
        "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (docs/stores.md)",
    ),
    "a key file that is not there": (
        "gs://b/x",
        "Generic GCS error: Unable to open service account file from /none: No such file\n\nDebug source:\nGeneric {",
        "Generic GCS error: Unable to open service account file from /none: No such file",
    ),
    "credentials of another": (
        "s3://b/x",
        "status code: 403 Forbidden: <Error><Code>InvalidAccessKeyId</Code></Error>",
        "the store refused the credentials (InvalidAccessKeyId); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    "nobody listens": (
        "gs://b/x",
        "Error performing GET http://127.0.0.1:1/b/x in 1s, after 7 retries - HTTP error: error sending request",
        "http://127.0.0.1:1 does not answer; run the command again, what is committed is safe",
    ),
    "anything else": ("s3://b/x", "Generic S3 error:\n odd\n\nDebug source:\nGeneric {}", "Generic S3 error: odd"),
}


@each_row(REASONS)
def test_reasons(path: str, text: str, expected: str) -> None:
    assert reason(path, text) == expected


def test_paths() -> None:
    assert [is_object(path) for path in ("s3://b/x", "gs://b", "hdfs://h/x", "/s3://b", "s3a://b/x")] == [
        True,
        True,
        False,
        False,
        False,
    ]


# directory, what is missing; the line
COMMANDS = {
    "the extra for s3": ("s3://b/x", "obstore", "s3:// needs the package obstore: pip install 'beamtrawl[s3]'"),
    "the extra for gs": ("gs://b/x", "obstore", "gs:// needs the package obstore: pip install 'beamtrawl[gcs]'"),
    "a bucket": ("s3:///x", "", "s3:///x/manifests names no bucket; give a path such as s3://bucket/crawl"),
    "credentials of S3": pytest.param(
        "s3://b/x", "", "there are no credentials; set AWS_ACCESS_KEY_ID", marks=pytest.mark.slow("object stores")
    ),
    "credentials of Google": ("gs://b/x", "", "cannot read gs://b/x/manifests: Generic GCS error: Unable to open"),
}


@pytest.mark.parametrize(("directory", "missing", "line"), COMMANDS.values(), ids=COMMANDS.keys())
def test_one_line_says_what_is_missing(directory: str, missing: str, line: str) -> None:
    """No request leaves this machine: where the role of the machine is asked for, nothing listens."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STORAGE_"))}
    environment |= {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:1", "GOOGLE_APPLICATION_CREDENTIALS": "/none.json"}
    program = (
        "import sys; [sys.modules.__setitem__(name, None) for name in sys.argv[1].split()];"
        "from beamtrawl.runners.program.main import run; sys.exit(run(sys.argv[2:]))"
    )
    if not missing:
        pytest.importorskip("obstore")
    words = [sys.executable, "-P", "-c", program, missing, "status", directory]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1), ran.stderr
    assert line in ran.stderr
