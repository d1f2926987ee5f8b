"""Pictures and films of runs, without a screen."""

from pliant.render.film import render

__all__ = ["render"]
