"""A scripted web on loopback: any number of hosts, every request recorded.

    with Web({"a.test": {"/": html("Home", links=["http://b.test/"])}, "b.test": {"/": "<p>hi"}}) as web:
        fetch(web.url("a.test"))
        assert [r.path for r in web.requests] == ["/"]

Hosts are named in the script and get an address and a free port when the web starts; `//NAME` in bodies and
header values becomes `//ADDRESS:PORT`, so pages can link across hosts. `web_process.WebProcess` is the same web in a
process of its own, for logs that must be honest about many hosts at once.
"""

import asyncio
import dataclasses
import functools
import itertools
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from html import escape
from http import HTTPStatus


@dataclasses.dataclass(frozen=True)
class Request:
    """One request as the server saw it; times are seconds.

    `started` is taken when the whole request head is there, `ended` just before the last byte of the answer
    is handed to the kernel. So what a client measures between an answer and its next request is never longer
    than what is recorded here, however busy this thread is: a gap that is too short is the client's fault. What a busy
    thread can do is to make a gap look longer, by at most `Web.lag`.
    """

    host: str  # its name in the script
    method: str
    path: str  # the request target, query included
    headers: Mapping[str, str]  # lower-case names
    started: float  # of the monotonic clock, as `ended`
    ended: float
    wall: float  # when it started, since the epoch
    status: int  # 0: the client hung up before it was answered
    connection: int  # requests of one connection share this number
    answered: Mapping[str, str] = dataclasses.field(default_factory=dict)  # headers of the answer, lower-case names


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a page answers; Content-Length is added."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)
    wait: float = 0.0  # seconds between the request and the answer


Page = Answer | str | Callable[[Mapping[str, str]], Answer]
"""An answer, the HTML of one, or a function that gives one from the headers of the request."""


def html(title: str, text: str = "", links: Iterable[str] = (), head: str = "") -> Answer:
    """A small HTML page: a paragraph of text, then a list of links."""
    title, text, *links = (escape(part) for part in (title, text, *links))
    items = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    page = f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1><p>{text}</p><ul>{items}</ul>"
    return Answer(body=page.encode())


def plain(text: str) -> Answer:
    """A text file, such as a robots.txt."""
    return Answer(body=text.encode(), headers=(("Content-Type", "text/plain; charset=utf-8"),))


def redirect(target: str, code: int = 302) -> Answer:
    return Answer(code, headers=(("Location", target),))


