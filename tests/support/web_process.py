"""The scripted web in a process of its own: a crawler that is busy with many hosts does not make its log late.

with WebProcess({"a.test": {"/": html("Home")}}) as web:
    fetch(web.url("a.test"))
assert [r.path for r in web.requests] == ["/"]
"""

import multiprocessing
import resource
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from tests.support.web import Page, Request, Web


class WebProcess:
    """What `Web` does and takes, with its lag measured.

    Pages have to be picklable: no lambdas, and their state is that of the process.
    """

    def __init__(self, sites: Mapping[str, Mapping[str, Page]], **options: Any) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would take the threads' locks along
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(sites, options, theirs), name="web", daemon=True)
        self._theirs = theirs
        self._authorities: dict[str, str] = {}
        self.pins: list[str] = []
        self._seen: tuple[list[Request], float] = ([], 0.0)

    def __enter__(self) -> "WebProcess":
        self._process.start()
        self._theirs.close()
        self._authorities, self.pins = self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._pipe.close()
        self._process.join()

    @property
    def requests(self) -> list[Request]:
        """The requests answered so far, in the order of their arrival."""
        return self._look()[0]

    @property
    def lag(self) -> float:
        return self._look()[1]

    def authority(self, host: str) -> str:
        return self._authorities[host]

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{self.authority(host)}{path}"

    def _look(self) -> tuple[list[Request], float]:
        """Requests and lag: those of now, or of the end once it is closed."""
        if not self._pipe.closed:
            self._pipe.send("look")
            self._seen = self._pipe.recv()
        return self._seen


def _serve(sites: Mapping[str, Mapping[str, Page]], options: dict[str, Any], pipe: Connection) -> None:
    """Until the other end of the pipe is closed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a host takes a file for listening, and some to answer
    with Web(sites, measures_lag=True, **options) as web:
        pipe.send(({host: web.authority(host) for host in sites}, web.pins))
        try:
            while pipe.recv():
                pipe.send((web.requests, web.lag))
        except EOFError:
            pass
