"""Renders the information page that `robot.info_url` should lead to: one HTML file, without requests to anything."""

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ...transforms.http.request_headers import Identity
from ...transforms.settings import Settings


def facts(settings: Settings, addresses: Sequence[str]) -> dict[str, Any]:
    """What the page says, as values: all of it follows from the settings."""
    identity, politeness = Identity.of(settings.robot), settings.politeness
    return {
        "name": identity.token,
        "user_agent": identity.user_agent,
        "contact": settings.robot.contact,
        "info_url": settings.robot.info_url,
        "delay": f"{politeness.delay:g}",
        "waits_as_long": politeness.response_factor > 0,
        "addresses": list(addresses),
        "revisits": settings.recrawl.after is not None or settings.recrawl.per_day > 0,
        "kinds": list(settings.documents.kinds),
        "max_megabytes": f"{settings.fetch.max_body_bytes / 1e6:.0f}",
    }


def render_policy(settings: Settings, addresses: Sequence[str]) -> str:
    """The page as HTML. `addresses` are those that the robot's requests come from, or none."""
    loader = PackageLoader("beamtrawl.runners.policy")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("policy.html").render(facts(settings, addresses))
