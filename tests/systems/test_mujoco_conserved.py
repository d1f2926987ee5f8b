"""What keeps its energy, its loop, its precession and its place, at steps of 10 ms."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pliant

ROD = '<geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" contype="0" conaffinity="0"/>'
HINGE = '<joint type="hinge" axis="0 1 0"/>'
TURNING = {
    "rod": (f'<body><joint type="ball"/>{ROD}</body>', "0 0 -9.81", [1.0, 2.0, 3.0]),
    "double pendulum": (f'<body>{HINGE}{ROD}<body pos=".5 0 0">{HINGE}{ROD}</body></body>', "0 0 -9.81", [0.0, 0.0]),
    "box": ('<body><freejoint/><geom type="box" size=".1 .2 .3"/></body>', "0 0 0", [0.0, 0.0, 0.0, 0.1, 10.0, 0.2]),
}


def made(world: str, step: float, gravity: str = "0 0 -9.81", rest: str = "") -> Any:
    option = f'<option timestep="{step}" gravity="{gravity}"><flag energy="enable"/></option>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{world}</worldbody>{rest}</mujoco>")


def energy(model: Any, data: Any) -> tuple[float, float]:
    """All of it, and that of motion."""
    seen = mujoco.MjData(model)
    seen.qpos[:], seen.qvel[:] = data.qpos, data.qvel
    mujoco.mj_forward(model, seen)
    return float(seen.energy.sum()), float(seen.energy[1])


def gain(name: str, seconds: int) -> tuple[float, float]:
    """By how much energy changes at most, and ends, over the most there is of motion."""
    world, gravity, speed = TURNING[name]
    model = made(world, 0.01, gravity)
    data = mujoco.MjData(model)
    data.qvel[:] = speed
    before, most = energy(model, data)
    changes = []
    for _ in range(seconds):
        pliant.mj_step(model, data, 100)
        now, motion = energy(model, data)
        most = max(most, motion)
        changes.append(now - before)
    return max(map(abs, changes)) / most, changes[-1] / most


@pytest.mark.parametrize("name", TURNING)
def test_energy_is_kept_for_a_minute(name):
    assert gain(name, 60)[0] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", TURNING)
def test_energy_is_not_gained_in_an_hour(name):
    assert gain(name, 3600)[1] < 0.1


def precession(joint: str, step: float, seconds: float, theirs: bool = False) -> float:
    """Of a top of 300 rad/s [rad/s]: the mean turn of its axis about the vertical."""
    top = f"""<body name="top" euler="17 0 0">{joint}<inertial pos="0 0 .1" mass="1" diaginertia=".001 .001 .002"/>
      <geom size=".01" mass="0" contype="0" conaffinity="0"/></body>"""
    loop = '<equality><connect body1="top" anchor="0 0 0"/></equality>' if "free" in joint else ""
    model = made(top, step, rest=loop)
    data = mujoco.MjData(model)
    data.qvel[-1] = 300.0
    angles, every = [], round(2e-3 / step)
    if theirs:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    for _ in range(round(seconds / step) // every):
        (mujoco.mj_step if theirs else pliant.mj_step)(model, data, every)
        mujoco.mj_kinematics(model, data)
        axis = data.xmat[1].reshape(3, 3)[:, 2]
        angles.append(np.arctan2(axis[1], axis[0]))
    return float(np.polyfit(every * step * np.arange(len(angles)), np.unwrap(angles), 1)[0])


def test_a_top_precesses_as_a_fine_runge_kutta_run_says():
    expected = precession('<joint type="ball"/>', 2e-5, 0.5, theirs=True)
    assert precession('<joint type="ball"/>', 1e-3, 0.5) == pytest.approx(expected, rel=0.01)


def test_a_top_that_a_loop_holds_precesses_too():
    expected = precession('<joint type="ball"/>', 2e-5, 0.25, theirs=True)
    assert precession("<freejoint/>", 1e-4, 0.25) == pytest.approx(expected, rel=0.05)


class SlidingTop:
    """A top of 300 rad/s on a round tip that slides on the floor: by Newton and Euler, and as a model."""

    RADIUS, ARM, FRICTION, GRAVITY = 0.005, 0.1, 0.02, 9.81
    INERTIA = np.diag([0.001, 0.001, 0.002])  # of 1 kg, about its centre
    TILT = Rotation.from_euler("x", 17.0, degrees=True)
    SPIN = np.array([0.0, 0.0, 1.66]) + TILT.apply(
        [0.0, 0.0, 300.0]
    )  # it precesses already: without nutation it never lifts
    ARM_START = TILT.apply([0.0, 0.0, -ARM])  # from the centre of mass to that of the tip

    def rate(self, time: float, y: Any) -> Any:
        """Of (position, rotation vector, velocity, angular velocity); the contact neither lifts nor sinks."""
        q, v, w = y[3:7] / np.linalg.norm(y[3:7]), y[7:10], y[10:]
        turn = Rotation.from_quat(q).as_matrix()
        inertia = turn @ self.INERTIA @ turn.T
        arm = -self.ARM * turn[:, 2]
        lever = arm - [0.0, 0.0, self.RADIUS]
        slip = (v + np.cross(w, lever))[:2]
        push = np.append(-self.FRICTION * slip / np.linalg.norm(slip), 1.0)
        free, pushed = np.linalg.solve(inertia, np.array([-np.cross(w, inertia @ w), np.cross(lever, push)]).T).T
        lifting = np.cross(free, arm) + np.cross(w, np.cross(w, arm))
        force = (self.GRAVITY - lifting[2]) / (1.0 + np.cross(pushed, arm)[2])
        assert force > 0.0
        turning = 0.5 * np.append(q[3] * w + np.cross(w, q[:3]), -w @ q[:3])
        fall = force * push - [0.0, 0.0, self.GRAVITY]
        return np.concatenate([v, turning, fall, free + force * pushed])

    def expected(self, times: Any) -> Any:
        """The axis of the top, (n, 3)."""
        velocity = -np.cross(self.SPIN, self.ARM_START)
        start = np.concatenate([-self.ARM_START, self.TILT.as_quat(), velocity, self.SPIN])
        found = solve_ivp(self.rate, (0.0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-11, method="DOP853")
        return Rotation.from_quat(found.y[3:7].T).apply([0.0, 0.0, 1.0])

    def found(self, times: Any, step: float) -> Any:
        rough = f'friction="{self.FRICTION} 0 0"'
        top = f"""<body pos="0 0 {self.RADIUS}" euler="17 0 0"><freejoint/><geom size="{self.RADIUS}" mass="0" {rough}/>
          <inertial pos="0 0 {self.ARM}" mass="1" diaginertia=".001 .001 .002"/></body>"""
        model = made(f'<geom type="plane" size="0 0 1" {rough}/>' + top, step)
        data = mujoco.MjData(model)
        data.qvel[3:] = self.TILT.inv().apply(self.SPIN)
        axes = []
        for _ in times:
            mujoco.mj_kinematics(model, data)
            axes.append(data.xmat[1].reshape(3, 3)[:, 2].copy())
            pliant.mj_step(model, data, round((times[1] - times[0]) / step))
        return np.array(axes)


def test_a_top_on_a_sliding_tip_precesses_as_newton_and_euler_say():
    """And rises, as friction at the tip makes it."""
    top, times = SlidingTop(), np.arange(0.0, 0.2501, 2e-3)
    expected, found = top.expected(times), top.found(times, 1e-4)
    rates = [np.polyfit(times, np.unwrap(np.arctan2(axis[:, 1], axis[:, 0])), 1)[0] for axis in (expected, found)]
    assert rates[1] == pytest.approx(rates[0], rel=0.05)
    rises = [np.arccos(axis[0, 2]) - np.arccos(axis[-1, 2]) for axis in (expected, found)]
    assert rises[1] == pytest.approx(rises[0], rel=0.2) and rises[0] > 0.005


def bennett(step: float) -> Any:
    """Four links whose hinges are skew: it moves only because its rows depend on each other."""
    a, b, alpha, turn = 0.3, 0.2, np.deg2rad(40.0), 1.0
    beta = np.arcsin(b * np.sin(alpha) / a)
    ratio = np.sin((beta + alpha) / 2.0) / np.sin((beta - alpha) / 2.0)
    other = 2.0 * np.arctan(ratio / np.tan(turn / 2.0))
    degrees = np.rad2deg([turn, alpha, other, beta, -turn])

    def ends(at: float, twist: float) -> list[str]:
        return [f"{at} {-0.05 * s * np.sin(twist)} {0.05 * s * np.cos(twist)}" for s in (-1, 1)]

    def link(angle: float, length: float, rest: str) -> str:
        shape = f'<geom type="capsule" fromto="0 0 0 {length} 0 0" size=".01" contype="0" conaffinity="0"/>'
        return f'<body euler="0 0 {angle}"><joint axis="0 0 1"/>{shape}{rest}</body>'

    sites = "".join(f'<site name="p{k}" pos="{at}"/>' for k, at in enumerate(ends(a, alpha)))
    last = f'<body pos="{b} 0 0" euler="{degrees[3]} 0 0">{link(degrees[4], a, sites)}</body>'
    middle = f'<body pos="{a} 0 0" euler="{degrees[1]} 0 0">{link(degrees[2], b, last)}</body>'
    ground = "".join(f'<site name="q{k}" pos="{at}"/>' for k, at in enumerate(ends(-b, -beta)))
    loop = "".join(f'<connect site1="p{k}" site2="q{k}"/>' for k in range(2))
    return made(ground + link(degrees[0], a, middle), step, "3 0 -9", f"<equality>{loop}</equality>")


def meet(p: Any, q: Any, a: float, b: float) -> Any:
    """The point at a distance a from p and b from q, on the left of the way from p to q."""
    far = np.linalg.norm(q - p)
    along = (a**2 - b**2 + far**2) / (2.0 * far)
    x = (q - p) / far
    return p + along * x + np.sqrt(a**2 - along**2) * np.array([-x[1], x[0]])


def watt(step: float) -> Any:
    """Six links in a vertical plane: a four-bar whose coupler and rocker carry two more, which meet."""
    A0, B0 = np.array([0.0, 0.0]), np.array([0.4, 0.0])
    A = 0.15 * np.array([np.cos(1.0), np.sin(1.0)])
    B = meet(A, B0, 0.35, 0.3)
    C, D = meet(A, B, 0.25, 0.25), meet(B, B0, 0.2, 0.25)
    E = meet(C, D, 0.3, 0.3)

    def link(at: Any, origin: Any, ends: list[tuple[str, Any]], rest: str = "") -> str:
        x, z = at - origin
        shapes = "".join(
            f'<geom type="capsule" fromto="0 0 0 {e[0]} 0 {e[1]}" size=".01" contype="0" conaffinity="0"/>'
            f'<site name="{name}" pos="{e[0]} 0 {e[1]}"/>'
            for name, e in ((name, end - at) for name, end in ends)
        )
        return f'<body pos="{x} 0 {z}"><joint axis="0 1 0"/>{shapes}{rest}</body>'

    coupler = link(A, A0, [("b", B), ("c", C)], link(C, A, [("e", E)]))
    rocker = link(B0, A0, [("b0", B), ("d", D)], link(D, B0, [("e0", E)]))
    crank = link(A0, A0, [("a", A)], coupler)
    loops = '<connect site1="b" site2="b0"/><connect site1="e" site2="e0"/>'
    return made(crank + rocker, step, rest=f"<equality>{loops}</equality>")


@pytest.mark.parametrize("linkage", [bennett, watt])
def test_a_linkage_stays_closed(linkage):
    model = linkage(0.01)
    data = mujoco.MjData(model)
    before, most = energy(model, data)
    gap = 0.0
    for _ in range(400):
        pliant.mj_step(model, data)
        most = max(most, energy(model, data)[1])
        seen = mujoco.MjData(model)
        seen.qpos[:] = data.qpos
        mujoco.mj_fwdPosition(model, seen)
        gap = max(gap, float(np.abs(seen.efc_pos).max()))
    assert gap < 1e-6
    assert before - 0.02 * most < energy(model, data)[0] < before + 0.02 * most


@pytest.mark.parametrize("size", [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])
def test_stacks_of_any_size_carry_their_weight(size):
    """Of water's density, without a material, dropped by a tenth of their size."""
    half, mass = 0.5 * size, 1e3 * size**3
    box = f'<freejoint/><geom type="box" size="{half} {half} {half}" mass="{mass}"/>'
    boxes = "".join(f'<body pos="0 0 {(0.6 + 1.1 * k) * size}">{box}</body>' for k in range(4))
    model = made(f'<geom type="plane" size="{size} {size} 1"/>{boxes}', 0.01)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 500)
    assert np.abs(data.qpos[2::7] - (np.arange(4) + 0.5) * size).max() < 1e-3 * size
    assert data.qfrc_constraint[2::6].sum() == pytest.approx(4 * mass * 9.81, rel=1e-6)


