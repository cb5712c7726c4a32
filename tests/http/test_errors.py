"""What is wrong with this machine is never blamed on a server."""

import errno
import os

import pytest

from beamtrawl.transforms.http.errors import request_error
from beamtrawl.transforms.outcomes import BeamtrawlError, Outcome


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_without_file_descriptors_no_site_has_failed(number: int) -> None:
    with pytest.raises(BeamtrawlError, match=r"^no connection can be opened: Too many open files.*; raise the limit"):
        request_error(OSError(number, os.strerror(number)))


def test_a_refused_connection_is_the_servers() -> None:
    assert request_error(ConnectionRefusedError(errno.ECONNREFUSED, "refused")).outcome is Outcome.CONNECT_ERROR
