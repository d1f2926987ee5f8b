"""A chain of light links under a heavy weight, swung: forces that turn with what they act on, beside peers.

20 links of 10 g and 5 cm under 10 kg, in the plane, by joints of 1e8 N/m; released at rest, 30 degrees off plumb.
Under a tension T a link swings to and fro at sqrt(12 T/(m l)): a step that takes the joints' directions of its start is
stable up to 2 over that, 1.3 ms. `Linkage.geometric_stiffness` tells the step how the forces turn.

Energies are those of the states reached, (q1, v1), in parts of the swing: above that of the chain hanging at rest.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from pliant.drawing import Drawing, Shape, upright
from pliant.inputs import Array
from pliant.laws import Law
from pliant.step import take_step
from pliant.studies.chain_page import PAGE, draw
from pliant.studies.linkage import GROUND, Linkage, Side
from pliant.studies.measure import claim, pick, widest
from pliant.studies.peers import Setting, Stepped, drake_peers, mujoco_settings, peer_of
from pliant.studies.study import Progress, Results, Study

LINKS, MASS, LENGTH = 20, 0.01, 0.05  # [kg], [m] of a link
END, RADIUS = 10.0, 0.05  # the weight, a ball [kg], [m]
ANGLE, GRAVITY = np.radians(30.0), 9.81  # [rad], [m/s^2]
STIFFNESS, DAMPING = 1e8, 1.0  # of the joints [N/m], [N s/m]
JOINT: Final = Law(STIFFNESS, DAMPING)
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)  # [s]
QUICK = (0.002, 0.01, 0.05)
DURATION, BRIEFLY = 60.0, 10.0  # [s]
CHOSEN, EARLY = 0.01, 10.0  # the step and the time [s] at which the loss is claimed
TORN = LENGTH  # a joint that is open by a link
SHAPES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75)  # [s] at which the chain is drawn
SHOWN, LOOKS = 500, 0.005  # points of a curve; [s] between two looks, or a step
OURS, WITHOUT = "pliant", "pliant, without K_g"
EXACT, NO_GAIN, LOSS = 1e-5, 1e-3, 0.15  # [m]; of the swing
IMPEDANCE: Final = 0.9999  # of MuJoCo's stiff joints


class Chain(Linkage):
    """Hangs from the origin; a link's arms point along it, the weight's pin is at its centre."""

    def __init__(
        self, links: int = LINKS, *, mass: float = MASS, length: float = LENGTH, end: float = END, law: Law = JOINT,
        turning: bool = True,
    ) -> None:  # fmt: skip
        self.links, self.length = links, length
        ends: list[Side] = [(GROUND, (0.0, 0.0)), *((i, (0.5 * length, 0.0)) for i in range(links))]
        starts: list[Side] = [*((i, (-0.5 * length, 0.0)) for i in range(links)), (links, (0.0, 0.0))]
        masses, inertias = [mass] * links + [end], [mass * length**2 / 12.0] * links + [0.4 * end * RADIUS**2]
        pins = list(zip(starts, ends, strict=True))
        super().__init__(masses, inertias, pins, law, gravity=GRAVITY, turning=turning)

    def hung(self, angle: float = ANGLE) -> tuple[Array, Array]:
        """(q, v): straight, at rest, at this angle [rad] off plumb."""
        along = np.array([np.sin(angle), -np.cos(angle)])
        far = self.length * np.append(np.arange(self.links) + 0.5, self.links)
        turn = np.append(np.full(self.links, angle - 0.5 * np.pi), 0.0)
        q = np.column_stack([far[:, None] * along, turn]).ravel()
        return q, np.zeros_like(q)

    def swing(self, q: Array) -> float:
        """[J] that the chain at rest in q has above the hanging one."""
        return self.energy(0.0, q, np.zeros_like(q))["gravitational"] - sum(self.energy(0.0, *self.hung(0.0)).values())

    def segments(self, q: Array) -> Array:
        """Both ends of every link, (links, 2, 2) [m]."""
        half = 0.5 * self.length
        return np.array([[self.point(q, i, (s * half, 0.0)) for s in (-1, 1)] for i in range(self.links)])

    def draw(self) -> Drawing:
        """Links and weight, y up."""
        names = [f"link {i}" for i in range(self.links)]
        shapes = [Shape.line(name, 0.006, colour="blue") for name in names]
        ball = Shape.sphere("weight", RADIUS, colour="vermillion")

        def place(time: float, q: Array) -> dict[str, Any]:
            rods = {name: (upright(a), upright(b)) for name, (a, b) in zip(names, self.segments(q), strict=True)}
            return {**rods, "weight": upright(q[-3:-1])}

        return Drawing([*shapes, ball], place)


class Runner(Protocol):
    """A chain that goes on; torn: by its own account. energy [J], widest: joint [m], segments as a `Chain` has them."""

    def step(self, count: int) -> None: ...
    @property
    def torn(self) -> bool: ...
    @property
    def energy(self) -> float: ...
    @property
    def widest(self) -> float: ...
    @property
    def segments(self) -> Array: ...


class Ours:
    """By `pliant.step`."""

    def __init__(self, step: float, *, turning: bool) -> None:
        self.system, self._h, self._steps, self._last = Chain(turning=turning), step, 0, None
        self.q, self.v = self.system.hung()

    def step(self, count: int) -> None:
        for _ in range(count):
            now, first = self._steps * self._h, self._steps == 0
            taken: Any = take_step(self.system, now, self.q, self.v, self._h, None, "auto", self._last, first=first)
            self.q, self.v, self._last = taken.q, taken.solution.velocity, taken.solution
            self._steps += 1

    @property
    def torn(self) -> bool:
        return not np.all(np.isfinite(self.q))

    @property
    def energy(self) -> float:
        return sum(self.system.energy(0.0, self.q, self.v).values())

    @property
    def widest(self) -> float:
        return widest(self.system, self.q)

    @property
    def segments(self) -> Array:
        return self.system.segments(self.q)


class Theirs:
    """By a peer, of free bodies and connects."""

    def __init__(self, runner: Any) -> None:
        self._runner, self.step = runner, runner.step

    @property
    def torn(self) -> bool:
        return isinstance(self._runner, Stepped) and self._runner.exploded

    @property
    def energy(self) -> float:
        return float(self._runner.energy)

    @property
    def segments(self) -> Array:
        place, (w, x, y, z) = self._runner.pose[0][:LINKS], self._runner.pose[1][:LINKS].T
        axis = np.column_stack([2.0 * (x * z + w * y), 1.0 - 2.0 * (x * x + y * y)])  # of the bodies' z, in the plane
        return place[:, None, [0, 2]] + 0.5 * LENGTH * np.array([-1.0, 1.0])[:, None] * axis[:, None]

    @property
    def widest(self) -> float:
        links, weight = self.segments, self._runner.pose[0][LINKS, [0, 2]]
        ends = np.vstack([np.zeros(2), links[:, 1]])
        return float(np.linalg.norm(np.vstack([links[:, 0], weight]) - ends, axis=1).max())


def model(step: float) -> str:
    """Free bodies in MJCF, their z along the chain, each held by a connect to the one before it."""
    along, inertia = np.array([np.sin(ANGLE), 0.0, -np.cos(ANGLE)]), MASS * LENGTH**2 / 12.0
    ball = 0.4 * END * RADIUS**2

    def body(name: int, far: float, mass: float, moments: tuple[float, float, float]) -> str:
        inertial = f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{_text(moments)}"/>'
        return f'<body name="{name}" pos="{_text(far * along)}" zaxis="{_text(along)}"><freejoint/>{inertial}</body>'

    links = "".join(body(i, (i + 0.5) * LENGTH, MASS, (inertia, inertia, 0.06 * inertia)) for i in range(LINKS))
    weight = body(LINKS, LINKS * LENGTH, END, (ball, ball, ball))
    pins = "".join(
        f'<connect body1="{i}" {f"""body2="{i - 1}" """ if i else ""}anchor="0 0 {-0.5 * LENGTH if i < LINKS else 0}"/>'
        for i in range(LINKS + 1)
    )
    return f"""<mujoco><option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
    <worldbody>{links}{weight}</worldbody><equality>{pins}</equality></mujoco>"""


def _text(numbers: Any) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)


def engines(step: float) -> dict[str, Any]:
    """What makes a runner, by name."""
    found: dict[str, Any] = {
        OURS: lambda: Ours(step, turning=True),
        WITHOUT: lambda: Ours(step, turning=False),
    }
    peers = [peer_of(_stiffened(one)) for one in mujoco_settings(STIFFNESS) if "discrete" not in one.name]
    peers += [peer for peer in drake_peers(STIFFNESS) if "SAP" in peer.name]
    return {**found, **{peer.name: lambda peer=peer: Theirs(peer.start(model(step))) for peer in peers}}


def _stiffened(setting: Setting) -> Setting:
    """The stiff one's joints are as its contacts."""

    def change(spec: Any) -> None:
        setting.change(spec)
        for equality in spec.equalities if "stiff" in setting.name else ():
            equality.solref = [2.0 * spec.option.timestep, 1.0]
            equality.solimp = [IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0]

    return setting._replace(change=change)


