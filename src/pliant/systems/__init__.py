"""Where problems come from: systems written by hand, and models that MuJoCo reads."""

from pliant.systems.protocol import System

__all__ = ["System"]
