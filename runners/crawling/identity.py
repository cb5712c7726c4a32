"""The identity of a user's robot, kept outside of crawls, in a file of the user."""

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

    It is under the same names as in [robot] in ~/.config/beamtrawl/robot.toml ($XDG_CONFIG_HOME). SettingsError for a
    file that cannot be used.
    """
    if any(getattr(settings.robot, name) for name in NAMES):  # an identity is not mixed from two places
        return Kept(settings, "")
    home = Path(environment.get("HOME", "~")) / ".config"
    path = Path(environment.get("XDG_CONFIG_HOME") or home) / "beamtrawl" / "robot.toml"
    identity = _read(path)
    given = {f"robot.{name}": value for name, value in identity.items() if value}
    if not given:
        return Kept(settings, "")
    try:
        shown = ", ".join(f"{name} {value}" for name, value in identity.items() if value)
        return Kept(override(settings, given), f"the robot's identity is that of {path}: {shown}")
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


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