def swung(name: str, step: float, duration: float) -> Results:
    """A run: up to where a joint is open by a link, or an engine gives up."""
    runner: Runner = engines(step)[name]()
    system = Chain()
    q, v = system.hung()
    begin, swing = sum(system.energy(0.0, q, v).values()), system.swing(q)
    each, steps = max(1, round(LOOKS / step)), round(duration / step)
    time, energy, shapes, open_by, torn = [0.0], [0.0], [(0.0, runner.segments)], 0.0, False
    for done in range(each, steps + 1, each):
        try:
            runner.step(each)
        except RuntimeError:  # Drake
            torn = True
            break
        torn = runner.torn or not runner.widest < TORN
        now = done * step
        if torn:
            if np.all(np.isfinite(runner.segments)):
                shapes.append((now, runner.segments))
            break
        time.append(now)
        energy.append((runner.energy - begin) / swing)
        open_by = max(open_by, runner.widest)
        if any(abs(now - shown) < 0.5 * each * step for shown in SHAPES):
            shapes.append((now, runner.segments))
    thin = slice(None, None, -(-len(time) // SHOWN))
    early = round(EARLY / (each * step))
    return {
        "engine": name,
        "step": step,
        "duration": duration,
        "torn": done * step if torn else None,
        "open": None if torn else open_by,
        "gained": max(energy),
        "lost_early": -energy[early] if len(energy) > early else None,
        "lost": None if torn else -energy[-1],
        "time": time[thin],
        "energy": energy[thin],
        "shapes": [[now, segments.tolist()] for now, segments in shapes],
    }


def run(quick: bool, progress: Progress) -> Results:
    """Every engine at every step."""
    cases, duration = [], BRIEFLY if quick else DURATION
    for step in QUICK if quick else STEPS:
        for name in engines(step):
            progress(f"chain: {name}, h = {1e3 * step:g} ms, {duration:g} s")
            cases.append(swung(name, step, duration))
    system = Chain()
    tension = (END + LINKS * MASS) * GRAVITY
    return {
        "links": LINKS,
        "mass": MASS,
        "length": LENGTH,
        "end": END,
        "stiffness": STIFFNESS,
        "swing": system.swing(system.hung()[0]),
        "limit": 2.0 / float(np.sqrt(12.0 * tension / (MASS * LENGTH))),
        "cases": cases,
        "claims": claims(cases),
    }


def claims(cases: list[Results]) -> list[Results]:
    """What we say of it."""
    ours, without = pick(cases, engine=OURS), pick(cases, engine=WITHOUT)
    (chosen,) = pick(ours, step=CHOSEN)
    held = [case for case in ours if case["torn"] is None]
    wide = max((case["open"] for case in held), default=float("inf"))
    gained = max(case["gained"] for case in ours)
    long = [case for case in without if case["step"] >= min(QUICK)]
    where, span = "Chain", f"{ours[0]['duration']:g} s"
    steps = f"{1e3 * ours[0]['step']:g} to {1e3 * ours[-1]['step']:g} ms"

    def ours_is(says: str, measured: str, right: bool) -> Results:
        return claim(where, says, measured, "yes" if right else "no", ours=True)

    return [
        ours_is(
            f"with the geometric stiffness the chain holds for {span} at every step of {steps}, its joints open by "
            f"less than {EXACT:g} m",
            f"holds at {len(held)} of {len(ours)}; {wide:.2g} m at most",
            len(held) == len(ours) and wide < EXACT,
        ),
        ours_is(
            f"it never gains energy, to {NO_GAIN:g} of the swing",
            f"{gained:+.1e} of the swing at most",
            gained < NO_GAIN,
        ),
        ours_is(
            f"it loses at most {100 * LOSS:g} % of the swing in {EARLY:g} s at {1e3 * CHOSEN:g} ms",
            f"{100 * chosen['lost_early']:.1f} %" if chosen["lost_early"] is not None else "not reached",
            chosen["lost_early"] is not None and chosen["lost_early"] <= LOSS,
        ),
        ours_is(
            f"without it the chain tears at every step from {1e3 * min(QUICK):g} ms on",
            ", ".join(f"{case['torn']:.2g} s" if case["torn"] is not None else "holds" for case in long),
            all(case["torn"] is not None for case in long),
        ),
    ]


STUDY = Study("A chain of light links under a heavy weight, beside MuJoCo and Drake", run, draw, PAGE)
