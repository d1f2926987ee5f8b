"""The command `pliant bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pliant.bench import LONG, SUITES
from pliant.cli_run import STOPPED
from pliant.errors import PliantError

if TYPE_CHECKING:
    from pliant.bench.baseline import Baseline
    from pliant.bench.metric import Metric
    from pliant.bench.suite import Measured

FOLDER: Final = "pliant-bench"
PRINTED: Final = "-"  # --table without a file


def add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure times and the cost of right answers beside MuJoCo, Drake and ODE integrators",
        description="Run suites (if none is named all but trust) beside the peers that are installed, in turns: "
        "DIR/SUITE.json with metrics, machine and versions; pictures, with Matplotlib. Ctrl-C stops it, with exit "
        "status 130; suites that are finished are kept.",
    )
    bench.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"any of: {', '.join((*SUITES, *LONG))}; one scene: trust:stick"
    )
    bench.add_argument("--list", action="store_true", help="say what the suites measure, and stop")
    bench.add_argument("--out", default=FOLDER, metavar="DIR", help=f"where the files go (default: {FOLDER})")
    bench.add_argument("--quick", action="store_true", help="fewer rounds and cases")
    bench.add_argument("--baseline", metavar="FILE", help="what to compare with (default: the one of this version)")
    bench.add_argument(
        "--gate", action="store_true", help="exit status 1 if a ratio to a peer is worse than the baseline's"
    )
    bench.add_argument("--save", metavar="FILE", help="keep the metrics of this run as a baseline")
    bench.add_argument(
        "--table", nargs="?", const=PRINTED, metavar="PAGE",
        help="print the baseline as Markdown, or write it between the marks of a page; measure nothing",
    )  # fmt: skip


def run_bench(given: argparse.Namespace) -> int:
    """Run suites, print their metrics; the exit status."""
    done: dict[str, Sequence[Metric]] = {}
    try:
        if given.list or given.table:
            return _list(given.suites) if given.list else _table(given)
        return _measure(given, done)
    except (PliantError, OSError, ImportError) as error:
        print(f"pliant bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"pliant bench: stopped; finished: {', '.join(done) or 'none'}", file=sys.stderr)
        return STOPPED


def _measure(given: argparse.Namespace, done: dict[str, Sequence[Metric]]) -> int:
    """done: filled with the metrics of each suite that is finished."""
    from tqdm import tqdm

    from pliant.bench.baseline import save_baseline
    from pliant.bench.suite import bench

    baseline = _baseline(given.baseline)
    # a line that is written over is for people who watch: a pipe gets the results only
    with tqdm(bar_format="{elapsed} {desc}", leave=False, disable=not sys.stderr.isatty()) as bar:
        for name, measured, files in bench(
            given.suites, given.out, quick=given.quick, progress=bar.set_description_str
        ):
            done[name] = measured.metrics
            bar.clear()
            _print(name, measured, baseline)
            print("\n".join(map(str, files)), flush=True)
    if given.save:
        print(save_baseline(given.save, done))
    return _gate(done, baseline) if given.gate else 0


def _baseline(path: str | None) -> Baseline:
    from pliant.bench.baseline import read_baseline

    return read_baseline(path) if path else read_baseline()


def _print(suite: str, measured: Measured, baseline: Baseline) -> None:
    before = baseline[suite].metrics if suite in baseline else {}
    for metric in measured.metrics:
        then = f"   (baseline {before[metric.name].value:.4g})" if metric.name in before else ""
        print(f"{suite}: {metric}{then}")
    for what in measured.skipped:
        print(f"{suite}: skipped: {what}")


def _gate(done: dict[str, Sequence[Metric]], baseline: Baseline) -> int:
    from pliant.bench.gate import gate

    verdict = gate(done, baseline)
    for line in dict.fromkeys(line for suite in done if suite in baseline for line in baseline[suite].differences()):
        print(f"gate: not the baseline's {line}")
    for line in verdict.skipped:
        print(f"gate: skipped: {line}")
    for line in verdict.worse:
        print(f"gate: WORSE: {line}", file=sys.stderr)
    if not verdict.compared:
        print("gate: nothing to compare: the baseline has no ratio of these suites", file=sys.stderr)
    print(f"gate: {verdict.compared} ratios compared, {len(verdict.worse)} worse")
    return 0 if verdict.passed else 1


def _list(suites: Sequence[str]) -> int:
    from pliant.bench import LONG, SUITES
    from pliant.bench.suite import find

    for name, suite in find(suites or (*SUITES, *LONG)).items():
        print(f"{name:12}{suite.title}")
    return 0


def _table(given: argparse.Namespace) -> int:
    from pliant.bench.table import markdown, write_between

    text = markdown(_baseline(given.baseline))
    if given.table == PRINTED:
        print(text)
    else:
        write_between(Path(given.table), text)
    return 0
