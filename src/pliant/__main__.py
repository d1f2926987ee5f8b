"""`python -m pliant` is the command `pliant`."""

import sys

from pliant.interrupts import Interrupts


def main() -> int:
    """Run the command; returns its exit status."""
    with Interrupts():  # from now on: the imports take a moment
        from pliant.cli import main as command

        return command()


if __name__ == "__main__":
    sys.exit(main())
