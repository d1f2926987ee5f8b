"""The command `pliant doctor`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from pliant.checkup import Check
from pliant.doctor import examine


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="look whether this installation is well, and say what to do if not",
        description="Print versions, how the engine was built, whether MuJoCo is the one that it was built with, "
        "and how a first solve and a first step go. The exit status is 1 if something is wrong.",
    )
    doctor.add_argument("--json", action="store_true", help="the same as JSON")


def run_doctor(given: argparse.Namespace) -> int:
    """Examine, print; the exit status."""
    checks = []
    for check in examine():
        checks.append(check)
        if not given.json:  # line by line: some take a while
            print(_line(check), flush=True)
    well = all(check.ok for check in checks)
    print(json.dumps({"ok": well, "checks": [asdict(c) for c in checks]}, indent=2) if given.json else _end(checks))
    return 0 if well else 1


def _line(check: Check) -> str:
    return f"{check.name:14s}{' ' if check.ok else '!'} {check.text}"


def _end(checks: list[Check]) -> str:
    """Verdict and remedies."""
    if all(check.ok for check in checks):
        return "\nall well"
    causes = [check for check in checks if check.remedy]
    return "\n".join(["\nwhat is wrong:", *(f"{k}. {c.name}: {c.remedy}" for k, c in enumerate(causes, 1))])
