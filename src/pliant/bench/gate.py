"""Ratios of a run beside those of a baseline: which have become worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pliant.bench.baseline import Baseline
from pliant.bench.metric import Metric


@dataclass
class Verdict:
    """compared: how many ratios. worse: those beyond their tolerance, in words. skipped: those of one side only."""

    compared: int = 0
    worse: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """A gate that compares nothing guards nothing."""
        return self.compared > 0 and not self.worse


def gate(suites: Mapping[str, Sequence[Metric]], baseline: Baseline) -> Verdict:
    """Compare what was measured, by suite, with the baseline. Only ratios: see `Metric.gated`."""
    verdict = Verdict()
    for suite, metrics in suites.items():
        known = baseline[suite].metrics if suite in baseline else {}
        before = {name: metric for name, metric in known.items() if metric.gated}
        now = {metric.name: metric for metric in metrics if metric.gated}
        for name, metric in now.items():
            if name in before:
                verdict.compared += 1
                _compare(suite, metric, before[name].value, verdict)
            else:
                verdict.skipped.append(f"{suite}: {name}: not in the baseline")
        verdict.skipped += [f"{suite}: {name}: not measured in this run" for name in before if name not in now]
    return verdict


def _compare(suite: str, metric: Metric, baseline: float, verdict: Verdict) -> None:
    if metric.worse_than(baseline):
        verdict.worse.append(
            f"{suite}: {metric.name}: {metric.value:.3g}, the baseline's {baseline:.3g}, better is {metric.better}, "
            f"tolerance {metric.tolerance:.0%}"
        )
