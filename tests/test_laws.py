"""Law: what it keeps, what it refuses."""

import pickle

import numpy as np
import pytest

from pliant.errors import InputError, PliantError
from pliant.laws import Law


def test_defaults_are_no_force_at_all():
    law = Law()
    assert (law.stiffness, law.damping, law.exponent, law.dissipation) == (0.0, 0.0, 1.0, 0.0)
    assert law.is_linear


def test_exponent_and_dissipation_are_keyword_only():
    with pytest.raises(TypeError):
        Law(1.0, 1.0, 1.5)  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [3, 3.0, np.float32(3), np.int64(3), np.array(3), True])
def test_scalars_become_floats(given):
    assert type(Law(given).stiffness) is float


def test_arrays_are_copied_and_read_only():
    given = np.array([1.0, 2.0])
    law = Law(given)
    given[0] = 7.0
    assert isinstance(law.stiffness, np.ndarray)
    assert law.stiffness.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError):
        law.stiffness[0] = 3.0


def test_a_law_cannot_be_changed():
    with pytest.raises(AttributeError):
        Law().stiffness = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("law", "linear"),
    [
        (Law(1.0, 2.0), True),
        (Law([1.0, 2.0], exponent=[1.0, 1.0]), True),
        (Law(exponent=1.5), False),
        (Law(exponent=[1.0, 1.5]), False),
        (Law(dissipation=0.1), False),
        (Law([]), True),
    ],
)
def test_is_linear(law, linear):
    assert law.is_linear is linear


def test_equal_laws_are_equal_and_hash_alike():
    assert Law([1.0, -0.0]) == Law((1, 0))
    assert hash(Law([1.0, -0.0])) == hash(Law((1, 0)))
    assert Law(1.0) != Law(1.0, 1.0)
    assert Law(1.0) != 1.0
    assert pickle.loads(pickle.dumps(Law([1.0, 2.0], 3.0))) == Law([1.0, 2.0], 3.0)


@pytest.mark.parametrize(
    ("law", "printed"),
    [
        (Law(1e10, 1.0), "Law(stiffness=1e+10, damping=1)"),
        (Law([1.0, 1e15]), "Law(stiffness=1..1e+15, damping=0)"),
        (Law(2.0, exponent=1.5), "Law(stiffness=2, damping=0, exponent=1.5, dissipation=0)"),
        (Law([]), "Law(stiffness=[], damping=0)"),
    ],
)
def test_repr_is_short(law, printed):
    assert repr(law) == printed


BAD = [
    ("stiffness", -1.0, ">= 0, got -1.0"),
    ("stiffness", [1.0, -2.0], "got -2.0 at index 1"),
    ("stiffness", np.nan, "finite, got nan"),
    ("stiffness", [[1.0, np.inf]], r"finite, got inf at index \(0, 1\)"),
    ("stiffness", None, "real numbers, got None"),
    ("stiffness", "soft", "real numbers, got 'soft'"),
    ("stiffness", 1j, "real numbers, got 1j"),
    ("stiffness", [[1.0], [1.0, 2.0]], "real numbers"),
    ("stiffness", np.zeros((1, 1, 1)), r"got shape \(1, 1, 1\)"),
    ("damping", -1e-300, ">= 0"),
    ("damping", np.inf, "finite"),
    ("exponent", 0.5, ">= 1, got 0.5"),
    ("exponent", np.nan, "finite"),
    ("dissipation", -0.1, ">= 0"),
    ("dissipation", -np.inf, "finite"),
]


@pytest.mark.parametrize(("argument", "value", "says"), BAD)
def test_bad_parameters_are_named(argument, value, says):
    with pytest.raises(InputError, match=f"Law: {argument} must be .*{says}") as caught:
        Law(**{argument: value})
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, PliantError)
