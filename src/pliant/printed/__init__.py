"""The programs that the paper prints, its slips of the pen corrected, for comparison; solved by Clarabel."""

from pliant.printed.options import Printed
from pliant.printed.solve import solve_printed

__all__ = ["Printed", "solve_printed"]
