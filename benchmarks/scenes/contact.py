"""Scenes of contact as MJCF, for benchmarks: those of the studies, which the installed package needs as well."""

from pliant.studies.scenes import HARD, PINCH_CONTROL, incline, pinch, stack

__all__ = ["HARD", "PINCH_CONTROL", "incline", "pinch", "stack"]
