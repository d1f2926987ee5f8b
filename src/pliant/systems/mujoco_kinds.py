"""Numbers that stand for kinds of rows, and for columns of their laws."""

from __future__ import annotations

# mjtConstraint
EQUALITY, FRICTION_DOF, FRICTION_TENDON, LIMIT_JOINT, LIMIT_TENDON, FRICTIONLESS, PYRAMIDAL, ELLIPTIC = range(8)
