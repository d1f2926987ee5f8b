"""Is an installed pliant whole? Run from anywhere outside the clone, by a Python that it is installed into."""

import sys
from importlib.resources import files
from pathlib import Path

import pliant
from pliant import _engine
from pliant.cli import main

CLONE = Path(__file__).resolve().parents[1]
for module in (pliant, _engine):
    if CLONE / "src" in Path(module.__file__).resolve().parents:
        sys.exit(f"{module.__name__} is that of the clone, {module.__file__}, not an installed one")
for name in ("py.typed", "_engine.pyi", "studies/report.css", "bench/baseline.json"):
    if not files("pliant").joinpath(name).is_file():
        sys.exit(f"the installed pliant lacks {name}")

floor = pliant.Contact(
    jacobian=[[[0, 0, 1], [1, 0, 0], [0, 1, 0]]],
    gap=[0.0],
    law=pliant.Law(stiffness=1e10, damping=1.0),
    friction=0.5,
)
push = [8.0, 0.0, -2 * 9.81]
crate = pliant.StepProblem(mass=[2, 2, 2], velocity=[0, 0, 0], force=push, step=0.01, constraints=[floor])
found = pliant.solve(crate).forces[0].round(3).tolist()
if found != [[19.62, -8.0, 0.0]]:
    sys.exit(f"a crate on the floor is held by {found} N, not by 19.62, -8 and 0")
sys.exit(main(["doctor"]))
