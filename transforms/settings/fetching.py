"""Settings that servers notice: the identity of the crawler, its load and its requests."""

import dataclasses

from .checks import (
    absolute_path,
    additional_header,
    address_range,
    basic_credentials,
    downloader_rule,
    each,
    email_address,
    pinned_address,
    product_token,
    proxy_url,
    web_page,
)
from .fields import setting


@dataclasses.dataclass(frozen=True)
class Robot:
    """The identity that is sent with every request. All three are required, except for crawls of loopback addresses."""

    name: str = setting(
        "", "Product token: sent in User-Agent and matched against User-agent lines of robots.txt.", check=product_token
    )
    contact: str = setting("", "E-mail address that somebody reads: sent in From.", check=email_address)
    info_url: str = setting("", "Page about the robot for webmasters: sent in User-Agent.", check=web_page)
    key: str = setting(
        "",
        "Absolute path of an Ed25519 private key (PEM or JWK) that signs requests.",
        secret=True,
        check=absolute_path,
    )
    sign: str = setting(
        "asked",
        'Requests that are signed with robot.key: to hosts that have "asked" for it by Accept-Signature, or "always".',
        choices=("asked", "always"),
    )


@dataclasses.dataclass(frozen=True)
class Politeness:
    """The load on a host. There is never more than one request to a host at a time."""

    delay: float = setting(
        1.0, "Pause between a response and the next request to the host, in seconds. A longer Crawl-delay is obeyed."
    )
    response_factor: float = setting(
        1.0, "The pause lasts at least this many times as long as the last response took. 0: fixed pause."
    )
    scope: str = setting(
        "host",
        'Unit of one request at a time: each "host", or all hosts of one "domain" or one IP "address".',
        choices=("host", "domain", "address"),
    )
    shared_delay: float | None = setting(
        None, "Pause between requests to different hosts of one domain or address, in seconds. Unset: delay."
    )
    backoff: float = setting(
        2.0, "Pause after a failure (5xx, 429, timeout, …), in seconds. Doubles with each consecutive failure."
    )
    robots_backoff: float = setting(
        300.0, "Pause if robots.txt cannot be fetched, in seconds. Doubles with each consecutive failure."
    )
    dead_after: int = setting(
        3, "Number of consecutive failures without a response that mark a host as dead.", positive=True
    )
    dead_backoff: float = setting(
        600.0,
        "Pause for a dead host, in seconds; twice as long without an address, or with a refused one."
        " Doubles with each failure.",
    )
    longest_backoff: float = setting(86_400.0, "Maximum of every pause, in seconds. Also bounds Retry-After.")


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Bounds and network settings of a single request."""

    connect_timeout: float = setting(10.0, "Maximum time to connect, in seconds.", positive=True)
    read_timeout: float = setting(20.0, "Maximum time without receiving a byte, in seconds.", positive=True)
    total_timeout: float = setting(60.0, "Maximum time for a whole request, in seconds.", positive=True)
    min_rate: int = setting(
        100, "Minimum transfer rate, in bytes per second over read_timeout. A slower response is abandoned."
    )
    max_header_bytes: int = setting(65_536, "Maximum size of the response header, in bytes.", positive=True)
    max_body_bytes: int = setting(
        10_485_760,
        "Maximum size of a decompressed body, in bytes. A longer one is cut and marked as truncated.",
        positive=True,
    )
    allow_addresses: list[str] = setting(
        [],
        'Special-purpose IP ranges (loopback, private, link-local, …) to permit, in CIDR form: "10.0.0.0/8".',
        check=each(address_range),
    )
    connections: int = setting(
        64, "Maximum number of hosts that one worker fetches from at the same time.", positive=True
    )
    resolve: list[str] = setting(
        [], 'Fixed addresses of host names, as "NAME:PORT:ADDRESS" (like curl --resolve).', check=each(pinned_address)
    )
    lookups_per_second: float = setting(50.0, "Maximum number of DNS lookups per second and worker.", positive=True)
    verify_tls: bool = setting(True, "Whether TLS certificates are verified. Set to false for your own servers only.")
    requisites: bool = setting(
        False,
        "Whether the stylesheets, scripts, images, icons and fonts of pages are fetched too, for archives. They are no"
        " documents.",
    )
    client: str = setting(
        "direct",
        'HTTP client: "direct" (http.client) or "requests". Both enforce all bounds.',
        choices=("direct", "requests"),
    )
    downloaders: list[str] = setting(
        [],
        'Downloader plug-ins, as "NAME HOST" or "NAME https:". "render HOST" runs the scripts of pages in a browser.',
        check=each(downloader_rule),
    )
    browser: str = setting("chromium", 'Chromium or Chrome for "render": the name or the path of the program.')
    proxy: str = setting(
        "", 'Proxy for all requests, as "http://[USER:PASSWORD@]HOST:PORT".', secret=True, check=proxy_url
    )
    headers: list[str] = setting(
        [], 'Additional headers, as "Name: value" or "HOST Name: value".', secret=True, check=each(additional_header)
    )
    credentials: list[str] = setting(
        [],
        'Basic credentials, as "HOST[:PORT] USER:PASSWORD". For http: "http://HOST …".',
        secret=True,
        check=each(basic_credentials),
    )
