"""Where numbers come from: the machine, and the versions of what was raced."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from pliant.record import package_versions

PEERS: Final = ("mujoco", "drake", "scikit-sundae", "gymnasium", "dm-control", "example-robot-data", "matplotlib")


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, and system."""
    return {"processor": _processor(), "cores": cores(), "system": f"{platform.system()} {platform.machine()}"}


def said() -> str:
    """The machine in a line."""
    found = machine()
    return f"{found['processor'] or 'unknown processor'}, {found['cores']} cores, {found['system']}"


def cores() -> int:
    """That this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def versions() -> dict[str, str]:
    """Of Python, pliant and what it stands on, and of the peers."""
    found = {"python": platform.python_version(), **package_versions()}
    for package in PEERS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