def chain(step: float) -> Any:
    """20 free links of 10 g and 5 cm under 10 kg, 30 degrees off the vertical."""
    along = np.array([0.5, 0.0, -np.sqrt(0.75)])
    bodies, loops = "", ""
    for k in range(20):
        x, y, z = 0.05 * (k + 0.5) * along
        bodies += f"""<body pos="{x} {y} {z}" euler="0 -30 0"><freejoint/><site name="b{k}" pos="0 0 -.025"/>
          <geom type="capsule" fromto="0 0 .025 0 0 -.025" size=".005" mass=".01" contype="0" conaffinity="0"/>
          <site name="t{k}" pos="0 0 .025"/></body>"""
        loops += f'<connect site1="t{k}" site2="{f"b{k - 1}" if k else "hook"}"/>'
    x, y, z = along
    bodies += f"""<body pos="{x} {y} {z}"><freejoint/><site name="weight"/>
      <geom size=".05" mass="10" contype="0" conaffinity="0"/></body>"""
    loops += '<connect site1="weight" site2="b19"/>'
    return made('<site name="hook"/>' + bodies, step, rest=f"<equality>{loops}</equality>")


def test_a_chain_of_light_links_holds_a_weight():
    """Above 2 sqrt(m l / (12 T)), 1.3 ms, it would tear if the tension did not turn with the links."""
    model = chain(0.01)
    data = mujoco.MjData(model)
    before, _ = energy(model, data)
    for _ in range(100):
        pliant.mj_step(model, data, 10)
        seen = mujoco.MjData(model)
        seen.qpos[:] = data.qpos
        mujoco.mj_fwdPosition(model, seen)
        assert np.abs(seen.efc_pos).max() < 1e-4
        assert energy(model, data)[0] < before + 1e-3
