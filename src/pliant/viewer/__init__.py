"""`pliant view`: a model that is simulated, or a run, in the browser; drawn by mjviser on viser."""

from __future__ import annotations
