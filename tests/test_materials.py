"""Materials as values, and the stiffness that follows from a modulus and curvatures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ellipe, ellipkm1

import pliant
from pliant.hertz import LONGEST, flattening, hertz_stiffness, punch_stiffness
from pliant.materials import SUBSTANCES

SOME: Any = pliant.Material
LAYER: Any = pliant.Foundation
BAD: dict[str, tuple[Any, str]] = {
    "negative modulus": (lambda: pliant.Material(-1e9), "youngs_modulus must be > 0, got -1e+09"),
    "no modulus": (lambda: pliant.Material(0.0), "youngs_modulus must be > 0"),
    "nan": (lambda: pliant.Material(np.nan), "youngs_modulus must be finite"),
    "a word": (lambda: SOME("steel"), "youngs_modulus must be real numbers"),
    "several": (lambda: SOME([1e9, 1e10]), "youngs_modulus must be one number"),
    "Poisson's ratio": (lambda: pliant.Material(1e9, 0.51), "poissons_ratio must be above -1 and at most 0.5"),
    "Poisson's ratio -1": (lambda: pliant.Material(1e9, -1.0), "poissons_ratio must be above -1 and at most 0.5"),
    "restitution": (lambda: pliant.Material(1e9, restitution=1.1), "restitution must be between 0 and 1, got 1.1"),
    "negative restitution": (lambda: pliant.Material(1e9, restitution=-0.1), "restitution must be >= 0"),
    "friction": (lambda: pliant.Material(1e9, friction=-0.1), "friction must be >= 0"),
    "damping": (lambda: pliant.Material(1e9, damping=-1.0), "damping must be >= 0"),
    "radius": (lambda: pliant.Material(1e9, contact_radius=0.0), "contact_radius must be > 0"),
    "substance": (lambda: pliant.Material.of("unobtainium"), "'unobtainium' is not known; there are rubber, wood"),
    "elements": (lambda: pliant.Foundation(1e9, 0.1, elements=0), "elements must be a whole number >= 1"),
    "half an element": (lambda: LAYER(1e9, 0.1, elements=10.5), "elements must be a whole number"),
    "depth": (lambda: pliant.Foundation(1e9, 0.0, elements=10), "depth must be > 0"),
    "side": (lambda: pliant.Foundation(1e9, 0.1, elements=10, side="bottom"), "side must be one of -x, +x"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_no_material_has_is_refused(case):
    make, says = BAD[case]
    with pytest.raises(pliant.InputError) as caught:
        make()
    assert says in str(caught.value)


def test_a_material_is_a_value():
    assert pliant.Material(1e9) == pliant.Material(1e9, 0.3) != pliant.Material(1e9, friction=0.5)
    assert len({pliant.Material(1e9), pliant.Material(1e9, 0.3)}) == 1
    assert pliant.Material(2e11).compliance == pytest.approx(0.91 / 2e11, rel=1e-15)
    steel = pliant.Material.of("steel", restitution=0.5)
    assert (steel.youngs_modulus, steel.poissons_ratio) == SUBSTANCES["steel"] and steel.restitution == 0.5


def by_quadrature(ratio: float) -> float:
    """f from Johnson's equations (4.25) to (4.28), with SciPy's elliptic integrals and a bracketing root."""

    def ratio_of(x: float) -> float:
        K, E = ellipkm1(x * x), ellipe(1.0 - x * x)
        return float((E / (x * x) - K) / (K - E))

    x = brentq(lambda x: ratio_of(x) - ratio, 1e-6, 1.0 - 1e-7, xtol=1e-15)
    K, E = ellipkm1(x * x), ellipe(1.0 - x * x)
    F1 = np.cbrt(4.0 / (np.pi * (1.0 - x * x)) * x**1.5 * np.sqrt((E / (x * x) - K) * (K - E)))
    return float(2.0 / np.pi * np.sqrt(x) * K / F1)


@pytest.mark.parametrize("ratio", [1.01, 1.5, 2.0, 10.0, 100.0, 1000.0])
def test_ellipses_flatten_as_the_integrals_say(ratio):
    assert flattening(ratio) == pytest.approx(by_quadrature(ratio), rel=1e-10)


@given(st.floats(1e-3, 1e3), st.floats(1.0, LONGEST), st.floats(1e6, 1e12))
def test_stiffness_grows_as_surfaces_flatten(k, ratio, modulus):
    """Less curvature in one direction: stiffer, never softer; and proportional to the modulus."""
    rounder, flatter = hertz_stiffness(modulus, k * ratio, k * ratio), hertz_stiffness(modulus, k * ratio, k)
    assert flatter >= rounder * (1.0 - 1e-12)
    assert rounder == pytest.approx(4.0 / 3.0 * modulus / np.sqrt(k * ratio), rel=1e-12)
    assert hertz_stiffness(2.0 * modulus, k * ratio, k) == pytest.approx(2.0 * flatter, rel=1e-12)


def test_a_punch_is_linear_in_its_radius():
    assert punch_stiffness(1e11, 0.01) == 2e9
