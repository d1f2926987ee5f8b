"""What things are made of: a modulus, from which the stiffness of their contacts follows."""

from __future__ import annotations

import dataclasses
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from pliant.errors import InputError
from pliant.inputs import check_at_least, floats

SIDES: Final = ("-x", "+x", "-y", "+y", "-z", "+z")


@dataclass(frozen=True)
class Material:
    """An elastic body. Of two that touch, with compliances c = (1 - nu^2) / E, the modulus is E* = 1 / (c1 + c2).

    youngs_modulus     E [Pa], > 0
    poissons_ratio     nu [-], above -1, at most 0.5
    dissipation        alpha [s/m] of Hunt and Crossley: what was pressed in comes out at 1/alpha [m/s] at most
    damping            B [N s/m] of each contact
    friction           coefficient [-]; None: that of the model
    restitution        e [-], 0 to 1: of the speed of an impact, that it leaves with
    restitution_speed  [m/s] below which impacts are dead
    contact_radius     a [m] of the flat area that a contact is taken to have; None: from the shapes that touch
    """

    youngs_modulus: float
    poissons_ratio: float = 0.3
    _: KW_ONLY
    dissipation: float = 0.0
    damping: float = 0.0
    friction: float | None = None
    restitution: float = 0.0
    restitution_speed: float = 0.01
    contact_radius: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "youngs_modulus")
        nu = _number(self, "poissons_ratio")
        if not -1.0 < nu <= 0.5:
            raise InputError(f"Material: poissons_ratio must be above -1 and at most 0.5, got {nu:g}")
        for name in ("dissipation", "damping", "restitution", "restitution_speed"):
            _number(self, name, at_least=0.0)
        if self.restitution > 1.0:
            raise InputError(f"Material: restitution must be between 0 and 1, got {self.restitution:g}")
        if self.friction is not None:
            _number(self, "friction", at_least=0.0)
        if self.contact_radius is not None:
            _positive(self, "contact_radius")

    @property
    def compliance(self) -> float:
        """c = (1 - nu^2) / E [1/Pa]."""
        return (1.0 - self.poissons_ratio**2) / self.youngs_modulus

    @classmethod
    def of(cls, substance: str, **changes: Any) -> Material:
        """A substance of `SUBSTANCES`, such as "steel", with other fields than the usual."""
        known = SUBSTANCES.get(str(substance).lower())
        if known is None:
            raise InputError(f"Material.of: {substance!r} is not known; there are {', '.join(SUBSTANCES)}")
        return dataclasses.replace(cls(*known), **changes)


@dataclass(frozen=True)
class Foundation:
    """A layer of springs side by side on the surface of a geom (Winkler): K = E area / depth of each element.

    youngs_modulus  E [Pa], > 0
    depth           of the layer [m], > 0
    elements        how many, on the whole surface, or on its `side`
    damping         B [N s/m] of each element
    friction        coefficient [-]; None: that of the model
    side            "-x", "+x", ... "+z" in the frame of the geom: only that side has elements
    """

    youngs_modulus: float
    depth: float
    _: KW_ONLY
    elements: int
    damping: float = 0.0
    friction: float | None = None
    side: str | None = None

    def __post_init__(self) -> None:
        _positive(self, "youngs_modulus")
        _positive(self, "depth")
        if isinstance(self.elements, bool) or not isinstance(self.elements, int) or self.elements < 1:
            raise InputError(f"Foundation: elements must be a whole number >= 1, got {self.elements!r}")
        _number(self, "damping", at_least=0.0)
        if self.friction is not None:
            _number(self, "friction", at_least=0.0)
        if self.side is not None and self.side not in SIDES:
            raise InputError(f"Foundation: side must be one of {', '.join(SIDES)}, or None, got {self.side!r}")


def _number(owner: Material | Foundation, name: str, *, at_least: float | None = None) -> float:
    """A finite number, kept as a float."""
    label = f"{type(owner).__name__}: {name}"
    value = floats(label, getattr(owner, name))
    if value.ndim:
        raise InputError(f"{label} must be one number, got shape {value.shape}")
    if at_least is not None:
        check_at_least(label, value, at_least)
    object.__setattr__(owner, name, float(value))
    return float(value)


def _positive(owner: Material | Foundation, name: str) -> None:
    if _number(owner, name) <= 0.0:
        raise InputError(f"{type(owner).__name__}: {name} must be > 0, got {getattr(owner, name):g}")


# E [Pa] and nu of common substances, rounded; grades differ by tens of percent, rubbers by a factor of ten.
SUBSTANCES: Final = {
    "rubber": (1e7, 0.49),
    "wood": (1.1e10, 0.35),
    "bone": (1.8e10, 0.3),
    "aluminium": (6.9e10, 0.33),
    "steel": (2.0e11, 0.3),
    "diamond": (1.1e12, 0.1),
}

# Of geoms for which nothing is named. Two of them touch with K = 2 E* a = 1e8 N/m and B = 2e6 N s/m, whatever their
# shapes: about hard wood, on a spot of a centimetre. B / K = 20 ms: what starts inside a contact comes back with this
# time constant, where a spring alone would throw it back within one step, at the depth over h.
DEFAULT_MATERIAL: Final = Material(1e10, 0.0, damping=2e6, contact_radius=0.01)
