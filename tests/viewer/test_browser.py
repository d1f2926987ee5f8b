"""What people see and click: a real browser, drawn in software."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import mujoco
import numpy as np
import pytest

import pliant
from pliant.viewer.door import open_source
from pliant.viewer.playback import Playback
from pliant.viewer.simulation import Simulation
from pliant.viewer.view import View

from .conftest import ROLLING, load, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]  # no graphics card
SIZE = {"width": 1000, "height": 640}
PANEL = 350  # [px] on the right
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("packages"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, as Debian's package of this name has it"),
]


class Page:
    """A page of the browser, and all that it complained of or asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))

    def picture(self) -> Any:
        """(height, width, 3) from 0 to 1, of the scene without the panel."""
        from matplotlib.image import imread

        shot = self.page.screenshot(clip={"x": 0, "y": 0, "width": SIZE["width"] - PANEL, "height": 590}, timeout=90e3)
        return np.asarray(imread(io.BytesIO(shot), format="png"))[:, :, :3]

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def fill(self, label: str, text: str) -> None:
        """viser ties labels to check boxes only, so the field is the one in the same row."""
        row = f'xpath=//label[normalize-space(.)="{label}"]/ancestor::div[.//input][1]//input'
        self.page.locator(row).last.fill(text)
        self.page.wait_for_timeout(250)  # nobody types faster: of several changes at once viser's page sends the last


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs pliant[browser]", exc_type=ImportError)
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable[[str], Page]]:
    pages = []

    def opened(address: str) -> Page:
        pages.append(Page(browser.new_page(viewport=SIZE)))
        pages[-1].page.goto(address)
        pages[-1].page.locator("canvas").first.wait_for(timeout=60e3)
        return pages[-1]

    yield opened
    for page in pages:
        page.page.close()
        assert page.complaints == []


