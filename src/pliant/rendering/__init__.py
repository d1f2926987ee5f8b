"""Pictures and films of runs, without a screen."""

from pliant.rendering.film import render

__all__ = ["render"]
