"""The identity of a user's robot, kept outside of crawls: in a file of the user, or in environment variables."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...transforms.settings import Settings, SettingsError, override

NAMES = ("name", "contact", "info_url")
"""The settings of [robot] that are kept for a user."""


class Kept(NamedTuple):
    """Settings with the identity that is kept for the user, and a line that says so; empty if none was used."""

    settings: Settings
    line: str


def with_identity(settings: Settings, environment: Mapping[str, str] = os.environ) -> Kept:
    """Fill in what the settings lack of the robot's identity.

    It is in BEAMTRAWL_ROBOT_NAME, BEAMTRAWL_ROBOT_CONTACT and BEAMTRAWL_ROBOT_INFO_URL, or under the same names as in
    [robot] in ~/.config/beamtrawl/robot.toml ($XDG_CONFIG_HOME). SettingsError for a file that cannot be used.
    """
    if any(getattr(settings.robot, name) for name in NAMES):  # an identity is not mixed from two places
        return Kept(settings, "")
    found, where = {name: environment.get(f"BEAMTRAWL_ROBOT_{name.upper()}", "") for name in NAMES}, "BEAMTRAWL_ROBOT_…"
    if not any(found.values()):
        home = Path(environment.get("HOME", "~")) / ".config"
        path = Path(environment.get("XDG_CONFIG_HOME") or home) / "beamtrawl" / "robot.toml"
        found, where = _read(path), str(path)
    given = {f"robot.{name}": value for name, value in found.items() if value}
    if not given:
        return Kept(settings, "")
    try:
        shown = ", ".join(f"{name} {value}" for name, value in found.items() if value)
        return Kept(override(settings, given), f"the robot's identity is that of {where}: {shown}")
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    values = values.get("robot", values)
    if unknown := sorted(set(values) - set(NAMES)):
        raise SettingsError(f"{path}: {unknown[0]}: unknown key; it has {', '.join(NAMES)}")
    return dict(values)