def wait_for(happens: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return found


def differs(page: Page, before: Any) -> bool:
    """Whether something is drawn that was not there."""
    return bool((np.abs(page.picture() - before).max(axis=2) > 0.1).sum() > 30)


def reds(picture: Any) -> Any:
    """Where the picture is red; the bar beside viser's note on software rendering is orange."""
    return (picture[:, :, 0] > 0.3) & (picture[:, :, 0] > 2.2 * picture[:, :, 1:].max(axis=2))


def red_place(page: Page) -> tuple[float, float]:
    """The middle of what is red, once it is drawn and stands still."""
    before: list[tuple[float, float]] = []

    def found() -> tuple[float, float] | None:
        rows, columns = np.nonzero(reds(page.picture()))
        place = (float(rows.mean()), float(columns.mean())) if len(rows) > 100 else None
        still = place is not None and before and np.hypot(*np.subtract(place, before[-1])) < 0.5
        before[:] = [place] if place is not None else []
        return place if still else None

    return cast(tuple[float, float], wait_for(found))


def test_a_model_is_drawn_and_runs(open_page):
    with running(View(open_source(ROLLING), port=0)) as view:
        page = open_page(view.url)
        red_place(page)  # that rests
        wait_for(lambda: view.source.time > 0.5)
        page.page.get_by_text("solved: every law holds to the tolerance").wait_for()
        page.press("Pause")
        wait_for(lambda: view.paused)
        stopped = view.source.time
        time.sleep(0.5)
        assert view.source.time == stopped
        page.press("Step")
        wait_for(lambda: view.source.time == pytest.approx(stopped + 0.01))
        page.press("Reset")
        wait_for(lambda: view.source.time == 0.0)
        page.press("Play")
        wait_for(lambda: view.source.time > 0.1)


def test_check_boxes_draw_and_explain(open_page):
    with running(View(open_source(ROLLING), port=0)) as view:
        page = open_page(view.url)
        wait_for(lambda: view.source.time > 0.5)
        page.press("Pause")
        red_place(page)
        for label, said in (
            ("See through", None),
            ("Contact points", "stick: friction holds"),
            ("Contact forces", "1 m = "),
            ("Friction cones", "slips on its rim"),
        ):
            before = page.picture()
            page.page.get_by_label(label).check()
            wait_for(partial(differs, page, before))
            if said:
                page.page.get_by_text(said).first.wait_for()
        page.page.get_by_label("Auto scale").uncheck()
        page.fill("1 m is [N]", "123")
        wait_for(lambda: view.scene.overlays.force.per_metre == 123.0)
        page.page.get_by_text("1 m = 123 N").first.wait_for()


def test_pressure_and_limits_have_legends_of_their_own(open_page):
    scene = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="3 3 1"/>
      <body pos="0 0 .1"><freejoint/><geom name="sole" type="box" size=".15 .15 .1" mass="1" rgba="1 0 0 1"/></body>
      <body pos=".5 0 .5"><joint name="knee" axis="0 1 0" range="-1 10"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1"/></body></worldbody></mujoco>"""
    sole = pliant.Foundation(1e5, 0.02, elements=100, side="-z", damping=10.0)
    source = open_source(mujoco.MjModel.from_xml_string(scene), materials={"sole": sole})
    with running(View(source, port=0, see_through=True)) as view:
        page = open_page(view.url)
        wait_for(lambda: view.source.time > 2.0)
        page.page.get_by_label("Foundation pressure").check()
        page.page.get_by_text("200 Pa").wait_for()  # 9.81 N on 0.09 m^2
        page.page.get_by_label("Limits and equalities").check()
        page.page.get_by_text("joint:knee 1.449 N m").wait_for()


def test_a_softer_material_sinks_in_while_one_looks(open_page):
    with running(View(open_source(ROLLING), port=0)) as view:
        page = open_page(view.url)
        wait_for(lambda: view.source.time > 0.5)
        hard = view.scene.moment.deepest
        page.tab("Change")
        page.fill("Young's modulus [Pa]", "1e7")
        page.fill("Step [ms]", "5")
        page.fill("Friction", "0.25")
        page.press("Apply")
        wait_for(lambda: view.scene.moment.deepest > 300.0 * hard)
        wait_for(lambda: view.source.step_size == pytest.approx(0.005))
        assert set(view.scene.moment.friction) == {1.0, 0.25} or set(view.scene.moment.friction) == {0.25}
        page.fill("Young's modulus [Pa]", "soft")
        page.press("Apply")
        page.page.get_by_text("'soft' is no number").wait_for()
        page.tab("Plots")
        plots = "Object.values(window.__viserTestpoints.uplots).map(p => p.chart.data.map(d => Math.max(...d)))"
        wait_for(lambda: page.page.evaluate(f"window.__viserTestpoints?.uplots ? {plots}.length : 0") == 5)
        page.page.get_by_text("Largest penetration [").wait_for()
        highest = wait_for(lambda: [part[1] for part in page.page.evaluate(plots)])
        assert highest[0] > 5.0 and all(np.isfinite(highest))


def test_the_solver_can_be_exchanged(open_page):
    source = open_source(ROLLING)
    assert isinstance(source, Simulation)
    with running(View(source, port=0)) as view:
        page = open_page(view.url)
        page.tab("Change")
        page.page.get_by_label("Solver").click()
        page.page.get_by_role("option", name="Convex").click()
        page.press("Apply")
        wait_for(lambda: isinstance(source.solver, pliant.Convex))
        wait_for(lambda: view.source.time > 0.2)


def test_the_camera_follows_a_body(open_page, rolling):
    source = open_source(rolling)
    assert isinstance(source, Playback)
    with running(View(source, port=0, paused=True)) as view:
        page = open_page(view.url)
        start = red_place(page)
        page.tab("Scene")
        page.page.get_by_label("Camera follows").check()
        wait_for(lambda: np.abs(view.scene.bodies.offset).max() > 0.05)
        assert red_place(page)[1] == pytest.approx(start[1], abs=5)  # nothing jumps
        page.fill("Time [s]", "1")
        wait_for(lambda: view.scene.bodies.offset[0] == pytest.approx(-source.shown.xpos[1, 0]) and source.k == 100)
        assert red_place(page)[1] == pytest.approx(start[1], abs=5)


def test_a_run_is_played_back(open_page, rolling):
    run, source = load(rolling), open_source(rolling)
    assert isinstance(source, Playback)
    with running(View(source, port=0, paused=True)) as view:
        page = open_page(view.url)
        start = red_place(page)
        page.fill("Time [s]", "1")
        wait_for(lambda: source.time == pytest.approx(1.0))
        wait_for(lambda: abs(red_place(page)[1] - start[1]) > 50)  # it has rolled
        assert source.shown.xpos[1] == pytest.approx(run.q[-1, :3])
        page.press("Step back")
        wait_for(lambda: source.k == len(run) - 2)
        page.press("Step")
        wait_for(lambda: source.k == len(run) - 1)
        page.press("Reset")
        wait_for(lambda: source.k == 0)
        wait_for(lambda: abs(red_place(page)[1] - start[1]) < 5)
        page.press("Play")
        wait_for(lambda: source.ended and view.paused)
        page.page.get_by_text("t = 1.0000 s").wait_for()
        page.press("Play")  # once more from the start
        wait_for(lambda: 0 < source.k < len(run) - 1)


def test_a_page_plays_from_the_disk(open_page, rolling, tmp_path):
    path: Path = tmp_path / "page.html"
    pliant.export_html(rolling, path, see_through=False)
    page = open_page(path.as_uri())
    page.page.get_by_text("steps of 10 ms").wait_for()
    clock = page.page.locator("input").first

    def column_at(seconds: str) -> float:
        def arrived() -> bool:
            clock.fill(seconds)  # which pauses it
            time.sleep(2.0)  # software draws what was asked for before
            return abs(float(clock.input_value()) - float(seconds)) < 0.06  # it shows one digit

        wait_for(arrived)
        return red_place(page)[1]

    start, end = column_at("0.001"), column_at("0.99")
    assert abs(end - start) > 50
    assert column_at("0.001") == pytest.approx(start, abs=3)
    assert start < column_at("0.5") < end
    stopped = clock.input_value()
    page.page.mouse.click(300, 300)  # away from the field: there a space is a space
    page.page.keyboard.press("Space")
    wait_for(lambda: clock.input_value() != stopped)
    asked = [request for request in page.requests if not request.startswith(("blob:", "data:"))]
    assert asked == [path.as_uri()]  # nothing but the file itself
