"""Materials from YAML, and errors that name the line."""

from __future__ import annotations

import pytest

import pliant
from pliant.materials_file import parse_materials, read_materials

GOOD = """
floor: steel
geom:tyre*: {substance: rubber, friction: 0.9}
ball: {youngs_modulus: 3e9, restitution: 0.6}
sole:
  youngs_modulus: 1e6
  depth: 0.01
  elements: 200
  side: -z
joint:knee: {stiffness: 1e5, damping: 100}
"""
WRONG = {
    "not YAML": ("floor: [", "x.yaml, line 1: this is not YAML"),
    "a list": ("- steel", "line 1: expected names and materials"),
    "a list of fields": ("a: steel\nfloor: [1, 2]", "line 2: a material is the name of a substance, or fields"),
    "no such substance": ("a: steel\nfloor: stel", "line 2: 'floor': Material.of: 'stel' is not known; there are rubb"),
    "no such field": (
        "floor:\n  youngs_modulus: 1e9\n  fricton: 1",
        "line 3: a Material has no 'fricton'; it has youn",
    ),
    "a word": ("floor: {youngs_modulus: hard}", "line 1: 'youngs_modulus' must be a number, got 'hard'"),
    "half an element": (
        "f: {youngs_modulus: 1, depth: 1, elements: 1.5}",
        "'elements' must be a whole number, got '1.5'",
    ),
    "nothing to be made of": ("floor: {friction: 1}", "line 1: a Material needs youngs_modulus"),
    "no depth": ("\n\nsole: {youngs_modulus: 1, elements: 3}", "line 3: a Foundation needs depth"),
    "out of range": ("a: {youngs_modulus: -1}", "line 1: 'a': Material: youngs_modulus must be > 0, got -1"),
    "a star": ("*: steel", 'put names with signs in quotes: "*"'),
    "nothing": ("a: steel\nfloor:", "line 2: no material is given here, such as steel"),
    "twice": ("a: steel\nb: wood\na: wood", "line 3: 'a' is there twice"),
    "nested": ("a: {youngs_modulus: [1]}", "line 1: 'youngs_modulus' is one value"),
}


def test_every_kind(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(GOOD)
    assert read_materials(path) == {
        "floor": pliant.Material(2e11, 0.3),
        "geom:tyre*": pliant.Material(1e7, 0.49, friction=0.9),
        "ball": pliant.Material(3e9, restitution=0.6),
        "sole": pliant.Foundation(1e6, 0.01, elements=200, side="-z"),
        "joint:knee": pliant.Law(1e5, 100.0),
    }
    assert parse_materials("", "x") == {}
    assert parse_materials("floor: Steel", "x") == {"floor": pliant.Material.of("steel")}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_line(case):
    text, says = WRONG[case]
    with pytest.raises(pliant.FileError) as caught:
        parse_materials(text, "x.yaml")
    assert says in str(caught.value)


def test_what_is_no_text(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(pliant.FileError, match="not a text"):
        read_materials(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("# nothing yet\n")
    with pytest.raises(pliant.FileError, match="there are no materials in it"):
        read_materials(tmp_path / "b.yaml")
    with pytest.raises(pliant.FileError, match=r"cannot read .*: No such file or directory; give a YAML file"):
        read_materials(tmp_path / "c.yaml")
