"""The recipes of images and clusters agree with the project: files, programs, commands, versions and settings."""

import ast
import re
from collections.abc import Iterator
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from beamtrawl.runners.program import main as program
from tests.support.tables import each_row
from tests.support.workers import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")
PROGRAMS = {each.name for each in entry_points(group="console_scripts") if each.value.startswith("beamtrawl.")}
WORKERS = ["python", "-m", "apache_beam.runners.worker.worker_pool_main"]


class Stage(NamedTuple):
    """A stage of a Dockerfile: its base and its instructions."""

    base: str
    instructions: list[tuple[str, str]]


def stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile; ValueError for an unknown instruction."""
    found: list[Stage] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word not in ("ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"):
            raise ValueError(line)
        if word == "FROM":
            found.append(Stage(rest, []))
        elif found:
            found[-1].instructions.append((word, rest))
    return found


def one(stage: Stage, word: str) -> str:
    (rest,) = [rest for name, rest in stage.instructions if name == word]
    return rest


DOCKERFILE = (IMAGES / "Dockerfile").read_text(encoding="utf-8")
BUILD, IMAGE = stages(DOCKERFILE)


def test_the_build_takes_what_the_sdist_takes_and_its_context_lets_it_through() -> None:
    copied = [name for word, rest in BUILD.instructions if word == "COPY" for name in rest.split()[:-1]]
    assert set(copied) == {*PACKAGES, "setup.py", "pyproject.toml", "constraints.txt"}
    assert all((ROOT / name).exists() for name in copied)
    ignored = (IMAGES / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert ignored[0] == "*"
    assert {name[1:] for name in ignored if name.startswith("!")} == set(copied)


def test_versions_are_pinned_and_python_is_one_that_is_supported() -> None:
    (install,) = [rest for word, rest in BUILD.instructions if word == "RUN" and " install " in rest]
    assert "--constraint constraints.txt" in install
    extras = Requirement("beamtrawl" + re.findall(r'"\.(\[.*\])"', install)[0]).extras
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    declared = ast.literal_eval(re.findall(r"extras_require=(\{.*?\n    \})", SETUP, re.DOTALL)[0])
    for requirement in (Requirement(line) for extra in extras for line in declared[extra]):
        assert f"\n{requirement.name}==" in pinned
    python = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE, re.MULTILINE)[0]
    assert f'"Programming Language :: Python :: {python}"' in SETUP
    assert python in SpecifierSet(re.findall(r'python_requires="(.*?)"', SETUP)[0])
    assert BUILD.base.removesuffix(" AS build") == IMAGE.base  # the environment is that of the same interpreter


def test_the_image_is_unprivileged_and_starts_the_program() -> None:
    user, entry = one(IMAGE, "USER"), ast.literal_eval(one(IMAGE, "ENTRYPOINT"))
    assert int(user.partition(":")[0]) > 0
    assert entry == ["beamtrawl"]
    assert set(entry) <= PROGRAMS
    assert "/opt/beamtrawl/bin:" in one(IMAGE, "ENV")


COMPOSE: dict[str, Any] = yaml.safe_load((IMAGES / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES: list[dict[str, Any]] = list(yaml.safe_load_all((IMAGES / "kubernetes.yaml").read_text(encoding="utf-8")))


def containers(value: Any) -> Iterator[dict[str, Any]]:
    """All containers of a Kubernetes object."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from part if name in ("containers", "initContainers") else containers(part)


CONTAINERS = {each["name"]: each for document in KUBERNETES for each in containers(document)}
WORKER_POOLS = {
    "compose": (COMPOSE["services"]["workers"]["entrypoint"], COMPOSE["services"]["workers"]["command"]),
    "kubernetes": (CONTAINERS["workers"]["command"], CONTAINERS["workers"]["args"]),
}
COMMANDS = {
    "compose crawl": COMPOSE["services"]["crawl"]["command"],
    "compose gateway": COMPOSE["services"]["gateway"]["command"],
    "kubernetes crawl": CONTAINERS["driver"]["args"],
    "kubernetes gateway": CONTAINERS["gateway"]["args"],
}


@each_row(WORKER_POOLS)
def test_a_worker_pool_starts_our_worker(entry: list[str], words: list[str]) -> None:
    assert entry == WORKERS
    executable = Path(dict(word.split("=") for word in words)["--container_executable"])
    assert executable.parent == Path("/opt/beamtrawl/bin")
    assert executable.name in PROGRAMS


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_are_understood(words: list[str]) -> None:
    plain = [re.sub(r"\$\{\w+:[-?](.*?)\}", lambda found: found[1], word) for word in words]
    own = plain[: plain.index("--")] if "--" in plain else plain
    assert program.parser().parse_args(own)


@pytest.mark.parametrize("name", ["compose crawl", "kubernetes crawl"])
def test_the_crawl_uses_the_pool_and_the_job_server(name: str) -> None:
    options = dict(
        word.removeprefix("--").split("=", 1) for word in COMMANDS[name] if word.startswith("--") and "=" in word
    )
    pool = dict(word.split("=") for word in WORKER_POOLS[name.partition(" ")[0]][1])
    assert options["environment_type"] == "EXTERNAL"
    assert options["environment_config"] == f"localhost:{pool['--service_port']}"
    job_server = COMPOSE["services"]["jobserver"]["command"] if "compose" in name else CONTAINERS["jobserver"]["args"]
    assert f"--flink-master={options['flink_master']}" in job_server
    assert f"--job-port={options['job_endpoint'].partition(':')[2]}" in job_server


def test_beam_and_flink_are_those_of_the_project() -> None:
    images = [each["image"] for each in (*COMPOSE["services"].values(), *CONTAINERS.values())]
    flink = re.findall(r'"apache-flink-libraries>=([\d.]+),', SETUP)[0]
    assert {image for image in images if "job_server" in image} == {
        f"apache/beam_flink{flink}_job_server:{version('apache-beam')}"
    }
    (cluster,) = [document for document in KUBERNETES if document["kind"] == "FlinkDeployment"]
    assert cluster["spec"]["flinkVersion"] == f"v{flink.replace('.', '_')}"
    assert {image for image in [*images, cluster["spec"]["image"]] if image.startswith("flink:")} == {
        f"flink:{flink}-java17"
    }


SETTINGS = ("taskmanager.network.sort-shuffle.min-buffers", "heartbeat.timeout", "pekko.ask.timeout")


def test_clusters_have_the_settings_that_every_cluster_needs() -> None:
    (cluster,) = [document for document in KUBERNETES if document["kind"] == "FlinkDeployment"]
    composed = yaml.safe_load(COMPOSE["services"]["taskmanager"]["environment"]["FLINK_PROPERTIES"])
    page = (ROOT / "docs" / "flink.md").read_text(encoding="utf-8")
    for name in SETTINGS:
        assert str(composed[name]) == cluster["spec"]["flinkConfiguration"][name]
        assert re.search(rf"^\| `{re.escape(name)}` \| {composed[name]}\b", page, re.MULTILINE), name


def test_only_loopback_is_published() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_an_unknown_instruction_is_noticed() -> None:
    with pytest.raises(ValueError, match="EXPOS 80"):
        stages("FROM a\nEXPOS 80\n")
