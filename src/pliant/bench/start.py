"""What a process pays before its first step is done; and what memory steps leave behind."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from pliant.bench.entrant import OURS
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import race, ratio
from pliant.bench.suite import Measured, Suite
from pliant.studies.scenes import incline
from pliant.studies.study import Progress

ROUNDS, FEW = 9, 2
SOON: Final = 2.0  # [s] for a first step
MEMORY: Final = Path("/proc/self/statm")
WARM, LATER = 1000, 10_000  # steps before memory is looked at, and from then on
MODEL: Final = f"import mujoco; model = mujoco.MjModel.from_xml_string({incline(0.375, 0.01)!r})"
DATA: Final = "data = mujoco.MjData(model)"
PROGRAMS: Final = {
    OURS: f"import pliant; {MODEL}; {DATA}; pliant.mj_step(model, data)",
    "MuJoCo": f"{MODEL}; {DATA}; mujoco.mj_step(model, data)",
}
GROWTH: Final = f"""
import os, pliant
{MODEL}
{DATA}
def resident():
    return int(open({str(MEMORY)!r}).read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
for _ in range({WARM}):
    pliant.mj_step(model, data)
before = resident()
for _ in range({LATER}):
    pliant.mj_step(model, data)
print(resident() - before)
"""


def run(quick: bool, progress: Progress) -> Measured:
    progress("start: fresh processes")
    timings = race({name: partial(_lap, code) for name, code in PROGRAMS.items()}, FEW if quick else ROUNDS)
    measured = Measured(details={name: timing.document() for name, timing in timings.items()})
    case = "import and first step"
    measured.metrics = [
        Metric(f"{case}: {name}", timing.median, "s", goal=SOON if name == OURS else None)
        for name, timing in timings.items()
        if not timing.why
    ]
    measured.skipped = [f"{case}: {name}: {timing.why}" for name, timing in timings.items() if timing.why]
    if not measured.skipped:
        measured.metrics.append(Metric(f"{case}: times MuJoCo", ratio(*timings.values()), RATIO))
    if MEMORY.exists():
        progress(f"start: memory of {LATER} steps")
        name = f"from step {WARM} to {WARM + LATER}: memory"
        measured.metrics.append(Metric(name, int(_python(GROWTH)) / 1e6, "MB", goal=1.0))
    else:
        measured.skipped.append(f"memory: this system has no {MEMORY}")
    return measured


def _lap(code: str) -> float:
    begin = perf_counter()
    _python(code)
    return perf_counter() - begin


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


SUITE = Suite("a fresh process: import and first step; memory over 10,000 steps", run)
