"""Renders the information page that `robot.info_url` should lead to: one HTML file, without requests to anything."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ....transforms.http.request_headers import Identity
from ....transforms.settings import Documents, Fetch, Politeness, Recrawl, Robot


def facts(
    robot: Robot,
    politeness: Politeness,
    fetch: Fetch,
    documents: Documents,
    recrawl: Recrawl,
    addresses: Sequence[str],
) -> dict[str, Any]:
    """What the page says, as values. `addresses` are those that the robot's requests come from, or none."""
    identity = Identity.of(robot)
    return {
        "name": identity.token,
        "user_agent": identity.user_agent,
        "contact": robot.contact,
        "info_url": robot.info_url,
        "delay": f"{politeness.delay:g}",
        "waits_as_long": politeness.response_factor > 0,
        "addresses": list(addresses),
        "revisits": recrawl.is_on,
        "kinds": list(documents.kinds),
        "max_megabytes": f"{fetch.max_body_bytes / 1e6:.0f}",
    }


def render_policy(facts: Mapping[str, Any]) -> str:
    """The page as HTML, from its `facts`."""
    loader = PackageLoader("beamtrawl.runners.commands.blocking")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("policy.html").render(facts)