def status(code: int, **headers: str) -> Answer:
    """An answer without a body; `Retry_After="5"` gives the header Retry-After."""
    return Answer(code, headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def slow(seconds: float, page: Answer | None = None) -> Answer:
    """The page, some seconds after it was asked for."""
    return dataclasses.replace(page or html("Slow"), wait=seconds)


@dataclasses.dataclass
class Overload:
    """The state of a host that turns clients away for a while, once they have asked so many things.

    Its answers then say when it will be over (Retry-After, rounded up to whole seconds). It happens once.
    """

    after: int  # requests that are answered before
    seconds: float
    code: int = 429
    as_date: bool = False  # the form of Retry-After
    now: Callable[[], float] = time.time  # seconds since the epoch
    asked: int = 0
    over: float = 0.0  # since the epoch; 0: it has not begun

    def answer(self, page: Page, headers: Mapping[str, str]) -> Answer:
        now = self.now()
        self.asked += 1
        if self.asked > self.after and not self.over:
            self.over = now + self.seconds
        if now >= self.over:
            return answer_of(page, headers)
        wait = formatdate(math.ceil(self.over), usegmt=True) if self.as_date else str(math.ceil(self.over - now))
        return status(self.code, Retry_After=wait)


def overloaded(overload: Overload, pages: Mapping[str, Page]) -> dict[str, Page]:
    """The pages of a host, all of which share its trouble."""
    return {path: functools.partial(overload.answer, page) for path, page in pages.items()}


OTHERWISE = "*"
"""The path of a site that stands for all that it does not list."""

NEVER = 1e6  # seconds: nobody waits as long for an answer

MUTE: Mapping[str, Page] = {OTHERWISE: slow(NEVER)}
"""A host that takes requests and never answers."""

CLOSED: Mapping[str, Page] = {}
"""A host with no page at all: nobody listens there, and it refuses connections."""


class Web:
    """Serve `{host name: {path: page}}` over HTTP/1.1 from one thread while the context is open.

    Paths include the query, and may have another method than GET before them: "HEAD /a". Whatever is not listed is a
    404, unless the site has OTHERWISE. Hosts get 127.0.0.1, 127.0.0.2, … in order, or all of them 127.0.0.1
    (`one_address`), or what `addresses` says, each with a port of its own. With `by_name` their URLs hold their names,
    and `pins` says which addresses they stand for. `measures_lag` takes 3 % of a core.
    """

    def __init__(
        self,
        sites: Mapping[str, Mapping[str, Page]],
        one_address: bool = False,
        addresses: Mapping[str, str] | None = None,
        by_name: bool = False,
        measures_lag: bool = False,
    ) -> None:
        # Seconds by which this thread was late, at most: the log's gaps may be too long by that. NaN if not measured.
        self.lag = 0.0 if measures_lag else math.nan
        self.pins: list[str] = []  # NAME:PORT:ADDRESS
        self._sites = sites
        self._one_address = one_address
        self._addresses = addresses or {}
        self._by_name = by_name
        self._authorities: dict[str, str] = {}
        self._closed: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._requests: list[Request] = []
        self._connections = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="web", daemon=True)

    @property
    def requests(self) -> list[Request]:
        """The requests answered so far, in the order of their arrival."""
        return sorted(self._requests, key=lambda request: request.started)

    def authority(self, host: str) -> str:
        """The ADDRESS:PORT of a host."""
        return self._authorities[host]

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{self.authority(host)}{path}"

    def __enter__(self) -> "Web":
        self._loop.run_until_complete(self._listen())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _listen(self) -> None:
        for number, (name, site) in enumerate(self._sites.items()):
            in_order = "127.0.0.1" if self._one_address else f"127.0.{number // 250}.{number % 250 + 1}"
            address = self._addresses.get(name, in_order)
            listener = socket.socket()
            listener.bind((address, 0))
            port = listener.getsockname()[1]
            if site:
                self._servers.append(await asyncio.start_server(functools.partial(self._handle, name), sock=listener))
            else:
                self._closed.append(listener)  # bound, so that nobody else gets the port; it does not listen
            self._authorities[name] = f"{name if self._by_name else address}:{port}"
            self.pins.append(f"{name}:{port}:{address}")
        if not math.isnan(self.lag):
            self._heart = self._loop.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            due = time.monotonic() + _BEAT
            await asyncio.sleep(_BEAT)
            self.lag = max(self.lag, time.monotonic() - due)

    async def _close(self) -> None:
        for listener in self._closed:
            listener.close()
        for server in self._servers:
            server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await asyncio.sleep(0)  # the turn of the loop in which closed transports let go of their sockets

    async def _handle(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until the client hangs up or the web closes."""
        connection = next(self._connections)
        writer.transport.set_write_buffer_limits(0)  # so that drain waits until the kernel has everything
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                started, wall = time.monotonic(), time.time()
                method, path, headers = _parse_head(head)
                site = self._sites[name]
                page = site.get(path, site.get(OTHERWISE, status(404)))
                if method != "GET":
                    page = site.get(f"{method} {path}", page)
                answer = answer_of(page, headers)
                request = Request(name, method, path, headers, started, started, wall, 0, connection)
                await self._reply(request, answer, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _reply(
        self, request: Request, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Write the answer; the request is recorded before the last byte, so who has the answer finds it."""
        try:
            if answer.wait and await _hangs_up(reader, answer.wait):
                raise ConnectionResetError
            payload = self._payload(answer, request.method)
            writer.write(payload[:-1])
            await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            self._requests.append(dataclasses.replace(request, ended=time.monotonic()))
            raise
        answered = {name.lower(): value for name, value in answer.headers}
        self._requests.append(
            dataclasses.replace(request, ended=time.monotonic(), status=answer.status, answered=answered)
        )
        writer.write(payload[-1:])

    def _payload(self, answer: Answer, method: str) -> bytes:
        """The bytes of an answer, with the hosts' real addresses in place of their names."""
        body = self._with_addresses(answer.body)
        fields = [*answer.headers, ("Content-Length", str(len(body)))]
        lines = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}", *(f"{n}: {v}" for n, v in fields)]
        head = self._with_addresses("".join(f"{line}\r\n" for line in lines).encode("latin-1"))
        return head + b"\r\n" + (b"" if method == "HEAD" else body)

    def _with_addresses(self, data: bytes) -> bytes:
        return _NAME.sub(
            lambda match: b"//" + self._authorities.get(match[1].decode(), match[1].decode()).encode(), data
        )


_BEAT = 0.005  # seconds between two looks at how late the thread is
_NAME = re.compile(rb"//([A-Za-z0-9_.-]+)(?![\w.:-])")


def answer_of(page: Page, headers: Mapping[str, str]) -> Answer:
    """What a page answers to a request with these headers."""
    if callable(page):
        page = page(headers)
    return Answer(body=page.encode()) if isinstance(page, str) else page


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, target and headers of a request."""
    request_line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, _version = request_line.split(" ")
    fields = (line.split(":", 1) for line in lines)
    return method, path, {name.lower(): value.strip() for name, value in fields}


async def _hangs_up(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Whether the client closes the connection within the time."""
    try:
        await asyncio.wait_for(reader.read(1), seconds)
    except TimeoutError:
        return False
    return True


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
