"""The command line as Markdown, from the parser itself: what it says cannot differ from what it takes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pliant.cli import _parser


def reference() -> str:
    """A section for each command: its usage, what it does, its options."""
    return "\n".join(line for name, command in commands().items() for line in _section(name, command))


def commands() -> dict[str, argparse.ArgumentParser]:
    """By name, in the order of `pliant --help`."""
    subparsers = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(subparsers.choices)


def _section(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    usage = " ".join(command.format_usage().removeprefix("usage: ").split())
    yield from (f"## pliant {name}", "", _plain(command.description or ""), "", "```text", usage, "```", "")
    options = [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
    if options:
        yield from ("| argument | |", "|---|---|")
        yield from (f"| {_named(action)} | {_plain(action.help or '')} |" for action in options)
    yield ""


def _named(action: argparse.Action) -> str:
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    shown = action.metavar or choices or ("" if action.nargs == 0 else action.dest.upper())
    return f"`{' '.join([*action.option_strings[-1:], str(shown)]).strip()}`"


def _plain(text: str) -> str:
    """Without what Markdown would take for marks."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")
