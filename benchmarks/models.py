"""Random MuJoCo models of all that pliant steps, stepped: none may hang, crash, or go wrong without a word.

python -m benchmarks.models [--count 10000] [--steps 100] [--workers 2] [--seconds 10] [--first 0] [--minutes 1000]

Needs python-flint: residuals that the solver reports are compared with those at 50 digits, on every 100th model.
"""

from __future__ import annotations

import argparse
import functools
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from benchmarks.report import write
from benchmarks.watched import Ended, watched
from pliant.bench.metric import Metric
from tests.support.trial import Outcome, blows_up_in_mujoco, trial

SAMPLED = 100  # of so many models one has its certificates recomputed
SHOWN = 200  # seeds listed of each kind
FAILURES = ("exception", "nan", "hang", "crash", "invalid")


def work(steps: int, seed: int, tell: Callable[[int], None]) -> Outcome:
    """One model, in a process of its own."""
    logging.getLogger("pliant").setLevel(logging.ERROR)
    ended = trial(seed, steps, certify=seed % SAMPLED == 0, tell=tell)
    return ended._replace(beside=ended.kind != "invalid" and blows_up_in_mujoco(seed, steps))


def outcome(ended: Ended) -> Outcome:
    """Of the model; who hangs or dies cannot say so."""
    if ended.how == "done":
        return ended.result
    return Outcome(ended.how, f"{ended.result or ''} after step {ended.reached}, {ended.seconds:.1f} s".strip())


class Tally:
    """Outcomes by seed."""

    def __init__(self) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.seconds: dict[int, float] = {}

    def add(self, ended: Ended) -> None:
        self.outcomes[ended.seed], self.seconds[ended.seed] = outcome(ended), ended.seconds

    def of(self, kind: str) -> dict[int, str]:
        """Seeds of a kind, with what was said."""
        return {seed: made.detail for seed, made in sorted(self.outcomes.items()) if made.kind == kind}

    def dishonest(self) -> dict[int, str]:
        """Whose reported residuals are off by more than a factor 10."""
        judged = {seed: made.verdict for seed, made in sorted(self.outcomes.items()) if made.verdict is not None}
        return {seed: str(verdict) for seed, verdict in judged.items() if not verdict.honest}

    def with_any(self, field: str) -> dict[int, int]:
        """Seeds whose outcome has some of a count."""
        return {seed: getattr(made, field) for seed, made in sorted(self.outcomes.items()) if getattr(made, field)}

    def metrics(self) -> list[Metric]:
        counts = Counter(made.kind for made in self.outcomes.values())
        steps = sum(made.steps for made in self.outcomes.values())
        judged = sum(made.verdict is not None for made in self.outcomes.values())
        limited = sum(self.with_any("limited").values())
        alone = sum(made.kind == "raised" and not made.beside for made in self.outcomes.values())
        return [
            Metric("models", len(self.outcomes)),
            Metric("models: fine", counts["fine"], better="more"),
            Metric("models: refused by name", counts["refused"]),
            Metric("models: errors that name a cause", counts["raised"]),
            Metric("models: such errors where MuJoCo's motion does not blow up", alone),
            Metric("models: MuJoCo's motion blows up", len(self.with_any("beside"))),
            *(Metric(f"models: {kind}", counts[kind], goal=0) for kind in FAILURES),
            Metric("models: no room for contacts or rows", len(self.with_any("full"))),
            Metric("steps", steps),
            Metric("steps: at the iteration limit", limited),
            Metric("steps: by the fallback", sum(self.with_any("fallback").values())),
            Metric("certificates recomputed", judged),
            Metric("certificates: off by more than 10", len(self.dishonest()), goal=0),
            Metric("models: mean time", sum(self.seconds.values()) / max(1, len(self.seconds)), "s"),
        ]

    def details(self) -> dict[str, Any]:
        """The seeds to look at, in words."""
        kinds: dict[str, Any] = {kind: _first(self.of(kind)) for kind in (*FAILURES, "raised", "refused")}
        slowest = sorted(self.seconds.items(), key=lambda item: -item[1])[:20]
        kinds |= {"dishonest": self.dishonest(), "slowest": {seed: round(spent, 1) for seed, spent in slowest}}
        return kinds | {name: _first(self.with_any(name)) for name in ("limited", "full", "beside")}


def _first(found: dict[int, Any]) -> dict[int, Any]:
    return dict(list(found.items())[:SHOWN])


def run(seeds: range, steps: int, workers: int, limit: float, minutes: float) -> Tally:
    """The models of the seeds, as far as the time allows."""
    tally, begin = Tally(), time.monotonic()
    ends = watched(functools.partial(work, steps), seeds, workers, limit)
    for ended in tqdm(ends, desc="models", total=len(seeds), mininterval=5.0):
        tally.add(ended)
        if time.monotonic() - begin > 60.0 * minutes:
            break
    ends.close()
    return tally


def main() -> None:
    """All seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="models")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=100, help="of each model")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=10.0, help="after which a model counts as hanging")
    parser.add_argument("--minutes", type=float, default=1000.0, help="after which no model is begun")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.count)
    tally = run(seeds, chosen.steps, chosen.workers, chosen.seconds, chosen.minutes)
    command = "python -m benchmarks.models " + " ".join(f"--{name} {value}" for name, value in vars(chosen).items())
    write("models", command, tally.metrics(), tally.details())


if __name__ == "__main__":
    main()
