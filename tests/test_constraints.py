"""The four kinds of rows: what they keep, what they refuse and how they say so."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sparse

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, Unilateral
from pliant.errors import InputError, PliantError
from pliant.inputs import floats
from pliant.laws import Law

NV = 5
LINEAR = Law(1e3, 1.0)
ROWS = np.arange(1.0, 3 * NV + 1).reshape(3, NV)
CONES = np.arange(1.0, 4 * 3 * NV + 1).reshape(4, 3, NV)
KINDS = [Bilateral, Unilateral, Clipped]


def scalar(kind, jacobian=ROWS, value=(0.0, 0.1, 0.2), law=LINEAR, **options) -> Constraint:
    if kind is Clipped:
        options = {"lower": -1.0, "upper": 1.0, **options}
    built = kind(jacobian, value, law, **options)
    assert isinstance(built, Constraint)
    return built


def contact(jacobian=CONES, gap=(0.0, 0.1, 0.2, 0.3), law=LINEAR, friction=0.5, **options) -> Contact:
    return Contact(jacobian, gap, law, friction, **options)


# What they keep


@pytest.mark.parametrize("kind", KINDS)
def test_scalar_kinds_spread_their_arguments_over_the_rows(kind):
    built = scalar(kind, rate_offset=2.0, name="door", curvature=3.0)
    assert (built.count, built.dimension, built.rows, built.nv, built.name) == (3, 1, 3, NV, "door")
    assert built.rate_offset.tolist() == [2.0] * 3
    assert built.curvature is not None
    assert built.curvature.tolist() == [3.0] * 3
    assert built.ids.tolist() == [0, 1, 2]


def test_clipped_bounds_may_be_infinite_equal_and_one_sided():
    built = Clipped(ROWS, np.zeros(3), LINEAR, [-np.inf, 2.0, 3.0], [np.inf, 2.0, np.inf])
    assert built.lower.tolist() == [-np.inf, 2.0, 3.0]
    assert built.upper.tolist() == [np.inf, 2.0, np.inf]


@pytest.mark.parametrize("d", [2, 3, 4, 6])
@pytest.mark.parametrize("form", ["dense", "csr", "coo", "csc_matrix"])
def test_contact_dimensions(d, form):
    dense = np.random.default_rng(d).normal(size=(4, d, NV))
    stacked = dense.reshape(-1, NV)
    jacobian = {
        "dense": dense,
        "csr": sparse.csr_array(stacked),
        "coo": sparse.coo_array(stacked),
        "csc_matrix": sparse.csc_matrix(stacked),
    }[form]
    built = contact(jacobian)
    assert (built.count, built.dimension, built.rows, built.nv) == (4, d, 4 * d, NV)
    kept = built.jacobian.toarray() if sparse.issparse(built.jacobian) else built.jacobian
    assert np.array_equal(kept.reshape(4, d, NV), dense)


@pytest.mark.parametrize(
    ("friction", "spread"),
    [
        (0.5, np.full((4, 2), 0.5)),
        ([0.1, 0.2, 0.3, 0.4], [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.4, 0.4]]),
        (np.arange(8.0).reshape(4, 2), np.arange(8.0).reshape(4, 2)),
        ([0.7], np.full((4, 2), 0.7)),
    ],
)
def test_friction_per_problem_contact_or_tangent(friction, spread):
    assert np.array_equal(contact(friction=friction).friction, spread)


def test_as_many_contacts_as_tangents_means_per_contact():
    assert contact(CONES[:2], [0.0, 0.0], friction=[0.1, 0.2]).friction.tolist() == [[0.1, 0.1], [0.2, 0.2]]


@pytest.mark.parametrize(
    ("given", "spread"),
    [
        (2.0, [[2.0, 0.0, 0.0]] * 4),
        ([1.0, 2.0, 3.0, 4.0], [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]),
        (np.arange(12.0).reshape(4, 3), np.arange(12.0).reshape(4, 3)),
    ],
)
@pytest.mark.parametrize("argument", ["rate_offset", "curvature"])
def test_contact_rates_act_on_the_normal_or_on_every_row(argument, given, spread):
    assert np.array_equal(getattr(contact(**{argument: given}), argument), spread)


@pytest.mark.parametrize("law", [Law(1e5, 1.0), Law(np.full(4, 1e5)), Law(np.full((4, 2), 1e5), [1.0] * 4)])
def test_tangent_laws_per_problem_contact_or_tangent(law):
    stretch = np.arange(8.0).reshape(4, 2)
    built = contact(tangent_law=law, stretch=stretch)
    assert built.tangent_law is law
    assert np.array_equal(built.stretch, stretch)


def test_a_stretch_may_stay_on_a_tangent_that_only_damps_beside_one_with_stiffness():
    law = Law([[1e5, 0.0]] * 4, 1.0)
    assert contact(tangent_law=law, stretch=np.ones((4, 2))).stretch.all()


def test_power_laws_suit_unilateral_rows_and_normals():
    law = Law(1e9, exponent=1.5, dissipation=0.2)
    assert scalar(Unilateral, law=law).law is law
    assert contact(law=law).law is law


def test_sparse_jacobians_become_canonical():
    given = sparse.coo_array(([1.0, 2.0, 3.0, -3.0, 0.0], ([0, 0, 1, 1, 2], [3, 3, 0, 0, 1])), shape=(3, NV))
    kept = scalar(Bilateral, given).jacobian
    assert kept.nnz == 1
    assert kept.toarray()[0, 3] == 3.0
    with pytest.raises(ValueError):
        kept.data[0] = 1.0
    assert given.nnz == 5


@pytest.mark.parametrize("jacobian", [np.zeros((0, NV)), sparse.csr_array((0, NV))])
@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind, jacobian):
    assert scalar(kind, jacobian, []).rows == 0


@pytest.mark.parametrize(
    ("jacobian", "friction", "d"),
    [
        (np.zeros((0, 6, NV)), 0.5, 6),
        (sparse.csr_array((0, NV)), 0.5, 3),
        (sparse.csr_array((0, NV)), np.zeros((0, 1)), 2),
    ],
)
def test_no_contacts(jacobian, friction, d):
    built = contact(jacobian, [], friction=friction)
    assert (built.count, built.dimension, built.rows) == (0, d, 0)


@pytest.mark.parametrize("built", [*(scalar(kind) for kind in KINDS), contact()], ids=lambda c: type(c).__name__)
def test_constraints_are_values(built):
    with pytest.raises(AttributeError):
        built.name = "other"
    with pytest.raises(ValueError):
        built.jacobian[0] = 1.0
    with pytest.raises(ValueError):
        built.rate_offset[0] = 1.0
    for twin in (
        copy.copy(built),
        pickle.loads(pickle.dumps(built)),
        dataclasses.replace(built, name="twin"),
    ):
        assert np.array_equal(twin.jacobian, built.jacobian)
        assert twin.law == built.law


def test_arrays_are_copied():
    jacobian, gap = CONES.copy(), np.zeros(4)
    built = contact(jacobian, gap)
    jacobian[:] = gap[:] = 9.0
    assert np.array_equal(built.jacobian, CONES)
    assert not built.gap.any()


@pytest.mark.parametrize(
    ("built", "printed"),
    [
        (scalar(Bilateral, name="weld"), "Bilateral('weld', n=3, nv=5, Law(stiffness=1000, damping=1))"),
        (scalar(Clipped), "Clipped(n=3, nv=5, Law(stiffness=1000, damping=1), lower=-1, upper=1)"),
        (contact(), "Contact(n=4, d=3, nv=5, Law(stiffness=1000, damping=1), friction=0.5)"),
    ],
)
def test_repr_is_short(built, printed):
    assert repr(built) == printed


def test_ids_name_rows():
    assert scalar(Bilateral, ids=[7, -1, 2**40]).ids.tolist() == [7, -1, 2**40]
    assert contact(ids=np.array([3, 1, 2, 0], dtype=np.uint8)).ids.dtype == np.int64


# What they refuse

NAN_ROWS = np.where(ROWS == 7.0, np.nan, ROWS)
BAD_SCALAR = [
    ({"jacobian": ROWS[0]}, r"jacobian must have shape \(n, nv\), got shape \(5,\); wrap"),
    ({"jacobian": CONES}, r"jacobian must have shape \(n, nv\), got shape \(4, 3, 5\)"),
    ({"jacobian": NAN_ROWS}, r"jacobian must be finite, got nan at index \(1, 1\)"),
    ({"jacobian": sparse.csr_array(NAN_ROWS)}, "jacobian .* must be finite, got nan"),
    ({"jacobian": sparse.csr_array(ROWS * 1j)}, "jacobian must hold real numbers"),
    ({"jacobian": [[1.0], [1.0, 2.0]]}, "jacobian must be real numbers"),
    ({"jacobian": None}, "jacobian must be real numbers, got None"),
    ({"value": [0.0, 0.0]}, r"value must be one per row of the jacobian \(3,\), got shape \(2,\)"),
    ({"value": 0.0}, r"value must be one per row of the jacobian \(3,\), got shape \(\)"),
    ({"value": [0.0, np.inf, 0.0]}, "value must be finite, got inf at index 1"),
    ({"value": sparse.csr_array(ROWS)}, "value must be dense"),
    ({"law": 1e3}, r"law must be a pliant.Law, got 1000.0; write pliant.Law\("),
    ({"law": Law([1.0, 2.0])}, r"law.stiffness must be a scalar, or one per row \(3,\), got shape \(2,\)"),
    ({"law": Law(1.0, np.ones((3, 1)))}, r"law.damping .* got shape \(3, 1\)"),
    ({"rate_offset": [1.0, 2.0]}, r"rate_offset must be a scalar, or one per row \(3,\), got shape \(2,\)"),
    ({"rate_offset": np.nan}, "rate_offset must be finite"),
    ({"curvature": np.ones((3, 1))}, r"curvature .* got shape \(3, 1\)"),
    ({"curvature": [0.0, 0.0, -np.inf]}, "curvature must be finite"),
    ({"ids": [1, 2]}, r"ids must be 3 integers, .* shape \(2,\); leave it out"),
    ({"ids": [1.0, 2.0, 3.0]}, "ids must be 3 integers, .* float64"),
    ({"ids": [1, 2, 1]}, "ids must be distinct, got 1 more than once"),
    ({"ids": [[1], [2, 3], 4]}, "ids must be 3 integers"),
    ({"ids": np.array([1, 2, 2**63], dtype=np.uint64)}, "ids must be 3 integers"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("change", "says"), BAD_SCALAR)
def test_scalar_kinds_refuse(kind, change, says):
    with pytest.raises(InputError, match=f"{kind.__name__} 'door': {says}") as caught:
        scalar(kind, name="door", **change)
    assert isinstance(caught.value, (ValueError, PliantError))


@pytest.mark.parametrize("kind", [Bilateral, Clipped])
@pytest.mark.parametrize("law", [Law(1.0, exponent=1.5), Law(1.0, dissipation=0.1), Law(exponent=[1.0, 1.0, 2.0])])
def test_only_unilateral_rows_take_power_laws(kind, law):
    with pytest.raises(InputError, match=f"{kind.__name__}: law must be linear .*Unilateral"):
        scalar(kind, law=law)


@pytest.mark.parametrize(
    ("lower", "upper", "says"),
    [
        (1.0, -1.0, "lower must be <= upper, got lower 1.0 > upper -1.0 in row 0"),
        ([0.0, 0.0, 2.0], 1.0, "lower must be <= upper, .* in row 2"),
        (np.nan, 1.0, "lower must be not NaN"),
        (0.0, [1.0, np.nan, 1.0], "upper must be not NaN, got nan at index 1"),
        (np.inf, np.inf, "lower must not be inf"),
        (-np.inf, -np.inf, "upper must not be -inf"),
        ([0.0, 1.0], 2.0, r"lower must be a scalar, or one per row \(3,\), got shape \(2,\)"),
        (None, 1.0, "lower must be real numbers"),
    ],
)
def test_clipped_refuses_bounds(lower, upper, says):
    with pytest.raises(InputError, match=f"Clipped: {says}"):
        scalar(Clipped, lower=lower, upper=upper)


BAD_CONTACT = [
    (
        {"jacobian": CONES[0]},
        r"jacobian must have shape \(n, d, nv\), or sparse .*, got shape \(3, 5\); wrap",
    ),
    ({"jacobian": CONES[:, :1]}, "jacobian must have d rows .* got d = 1 .*Unilateral"),
    ({"jacobian": np.ones((4, 5, NV))}, "jacobian must have d rows .* got d = 5"),
    ({"jacobian": sparse.csr_array(np.ones((13, NV)))}, "jacobian must have d rows for each of the 4 gaps"),
    ({"jacobian": sparse.csr_array(np.ones((20, NV)))}, "jacobian .* got d = 5 .20 stacked rows for 4 gaps"),
    ({"jacobian": sparse.csr_array(np.ones((3, NV))), "gap": []}, "jacobian .* each of the 0 gaps"),
    ({"jacobian": CONES * np.nan}, "jacobian must be finite"),
    ({"gap": np.zeros(3)}, r"gap must be one per contact of the jacobian \(4,\), got shape \(3,\)"),
    ({"gap": [0.0, 0.0, np.nan, 0.0]}, "gap must be finite, got nan at index 2"),
    ({"law": None}, "law must be a pliant.Law"),
    ({"law": Law(np.ones(3))}, r"law.stiffness .* got shape \(3,\)"),
    ({"law": Law(np.ones((4, 2)))}, r"law.stiffness .* got shape \(4, 2\)"),
    ({"friction": -0.1}, "friction must be >= 0, got -0.1"),
    ({"friction": [0.1, 0.2, -0.3, 0.4]}, "friction must be >= 0, got -0.3"),
    ({"friction": np.nan}, "friction must be finite"),
    ({"friction": np.inf}, "friction must be finite"),
    ({"friction": [0.1, 0.2]}, r"friction must be a scalar, one per contact \(4,\), .* got shape \(2,\)"),
    ({"friction": np.ones((4, 3))}, r"friction .* got shape \(4, 3\)"),
    ({"rate_offset": np.ones((4, 2))}, r"rate_offset .* got shape \(4, 2\)"),
    ({"rate_offset": np.ones(3)}, r"rate_offset .* got shape \(3,\)"),
    ({"curvature": np.nan}, "curvature must be finite"),
    ({"ids": np.arange(12)}, "ids must be 4 integers"),
    ({"tangent_law": 1e5}, "tangent_law must be None or a pliant.Law"),
    ({"tangent_law": Law(1.0, exponent=1.5)}, "tangent_law must be linear"),
    ({"tangent_law": Law(1.0, dissipation=1.0)}, "tangent_law must be linear"),
    ({"tangent_law": Law(np.ones(3))}, r"tangent_law.stiffness .* got shape \(3,\)"),
    ({"tangent_law": Law(1.0), "stretch": np.ones((4, 3))}, r"stretch .* got shape \(4, 3\)"),
    ({"tangent_law": Law(1.0), "stretch": np.inf}, "stretch must be finite"),
    ({"stretch": 1e-3}, "stretch must be 0 without a tangent_law that has stiffness"),
    ({"stretch": 1e-3, "tangent_law": Law(0.0, 1.0)}, "stretch must be 0 without"),
]


@pytest.mark.parametrize(("change", "says"), BAD_CONTACT)
def test_contact_refuses(change, says):
    with pytest.raises(InputError, match=f"Contact 'floor': {says}"):
        contact(name="floor", **change)


@pytest.mark.parametrize("build", [*KINDS, Contact])
def test_names_are_strings(build):
    with pytest.raises(InputError, match=f"{build.__name__}: name must be a string, got 3"):
        contact(name=3) if build is Contact else scalar(build, name=3)


def test_what_constraints_share_cannot_be_written():
    """Defaults are the same arrays in all of them."""
    one, other = (Unilateral(np.eye(3), np.zeros(3), Law(1.0)) for _ in range(2))
    for array in (one.ids, one.rate_offset):
        with pytest.raises(ValueError, match=r"(?i)writeable"):
            array.setflags(write=True)
    np.testing.assert_array_equal(other.ids, [0, 1, 2])
    np.testing.assert_array_equal(other.rate_offset, np.zeros(3))


@pytest.mark.parametrize("shape", [(3,), (200, 100)])
def test_numbers_whose_squares_overflow_are_finite(shape):
    big = np.full(shape, 1e200)
    np.testing.assert_array_equal(floats("big", big), big)
    big[..., -1] = np.inf
    with pytest.raises(InputError, match="big must be finite, got inf"):
        floats("big", big)
