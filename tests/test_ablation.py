"""What the ablation has left behind: a result and a table of the variants that it has today."""

from __future__ import annotations

import json

import pytest

from benchmarks import ablation
from benchmarks.report import RESULTS
from pliant.bench.metric import read_metric

RESULT = RESULTS / "ablation.json"

pytestmark = pytest.mark.skipif(not RESULT.exists(), reason="results are in the repository only")


def found() -> dict[str, list[dict[str, float]]]:
    """The numbers of the result, as `table` takes them."""
    values = {metric["name"]: metric["value"] for metric in json.loads(RESULT.read_text())["metrics"]}
    keys = ("solved", "at rounding", "p50", "p90", "p99", "time")
    return {
        name: [{key: values[f"{name}, without {v.name}: {key}"] for key in keys} for v in ablation.VARIANTS]
        for name in ("robots", "piles", "random")
    }


def test_the_table_of_the_page_is_that_of_the_result():
    page = ablation.PAGE.read_text(encoding="utf-8")
    assert page.split(ablation.BEGIN)[1].split(ablation.END)[0].strip() == ablation.table(found())


def test_more_solved_is_better():
    metrics = ablation.metrics_of(found())
    assert [read_metric(one) for one in json.loads(RESULT.read_text())["metrics"]] == metrics
    shares = [metric for metric in metrics if metric.name.endswith(("solved", "at rounding"))]
    assert len(shares) == 2 * 3 * len(ablation.VARIANTS)
    assert all(metric.worse_than(2.0 * metric.value) and not metric.worse_than(metric.value) for metric in shares)
