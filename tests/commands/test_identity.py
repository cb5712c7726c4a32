"""The robot's identity that is kept for a user."""

from pathlib import Path

import pytest

from beamtrawl.runners.crawling.identity import with_identity
from beamtrawl.transforms.settings import Settings, SettingsError, override
from tests.support.command_line import LOOPBACK, in_one_process

FILE = "name = 'MyBot'\ncontact = 'me@example.org'\ninfo_url = 'https://example.org/mybot'\n"


def test_it_is_read_from_the_file_and_never_mixed(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert with_identity(Settings(), home) == (Settings(), "")
    path = tmp_path / ".config" / "beamtrawl" / "robot.toml"
    path.parent.mkdir(parents=True)
    path.write_text(FILE)
    settings, line = with_identity(Settings(), home)
    assert (settings.robot.name, settings.robot.contact) == ("MyBot", "me@example.org")
    assert line.startswith(f"the robot's identity is that of {path}: name MyBot, ")
    own = override(Settings(), {"robot.name": "Own"})
    assert with_identity(own, home) == (own, "")
    path.write_text("nam = 'x'")
    with pytest.raises(SettingsError, match="nam: unknown key; it has name, contact, info_url"):
        with_identity(Settings(), home)


@pytest.mark.slow("whole crawls")
def test_a_crawl_uses_it_says_so_and_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "beamtrawl" / "robot.toml"
    path.parent.mkdir()
    path.write_text(f"[robot]\n{FILE}")
    words = ["crawl", tmp_path / "c", "--seed", "http://nowhere.invalid/", "--rounds", 1, *LOOPBACK]
    (ran,) = in_one_process([words], {"XDG_CONFIG_HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert (ran.code, f"the robot's identity is that of {path}" in ran.err) == (4, True), ran.err
    assert 'name = "MyBot"' in (tmp_path / "c" / "crawl.toml").read_text()
