"""A window of a real Chromium, for tests of what people see. It gets what it asks for from servers of the test alone.

The browser has no network (`rendering/devtools.py`), so what a page requests from elsewhere is only
recorded.
"""

import base64
import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit

from beamtrawl.transforms.rendering.devtools import Browser, Message

SECONDS = 60.0  # for anything that a page does

_KEYS = {"/": 191, "Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}


class Window:
    """A window that shows the pages of the server at `authority` (ADDRESS:PORT); these may use those of `others`."""

    def __init__(self, authority: str, *others: str, program: str = "chromium") -> None:
        self.requests: list[str] = []  # methods and URLs, also of what was not had
        self.dialogs: list[str] = []
        self._authority = authority
        self._served = {authority, *others}
        self._browser = Browser(program)
        self._loaded = False
        target = self._browser.call(self._ends_at, "Target.createTarget", url="about:blank")["targetId"]
        attached = self._browser.call(self._ends_at, "Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", patterns=[{"urlPattern": "*"}])

    def close(self) -> None:
        self._browser.close()

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, **parameters: Any) -> Message:
        """Give a command of the protocol, and do what the page wants until it is answered."""
        return self._wait_for(self._browser.send(method, self._session, **parameters))

    def open(self, path: str) -> None:
        """Go to a page of the server and wait until it is there."""
        self._loaded = False
        self._browser.send("Page.navigate", self._session, url=f"http://{self._authority}{path}")
        self.settle()

    def settle(self) -> None:
        """Wait for the page that is being loaded."""
        while not self._loaded:
            self._handle(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, or of what it promises. The page's policy does not hold for it."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def follow(self, expression: str) -> None:
        """Evaluate an expression that leads to another page, and wait for that page."""
        self._loaded = False
        self._browser.send("Runtime.evaluate", self._session, expression=expression)
        self.settle()

    def press(self, key: str) -> None:
        """Press and release a key of _KEYS. Enter waits for the page that it leads to."""
        code = _KEYS[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self._loaded = key != "Enter"
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def view(self, width: int, height: int, scheme: str = "light", is_phone: bool = False) -> None:
        """Make the window so large, and light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    @property
    def _ends_at(self) -> float:
        return time.monotonic() + SECONDS

    def _next(self) -> Message:
        message = self._browser.event(self._ends_at)
        assert message, "the browser takes too long"
        return message

    def _wait_for(self, number: int) -> Message:
        while (message := self._next()).get("id") != number:
            self._handle(message)
        assert "error" not in message, message
        result: Message = message["result"]
        return result

    def _handle(self, event: Message) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Fetch.requestPaused":
            self._answer(parameters)
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
            self._browser.send("Page.handleJavaScriptDialog", self._session, accept=False)

    def _answer(self, paused: Message) -> None:
        """Hand a server's answer to the browser, headers and all; nothing from elsewhere."""
        number, request = paused["requestId"], paused["request"]
        self.requests.append(f"{request['method']} {request['url']}")
        parts = urlsplit(request["url"])
        if parts.netloc not in self._served:
            self._browser.send("Fetch.failRequest", self._session, requestId=number, errorReason="Aborted")
            return
        connection = http.client.HTTPConnection(parts.netloc)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(request["method"], target, request.get("postData"), request["headers"])
        response = connection.getresponse()
        self._browser.send(
            "Fetch.fulfillRequest",
            self._session,
            requestId=number,
            responseCode=response.status,
            responseHeaders=[{"name": name, "value": value} for name, value in response.getheaders()],
            body=base64.b64encode(response.read()).decode(),
        )
        connection.close()


def axe(window: Window, script: str) -> list[str]:
    """What axe finds wrong with the page that a window shows: rules, each with the elements that break it."""
    window.evaluate(script)
    found = json.loads(window.evaluate("axe.run().then(result => JSON.stringify(result.violations))"))
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]
