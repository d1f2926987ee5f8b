"""The command `pliant replay`."""

from __future__ import annotations

import argparse
import json
import sys

from pliant.errors import PliantError


def add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = commands.add_parser(
        "replay",
        help="solve a saved step again, and say what is hard about it",
        description="Print of a step that StepProblem.save or pliant run has written its size, its conditioning, what "
        "each formulation makes of it, and the likely cause of what is not well. The exit status is 0 if Coulomb(), "
        "the default, solves it, else 1.",
    )
    replay.add_argument("file", metavar="FILE", help="a saved step, such as scene.run.failed-step")
    replay.add_argument("--json", action="store_true", help="the same as JSON")


def run_replay(given: argparse.Namespace) -> int:
    """Replay, print; the exit status."""
    try:
        from pliant.replay import replay_file

        found = replay_file(given.file)
    except OSError as error:
        why = f"{error.strerror}; give a file that StepProblem.save has written"
        print(f"pliant replay: cannot read {given.file}: {why}", file=sys.stderr)
        return 1
    except PliantError as error:
        print(f"pliant replay: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found.plain(), indent=2) if given.json else found)
    return 0 if found.solved else 1
