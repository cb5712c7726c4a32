"""The control groups of this process."""

from pathlib import Path


def folders(cgroups: Path, own: str, controller: str) -> list[Path]:
    """Return the folders of a controller for the process's group and those above it; `own` is its /proc/self/cgroup.

    In a container, the topmost is its own.
    """
    found = {cgroups, cgroups / controller}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            folder = cgroups / controller if controllers else cgroups
            for part in Path(path).parts[1:]:
                folder = folder / part
                found.add(folder)
    return sorted(found)


def text(path: Path) -> str:
    """Return what a file of the kernel says; empty if there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""
