"""The study of the chain: what runs record, beside peers, and what the report says of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.studies import chain
from pliant.studies.chain import ANGLE, LENGTH, LINKS, OURS, WITHOUT, Chain, Theirs, engines, swung
from pliant.studies.measure import widest
from pliant.studies.study import Results
from tests.support.letters import smallest

PEERS = [name for name in engines(0.01) if name not in (OURS, WITHOUT)]


def test_the_chain_starts_closed_and_hangs_lowest():
    system = Chain()
    q, v = system.hung()
    assert widest(system, q) < 1e-15 and not v.any()
    assert system.swing(q) == pytest.approx((10.0 + 0.5 * 0.2) * 9.81 * (1.0 - np.cos(ANGLE)))
    segments = system.segments(q)
    np.testing.assert_allclose(np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1), LENGTH)
    assert system.swing(system.hung(0.0)[0]) == 0.0


@pytest.mark.parametrize("name", PEERS)
def test_peers_have_the_same_chain(name):
    runner, system = engines(0.001)[name](), Chain()
    q, v = system.hung()
    assert isinstance(runner, Theirs) and runner.widest < 1e-12
    np.testing.assert_allclose(runner.segments, system.segments(q), atol=1e-12)
    start = runner.energy
    assert start == pytest.approx(sum(system.energy(0.0, q, v).values()), rel=1e-9)
    runner.step(10)
    fallen = system.segments(q)[-1, 1] - runner.segments[-1, 1]
    assert 0.25 < fallen[1] / (0.5 * 9.81 * 0.01**2) < 1.1  # (sin 30)^2 on rigid joints, 1 on none, and a step ahead
    assert abs(runner.energy - start) < 0.02 * system.swing(q)


@pytest.mark.parametrize("name", [WITHOUT, *PEERS])
def test_the_others_tear(name):
    case = swung(name, 0.01, 1.0)
    assert case["torn"] is not None and case["torn"] < 0.5 and case["open"] is None and case["lost"] is None


def brief(monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setattr(chain, "QUICK", (0.01, 0.05))
    monkeypatch.setattr(chain, "BRIEFLY", 1.0)
    return chain.STUDY.run(True, lambda words: None)


def test_the_study(monkeypatch):
    results = brief(monkeypatch)
    json.dumps(results, allow_nan=False)
    holds, gains, loses, tears = results["claims"]
    assert holds["holds"] == gains["holds"] == tears["holds"] == "yes"
    assert loses["holds"] == "no" and loses["measured"] == "not reached"  # after 10 s
    assert all(len(case["energy"]) <= 500 for case in results["cases"])
    assert all(np.shape(segments) == (LINKS, 2, 2) for case in results["cases"] for _, segments in case["shapes"])
    pictures = chain.STUDY.draw(results)
    assert set(pictures) == set(chain.STUDY.page.captions)
    assert all(smallest(figure) >= 8.0 for figure in pictures.values())
    assert all({len(row) for row in table.rows} == {len(table.head)} for table in chain.STUDY.page.tables(results))


@pytest.mark.slow
def test_every_claim_holds():
    results = chain.STUDY.run(True, lambda words: None)
    assert {claim["holds"] for claim in results["claims"]} == {"yes"}
