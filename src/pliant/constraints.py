"""Rows and the law that governs them: Bilateral, Unilateral, Clipped, Contact.

A constraint is an immutable value. Its rows have a deformation `phi0` at the start of the step, a Jacobian
`G = dphi/dq N` there, and a rate at the end `phidot1 = G v1 + e`; the law turns that rate into a force
`lambda` [N], or [N m] for rows that measure angles, which enters the momentum balance as `h G' lambda`.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pliant.constraint_checks import check_bounds, check_law, check_tangents, contact_shape, label_of
from pliant.flat import BILATERAL, CLIPPED, NORMAL, UNILATERAL
from pliant.inputs import (
    Array,
    Ints,
    Matrix,
    check_at_least,
    matrix,
    over_contact_rows,
    over_rows,
    over_tangents,
    row_ids,
    text,
    vector,
)
from pliant.laws import Law, spread


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Constraint:
    """What every kind has; not built directly.

    jacobian     (n, nv) or (n, d, nv), or sparse with rows stacked
    law          the law of the rows (of the normals)
    rate_offset  e [m/s], (n,) or (n, d)
    name         for messages, and to find the constraint again in the next step
    curvature    Gdot v0 per row [m/s^2], (n,) or (n, d), or None
    ids          (n,) distinct integers that name the rows (contacts) from one step to the next
    """

    jacobian: Matrix
    law: Law
    rate_offset: Array
    name: str
    curvature: Array | None
    ids: Ints
    kind: ClassVar[int]  # of its first rows in the flat record

    @property
    def count(self) -> int:
        """n: rows of a scalar kind, contacts of Contact."""
        return len(self.ids)

    @property
    def dimension(self) -> int:
        """d: rows per item, 1 for the scalar kinds."""
        return 1

    @property
    def rows(self) -> int:
        """n d: rows in all."""
        return self.count * self.dimension

    @property
    def nv(self) -> int:
        """Number of velocities, the columns of the Jacobian."""
        return int(self.jacobian.shape[-1])

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return label_of(type(self).__name__, self.name)

    def with_rate_offset(self, rate_offset: Array) -> Self:
        """A copy with other offsets of the rate, shaped as its own."""
        changed = copy(self)
        changed.__dict__.update(rate_offset=rate_offset)
        return changed

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"{type(self).__name__}({name}{self._summary()})"

    def _summary(self) -> str:
        return f"n={self.count}, nv={self.nv}, {self.law!r}"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ScalarConstraint(Constraint):
    """Rows that each carry one force, independent of the others; not built directly.

    value        phi0 [m] or [rad], (n,)
    """

    value: Array
    allows_power: ClassVar[bool] = False

    def __init__(
        self,
        jacobian: Any,
        value: Any,
        law: Law,
        *,
        rate_offset: Any = 0.0,
        name: str = "",
        curvature: Any = None,
        ids: Any = None,
    ) -> None:
        kind = type(self).__name__
        label = label_of(kind, text(f"{kind}: name", name))
        G = matrix(f"{label}: jacobian", jacobian, 2, "(n, nv)")
        n = G.shape[0]
        check_law(f"{label}: law", law, n, allows_power=self.allows_power)
        self.__dict__.update(
            jacobian=G,
            value=vector(f"{label}: value", value, n, f"one per row of the jacobian ({n},)"),
            law=law,
            rate_offset=over_rows(f"{label}: rate_offset", rate_offset, n),
            name=name,
            curvature=None if curvature is None else over_rows(f"{label}: curvature", curvature, n),
            ids=row_ids(f"{label}: ids", ids, n),
        )


class Bilateral(ScalarConstraint):
    """`lambda = -K phi0 - S phidot1`: joints in absolute coordinates, welds, loop closures.

    jacobian (n, nv), dense or sparse; value (n,) phi0 [m]; law linear; rate_offset e [m/s], scalar or (n,).
    """

    kind: ClassVar[int] = BILATERAL


class Unilateral(ScalarConstraint):
    """`lambda = max(0, c - S phidot1)`, `c = -K phi0 - (B/h) max(phi0, 0)`: limits, frictionless contact.

    jacobian (n, nv), dense or sparse; value (n,) phi0 [m], negative when pressed in; law linear or power;
    rate_offset e [m/s], scalar or (n,).
    """

    kind: ClassVar[int] = UNILATERAL
    allows_power: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Clipped(ScalarConstraint):
    """`lambda = clip(-K phi0 - S phidot1, lower, upper)`: motors with limits, servos, dry joint friction.

    jacobian (n, nv), dense or sparse; value (n,) phi0 [m]; law linear; lower <= upper [N], scalar or (n,),
    may be infinite, and 0 need not lie between them; rate_offset e [m/s], scalar or (n,).
    """

    lower: Array
    upper: Array
    kind: ClassVar[int] = CLIPPED

    def __init__(
        self,
        jacobian: Any,
        value: Any,
        law: Law,
        lower: Any,
        upper: Any,
        *,
        rate_offset: Any = 0.0,
        name: str = "",
        curvature: Any = None,
        ids: Any = None,
    ) -> None:
        super().__init__(jacobian, value, law, rate_offset=rate_offset, name=name, curvature=curvature, ids=ids)
        n = len(self.ids)
        low = over_rows(f"{self.label}: lower", lower, n, infinite=True)
        high = over_rows(f"{self.label}: upper", upper, n, infinite=True)
        ordered = type(lower) is float and type(upper) is float and -math.inf <= lower <= upper <= math.inf
        if not ordered or lower == math.inf or upper == -math.inf:
            check_bounds(self.label, low, high)
        self.__dict__.update(lower=low, upper=high)

    def _summary(self) -> str:
        return f"{Constraint._summary(self)}, lower={spread(self.lower)}, upper={spread(self.upper)}"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Contact(Constraint):
    """n contacts with Coulomb friction, each of d rows: the normal, then d-1 tangents.

    The normal carries the force of a Unilateral row. The tangents stay in the ellipse
    `E = {sum (lambda_k / mu_k)^2 <= lambda_n^2}` with `-(v_t1 + (lambda_t + K_t phi_t0) / S_t)` in the normal
    cone of E at `lambda_t`: stick inside, slip on the rim.

    jacobian     (n, d, nv) dense, or sparse (n d, nv) with rows stacked; d = 2 planar, 3 spatial, 4 with
                 torsion, 6 with rolling; row 0 the normal, the gap growing along it
    gap          phi0 [m], (n,), negative when pressed in
    law          law of the normals, linear or power
    friction     mu >= 0: scalar, (n,) or (n, d-1); sliding [-], torsion and rolling [m]
    tangent_law  None: no tangential compliance; else a linear Law, scalar, (n,) or (n, d-1); where its
                 stiffness and damping are both 0 there is no friction force
    stretch      phi_t0 [m], scalar or (n, d-1): tangential deformation, for a tangent_law with stiffness
    rate_offset  e [m/s]: scalar or (n,) on the normal, or (n, d)

    A sparse jacobian of no rows tells no d: it is read from friction or stretch of shape (0, d-1), else 3.
    """

    gap: Array
    friction: Array
    tangent_law: Law | None
    stretch: Array
    kind: ClassVar[int] = NORMAL

    def __init__(
        self,
        jacobian: Any,
        gap: Any,
        law: Law,
        friction: Any,
        *,
        tangent_law: Law | None = None,
        stretch: Any = 0.0,
        rate_offset: Any = 0.0,
        name: str = "",
        curvature: Any = None,
        ids: Any = None,
    ) -> None:
        label = label_of("Contact", text("Contact: name", name))
        G = matrix(f"{label}: jacobian", jacobian, 3, "(n, d, nv), or sparse (n d, nv)")
        n, d = contact_shape(label, G, gap, friction, stretch)
        mu = over_tangents(f"{label}: friction", friction, n, d - 1)
        if type(friction) is not float or friction < 0.0:
            check_at_least(f"{label}: friction", mu, 0.0)
        check_law(f"{label}: law", law, n, allows_power=True)
        phi_t = over_tangents(f"{label}: stretch", stretch, n, d - 1)
        if tangent_law is not None or type(stretch) is not float or stretch != 0.0:
            check_tangents(label, tangent_law, phi_t)
        self.__dict__.update(
            jacobian=G,
            gap=vector(f"{label}: gap", gap, n, f"one per contact of the jacobian ({n},)"),
            law=law,
            friction=mu,
            tangent_law=tangent_law,
            stretch=phi_t,
            rate_offset=over_contact_rows(f"{label}: rate_offset", rate_offset, n, d),
            name=name,
            curvature=None if curvature is None else over_contact_rows(f"{label}: curvature", curvature, n, d),
            ids=row_ids(f"{label}: ids", ids, n),
        )

    @property
    def dimension(self) -> int:
        """d: rows per contact."""
        return int(self.friction.shape[1]) + 1

    def _summary(self) -> str:
        tangent = "" if self.tangent_law is None else f", tangent_law={self.tangent_law!r}"
        size = f"n={self.count}, d={self.dimension}, nv={self.nv}"
        return f"{size}, {self.law!r}, friction={spread(self.friction)}{tangent}"
