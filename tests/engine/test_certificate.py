"""No answer is called solved while a contact that is open at the end of the step carries load, whatever row of the step
hardly moves anything."""

from __future__ import annotations

import pytest

import pliant
from tests.support.tiny_rows import FACTORS, KINDS, ROWS, forces_by_law, open_under_load, tiny_row_problem

CONTACTS = (12, 40)
FOOLED = 1e-6  # of the largest force that a law gives


def judge(row: str, factor: float, contacts: int, kind: str, seeds: range, share: float = 0.99) -> None:
    """None of these draws is fooled, and this share is solved."""
    solved, fooled = 0, []
    for seed in seeds:
        problem = tiny_row_problem(seed, row, factor, contacts, kind)
        solution = pliant.solve(problem, throw=False)
        if solution.status is not pliant.Status.SOLVED:
            continue
        solved += 1
        carried = open_under_load(problem, solution.velocity, solution.forces[0]).max()
        if carried > FOOLED * forces_by_law(problem, solution.velocity).max():
            fooled.append((seed, carried))
    assert not fooled
    assert solved >= share * len(seeds)


@pytest.mark.parametrize("contacts", CONTACTS)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("row", ROWS)
def test_a_tiny_row(row, factor, contacts):
    judge(row, factor, contacts, "rigid", range(40 if contacts < 20 else 10))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_tiny_row_in_harder_steps(kind, factor):
    for row in ROWS:
        judge(row, factor, 12, kind, range(10), share=0.99)


@pytest.mark.slow
@pytest.mark.parametrize("contacts", CONTACTS)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("row", ROWS)
def test_a_tiny_row_a_thousand_times(row, factor, contacts):
    judge(row, factor, contacts, "rigid", range(1000))


@pytest.mark.slow
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("contacts", CONTACTS)
def test_a_tiny_row_in_many_harder_steps(contacts, kind, factor):
    for row in ROWS:
        judge(row, factor, contacts, kind, range(200), share=0.99)
