"""The command `pliant`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from pliant._version import __version__
from pliant.cli_bench import add_bench, run_bench
from pliant.cli_doctor import add_doctor, run_doctor
from pliant.cli_plot import add_plot, run_plot
from pliant.cli_render import add_render, run_render
from pliant.cli_replay import add_replay, run_replay
from pliant.cli_run import STOPPED, add_run, run_model
from pliant.cli_view import add_view, run_view
from pliant.errors import PliantError
from pliant.interrupts import Interrupts
from pliant.studies import STUDIES

PICTURE = "pliant-demo.png"
FOLDER = "pliant-studies"
UNREAD = 141  # what shells give a command whose output nobody reads any more
CLAIMS = "claims of the paper, by its own scheme:"  # a "no" is not a failure of ours


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    try:
        try:
            return _obey(arguments)
        finally:
            print(end="", flush=True)
    except BrokenPipeError:  # who reads, such as `head`, has enough; Python flushes once more, and would say so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD


def _obey(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 0
    try:
        with Interrupts() as interrupts:  # also while a command imports what it needs
            interrupts.check()
            return _run(given)
    except KeyboardInterrupt:  # where a command has nothing of its own to say
        print(f"pliant {given.command}: stopped", file=sys.stderr)
        return STOPPED


def _run(given: argparse.Namespace) -> int:
    if given.command == "doctor":
        return run_doctor(given)
    if given.command == "reproduce":
        return _reproduce(given.studies, given.out, given.quick)
    if given.command == "bench":
        return run_bench(given)
    if given.command == "render":
        return run_render(given)
    if given.command == "replay":
        return run_replay(given)
    if given.command == "plot":
        return run_plot(given)
    if given.command == "run":
        return run_model(given)
    if given.command == "view":
        return run_view(given)
    return _demo(given.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pliant",
        description="Constraint forces of multibody systems over one time step, implicit in the constraints.",
        epilog="Start with `pliant demo`. From Python: `import pliant; help(pliant.solve)`.",
    )
    parser.add_argument("--version", action="version", version=f"pliant {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="solve two small steps, print answers and certificates, draw a picture",
        description="Solve a beam on three springs and a block on a ramp; print the forces and how far they "
        "are from the laws; draw both (needs Matplotlib).",
    )
    demo.add_argument("--out", metavar="FILE", help=f"where the picture goes, .png, .pdf or .svg (default: {PICTURE})")
    add_doctor(commands)
    reproduce = commands.add_parser(
        "reproduce",
        help="run the paper's experiments and one of ours, write their results and pictures",
        description="Run studies, of the paper and of ours (all, if none is named): DIR/report.html, one page "
        "with every claim, figure and table beside ours; DIR/STUDY.json with results, the parameters among them, and "
        "versions; pictures (needs Matplotlib). The report has the studies as well that lie in DIR from before. "
        "Ctrl-C stops it, with exit status 130: studies that are finished are kept, no "
        "report is written.",
    )
    reproduce.add_argument("studies", nargs="*", metavar="STUDY", help=f"any of: {', '.join(STUDIES)}")
    reproduce.add_argument("--out", default=FOLDER, metavar="DIR", help=f"where the files go (default: {FOLDER})")
    reproduce.add_argument(
        "--quick",
        action="store_true",
        help="shorter runs, in half a minute in place of one to two; the report says what they leave out",
    )
    add_bench(commands)
    add_run(commands)
    add_plot(commands)
    add_render(commands)
    add_replay(commands)
    add_view(commands)
    return parser


def _reproduce(names: Sequence[str], out: str, quick: bool) -> int:
    from tqdm import tqdm

    from pliant.studies.study import reproduce

    done: list[str] = []
    # a bar that is written over is for people who watch: a pipe gets the files only
    look = "{n_fmt}/{total_fmt} {bar:24} {elapsed} {desc}"
    total = len(names) or len(STUDIES)
    with tqdm(total=total, bar_format=look, leave=False, disable=not sys.stderr.isatty()) as bar:
        try:
            for name, files, claims in reproduce(names, out, quick=quick, progress=bar.set_description_str):
                done.append(name)
                bar.update(name in STUDIES)
                bar.clear()
                _say(name, claims)
                print("\n".join(map(str, files)), flush=True)
        except (PliantError, OSError, ImportError) as error:
            bar.close()
            print(f"pliant reproduce: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            bar.close()
            print(f"pliant reproduce: stopped; finished: {', '.join(done) or 'none'}", file=sys.stderr)
            return STOPPED
    return 0


def _say(name: str, claims: Sequence[dict[str, Any]]) -> None:
    """The claims of a study, those of the paper first."""
    for head, ours in ((CLAIMS, False), ("not in the paper:", True)):
        its = [claim for claim in claims if bool(claim.get("ours")) == ours]
        if its:
            print(f"{name}: {head}")
        for claim in its:
            print(f"  {claim['paper']}: {claim['holds']}; {claim['measured']}")


def _demo(out: str | None) -> int:
    from pliant.demo import report

    print(report(), flush=True)
    return _draw(out or PICTURE, asked=out is not None)


def _draw(path: str, *, asked: bool) -> int:
    """Save the picture. Without Matplotlib that is a failure only if a picture was asked for."""
    from pliant.plot import demo_figure

    try:
        figure = demo_figure()
    except ImportError as error:
        print(f"\npliant demo: no picture: {error}", file=sys.stderr)
        return 1 if asked else 0
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:  # no such folder, no such format
        print(f"\npliant demo: cannot write the picture {path}: {error}", file=sys.stderr)
        return 1
    print(f"\npicture: {path}")
    return 0
