"""`pliant reproduce`: what it writes, and what it refuses."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

import numpy as np
import pytest

from pliant.cli import main
from pliant.studies import pendulum, spring, study


@pytest.fixture
def short(monkeypatch):
    """Few steps of each case."""
    cases = [(scheme, h, k, b, min(count, 50), paper) for scheme, h, k, b, count, paper in spring.CASES]
    monkeypatch.setattr(spring, "CASES", tuple(cases))


@pytest.mark.usefixtures("short")
def test_a_study_leaves_results_and_pictures(tmp_path, capsys):
    assert main(["reproduce", "spring", "--out", str(tmp_path / "new" / "folder")]) == 0
    folder = tmp_path / "new" / "folder"
    document = json.loads((folder / "spring.json").read_text())
    assert document["study"] == "spring" and not document["quick"] and "numpy" in document["versions"]
    assert len(document["results"]["cases"]) == len(spring.CASES)
    assert (folder / "spring.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in folder.iterdir()} == {"spring.json", "spring.png", "report.html"}
    out, err = capsys.readouterr()
    assert "spring.json" in out and err == ""  # no terminal, no progress


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("where", ["run", "draw", "simulate"])
def test_a_study_that_is_interrupted_writes_nothing(tmp_path, capsys, monkeypatch, where):
    def stop(*given, **options):
        raise KeyboardInterrupt

    if where == "simulate":  # which returns what there is
        monkeypatch.setattr(pendulum.Pendulum, "advance", stop)
    else:
        parts: dict[str, Any] = {"run": lambda quick, progress: {}, where: stop}
        monkeypatch.setattr(pendulum, "STUDY", study.Study("A pendulum", parts["run"], parts.get("draw", stop)))
    assert main(["reproduce", "spring", "pendulum", "--quick", "--out", str(tmp_path)]) == 130
    assert {path.name for path in tmp_path.iterdir()} == {"spring.json", "spring.png"}
    out, err = capsys.readouterr()
    assert err == "pliant reproduce: stopped; finished: spring\n"
    assert "spring.json" in out and "pendulum" not in out


@pytest.mark.parametrize("path", ["limit", "foundation_race", "measure"])
def test_no_study_takes_a_part_of_a_run_for_a_result(path):
    """They simulate through `simulate_all` only."""
    module = importlib.import_module(f"pliant.studies.{path}")
    assert not hasattr(module, "simulate") and module.simulate_all is study.simulate_all


def test_unknown_studies_are_named(tmp_path, capsys):
    assert main(["reproduce", "spring", "nonsense", "--out", str(tmp_path / "x")]) == 1
    assert "no study is called 'nonsense'; there are: spring" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_found_out_before_the_work(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_a_file_in_the_way_of_the_folder(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["reproduce", "spring", "--out", str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err and (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(("scheme", "h", "k", "b", "count", "paper"), spring.CASES)
def test_the_eigenvalues_say_what_the_paper_says(scheme, h, k, b, count, paper):
    largest = np.abs(np.linalg.eigvals(spring.iteration_matrix(scheme, h, k, b))).max()
    found = spring.verdict(float(largest))
    assert found == paper.split(",")[0] or (paper == "somewhat more stable" and found == "marginal")


@pytest.mark.usefixtures("short")
def test_ours_is_the_implicit_scheme():
    cases = {(c["scheme"], c["step"], c["stiffness"]): c for c in spring.run(True, lambda _: None)["cases"]}
    ours, theirs = cases["pliant", 1e-2, 1e6]["x"], cases["implicit", 1e-2, 1e6]["x"]
    assert np.allclose(ours[:30], theirs[:30], rtol=1e-9, atol=1e-15)


def test_studies_are_found_by_name():
    assert list(study.find(["spring"])) == ["spring"]
