"""Makes the pictures of the viewer in docs/images: each family by itself, four of them as one, and moving
pictures: that of the README (robots), and single robots (film_boom, film_hexapod_arm).

    scripts/run python docs/make_pictures.py [NAME ... | FILM ... | panels]

Wants a chromium; renders without a screen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import imageio.v3 as imageio  # noqa: E402
from browser import Page, browser  # noqa: E402
from PIL import Image  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.view import Viewer, aim, picture  # noqa: E402
from flexdyn_ros.view.kept import annotated, written_on  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 960, 600


def canadarm2(robot: Any) -> np.ndarray:
    """Held out and lifted, bent by its weight."""
    q = robot.neutral()
    set_named(robot, q, shoulder_pitch=-0.75, elbow_pitch=1.15, wrist_pitch=0.5)
    return robot.static_equilibrium(q, hold="joints").q


def soft_arm_3(robot: Any) -> np.ndarray:
    """Three sections that bend one after the other."""
    return np.array([0.0, 0.022, 0.012, 0.001, 0.024, 0.014, 0.026, 0.004, 0.004])


def mobile_arm(robot: Any) -> np.ndarray:
    """Where it stands at rest, the arm lifted."""
    q = robot.neutral()
    set_named(robot, q, shoulder=1.0, elbow=-1.2)
    return robot.static_equilibrium(q, hold=["base/x", "shoulder", "elbow"]).q


def stewart_1t(robot: Any) -> np.ndarray:
    """Tilted and lifted."""
    return robot.integrate(robot.neutral(), np.array([0.16, -0.12, 0.2, 0.05, 0.05, 0.06]), 1.0)


def seven_joint_arm(robot: Any) -> np.ndarray:
    """Reaching forward."""
    return np.array([0.5, -0.6, 0.2, -2.0, 0.0, 1.5, 0.0])


def boom_on_cylinder(robot: Any) -> np.ndarray:
    """Half way up."""
    return np.array([0.4])


def boom(robot: Any) -> np.ndarray:
    """Half way up, the second boom lowered, bent by its weight."""
    q = robot.neutral()
    set_named(robot, q, lift=0.55, fold=-0.9, tilt=0.3)
    return robot.static_equilibrium(q, hold=["lift", "fold", "tilt"]).q


def hexapod_arm(robot: Any) -> np.ndarray:
    """The platform tilted and lifted, the arm reaching over its edge."""
    tilt = np.zeros(robot.nv)
    tilt[:6] = [0.16, -0.12, 0.2, 0.01, 0.01, 0.02]
    q = robot.integrate(robot.neutral(), tilt, 1.0)
    set_named(robot, q, shoulder_yaw=0.5, shoulder_pitch=0.6, elbow_pitch=0.9, wrist_pitch=0.5)
    return q


def delta(robot: Any) -> np.ndarray:
    """Aside and lowered, on its rods."""
    q = robot.neutral()
    set_named(robot, q, motor_1=0.55, motor_2=0.05, motor_3=0.3)
    return robot.assemble(q, lock=robot.actuators)


def excavator(robot: Any) -> np.ndarray:
    """The arm lowered, the bucket half curled."""
    q = robot.neutral()
    set_named(robot, q, swing=0.3, lift=0.42, reach=0.15, curl=-0.5)
    return robot.assemble(q, lock=["swing", "lift", "reach", "curl"])


class Scene(NamedTuple):
    """A picture: robot, pose, what colours it, from where, share of the height that is looked at, factor of
    deformations."""

    robot: str
    pose: Callable[[Any], np.ndarray]
    colour: str
    preset: str
    closer: float
    magnification: float = 1.0


SCENES = (
    Scene("soft_arm_3", soft_arm_3, "displacement", "corner", 0.85),
    Scene("canadarm2", canadarm2, "moment", "corner", 0.95, 3.0),
    Scene("mobile_arm", mobile_arm, "moment", "corner", 0.78),
    Scene("stewart_1t", stewart_1t, "none", "corner", 0.74),
    Scene("seven_joint_arm", seven_joint_arm, "none", "corner", 0.85),
    Scene("boom_on_cylinder", boom_on_cylinder, "none", "corner", 0.85),
    Scene("boom", boom, "none", "corner", 0.85),
    Scene("hexapod_arm", hexapod_arm, "none", "corner", 0.74),
    Scene("delta", delta, "none", "corner", 0.85),
    Scene("excavator", excavator, "none", "corner", 0.85),
)


class Take(NamedTuple):
    """A part of a moving picture: robot, poses over a period (0 to 1), colours, share of the height that is
    looked at, its place (row, first column, columns), its title, and how many frames it has."""

    robot: str
    poses: Callable[[Any], Callable[[float], np.ndarray]]
    colour: str
    closer: float
    place: tuple[int, int, int]
    title: str
    frames: int = 32


def swinging(robot: Any) -> Callable[[float], np.ndarray]:
    """Its first two modes with locked joints, magnified."""
    q = robot.neutral()
    set_named(robot, q, shoulder_pitch=-0.75, elbow_pitch=1.15, wrist_pitch=0.5)
    first, second = (robot.modes(q, lock="joints").shape[:, i] for i in (0, 1))
    first, second = (1.3 * shape / np.abs(shape).max() for shape in (first, second))
    return lambda s: robot.integrate(q, first * np.sin(2 * np.pi * s) + second * np.cos(2 * np.pi * s), 1.0)


def reaching(robot: Any) -> Callable[[float], np.ndarray]:
    """To and fro."""
    middle, reach = np.array([0.5, -0.5, 0.2, -1.9, 0.0, 1.5, 0.0]), np.array([0.5, 0.25, 0, 0.45, 0, 0.3, 0])
    return lambda s: middle + reach * np.sin(2 * np.pi * (s + 0.05 * np.arange(7)))


def rolling(robot: Any) -> Callable[[float], np.ndarray]:
    """Over its road, simulated; its joints are held."""
    q = robot.neutral()
    set_named(robot, q, shoulder=1.0, elbow=-1.2)
    rest = robot.static_equilibrium(q, hold=["base/x", "shoulder", "elbow"])
    prescribed = {"shoulder": lambda t: (1.0, 0.0, 0.0), "elbow": lambda t: (-1.2, 0.0, 0.0)}
    prescribed["base/x"] = lambda t: (0.5 * t, 0.5, 0.0)
    v = np.zeros(robot.nv)
    v[robot.v_names.index("base/x")] = 0.5
    run = flexdyn_ros.simulate(robot, 2.4, rest.q, v, prescribed=prescribed, sample=0.01)
    return lambda s: run.q[int(s * (len(run) - 1))]


def breathing(robot: Any) -> Callable[[float], np.ndarray]:
    """A wave of pressures from section to section."""
    phase = np.repeat([0.0, 0.15, 0.3], 3) + np.tile([0.0, 1 / 3, 2 / 3], 3)
    return lambda s: 0.013 + 0.012 * np.sin(2 * np.pi * (s + phase))


def standing(robot: Any) -> Callable[[float], np.ndarray]:
    """Roll, pitch and heave as of a ship."""
    size, phase = np.array([0.17, 0.13, 0.06, 0.04, 0.04, 0.09]), np.array([0.0, 0.25, 0.1, 0.3, 0.0, 0.5])
    return lambda s: robot.integrate(robot.neutral(), size * np.sin(2 * np.pi * (s + phase)), 1.0)


def lifting(robot: Any) -> Callable[[float], np.ndarray]:
    """A boom with 500 kg, simulated: the valves let it up and down again."""
    loaded, q = robot.with_payload("load_point", 500.0), robot.neutral()
    set_named(robot, q, lift=0.2, fold=-0.5)
    q = loaded.static_equilibrium(q, hold=["lift", "fold", "tilt"]).q
    times, ways = [0.0, 0.5, 1.7, 2.2, 2.8, 3.3, 4.5, 5.0], [0.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0, 0.0]

    def valves(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
        way = float(np.interp(t, times, ways))
        # down they need less: the load helps
        lift, fold = (0.6, -0.3) if way > 0.0 else (0.38, -0.55)
        return {"lift_cylinder/valve": lift * way, "fold_cylinder/valve": fold * way}

    run = flexdyn_ros.simulate(loaded, 5.6, q, dt=1e-3, control=valves, record_every=10)
    return lambda s: run.q[int(s * (len(run) - 1))]


def carrying(robot: Any) -> Callable[[float], np.ndarray]:
    """An arm on six legs, simulated: legs and joints are held to waves of 4 s, after two of them."""
    arm = ("shoulder_yaw", "shoulder_pitch", "elbow_pitch", "wrist_pitch")
    at, rate = ([names.index(name) for name in arm] for names in (robot.q_names, robot.v_names))
    still, legs = np.zeros(robot.nv), robot.cylinder_states(robot.neutral(), np.zeros(robot.nv)).length
    middle, reach = np.array([0.0, 0.5, 0.9, 0.0]), np.array([0.9, 0.4, 0.9, 0.5])
    phase, times = np.array([0.0, 1.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0, 2.0])
    stiffness, damping = np.array([200.0, 200.0, 120.0, 30.0]), np.array([20.0, 20.0, 10.0, 2.0])

    def held(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        turn, begun = 0.5 * np.pi * t, min(t, 1.0)
        tau = robot.inverse_dynamics(q, still, still, actuators="all").copy()
        goal = begun * (middle + reach * np.sin(turn * times + phase))
        tau[rate] += stiffness * (goal - q[at]) - damping * v[rate]
        leg = robot.cylinder_states(q, v)
        goal = legs + 0.02 * begun * np.sin(turn + 1.05 * np.arange(6))
        tau[robot.nv :] += 2e4 * (goal - leg.length) - 8e2 * leg.rate
        return tau

    run = flexdyn_ros.simulate(robot, 8.0, dt=2e-3, control=held, record_every=5)
    half = (len(run) - 1) // 2
    return lambda s: run.q[half + int(s * half)]


TAKES = (
    Take("canadarm2", swinging, "moment", 0.62, (0, 0, 3), "modes 1 and 2 of Canadarm2, amplitude magnified"),
    Take("mobile_arm", rolling, "moment", 0.6, (0, 3, 3), "mobile manipulator on a sine road"),
    Take("soft_arm_3", breathing, "displacement", 0.55, (1, 0, 2), "soft continuum arm"),
    Take("stewart_1t", standing, "none", 0.8, (1, 2, 2), "Stewart platform"),
    Take("seven_joint_arm", reaching, "none", 0.9, (1, 4, 2), "rigid manipulator"),
)
#: moving pictures by the names of their files
FILMS = {
    "robots": TAKES,
    "film_boom": (
        Take("boom", lifting, "moment", 0.58, (0, 0, 3), "boom with 500 kg on three cylinders", 75),
    ),
    "film_hexapod_arm": (
        Take("hexapod_arm", carrying, "none", 0.8, (0, 0, 3), "arm on six electric legs", 53),
    ),
}
#: of moving pictures: milliseconds a frame, pixels of a row and of a column, colours
PERIOD, ROW, COLUMN, COLOURS = 75, 260, 160, 200


def set_named(robot: Any, q: np.ndarray, **values: float) -> None:
    """Coordinates by name."""
    for name, value in values.items():
        q[robot.q_names.index(name)] = value


def taken(chrome: Any, scene: Scene, port: int) -> np.ndarray:
    """Pixels (height, width, 3) of a scene."""
    robot = flexdyn_ros.load(scene.robot)
    viewer = Viewer(robot, port=port)
    try:
        page = Page(chrome, viewer.port, WIDTH, HEIGHT)
        look = viewer.panels.look
        look.colouring.value = scene.colour
        if look.magnification is not None:
            look.magnification.value = scene.magnification
        viewer.restart_colours()
        viewer.pose(scene.pose(robot))
        if scene.colour == "moment":
            # static equilibria: moments follow from it
            viewer.source = "rest"
        (client,) = viewer.server.get_clients().values()
        low, high = viewer.shown.bounds(viewer.q)
        aim(client.camera, scene.preset, low, high, beside_panel=False, closer=scene.closer)
        page.page.wait_for_timeout(3000)
        with viewer.unlabelled():
            page.page.wait_for_timeout(1000)
            return annotated(viewer, client, imageio.imread(picture(client))[..., :3])
    finally:
        viewer.close()


def filmed(chrome: Any, take: Take, port: int) -> list[np.ndarray]:
    """Frames (ROW, width, 3) of one robot."""
    robot, width = flexdyn_ros.load(take.robot), COLUMN * take.place[2]
    poses = take.poses(robot)
    viewer = Viewer(robot, port=port)
    try:
        page = Page(chrome, viewer.port, WIDTH, HEIGHT)
        viewer.panels.look.colouring.value = take.colour
        viewer.restart_colours()
        viewer.pose(poses(0.0))
        (client,) = viewer.server.get_clients().values()
        bounds = np.array([viewer.shown.bounds(poses(i / 8)) for i in range(8)])
        low, high = bounds[:, 0].min(0), bounds[:, 1].max(0)
        aim(client.camera, "corner", low, high, beside_panel=False, closer=take.closer)
        page.page.wait_for_timeout(3000)
        # once for the scale of colours, which is that of the largest value
        for i in range(take.frames):
            viewer.pose(poses(i / take.frames))
            viewer.redraw_now()
        top, frames = viewer.scale[1], []
        for i in range(take.frames):
            # it stays, however slowly frames come
            viewer.picture.range.take(top, time.monotonic())
            viewer.pose(poses(i / take.frames))
            client.flush()
            page.page.wait_for_timeout(120)
            frame = client.get_render(2 * ROW, 2 * width, transport_format="jpeg")[..., :3]
            frames.append(written_on(frame, take.title, take.colour, viewer.scale[1]))
        return [f.reshape(ROW, 2, width, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8) for f in frames]
    finally:
        viewer.close()


def palette_of(image: Image.Image) -> Image.Image:
    """Greys by how much there is of them, and colours by how far they reach."""
    methods = (Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE)
    numbers = [image.quantize(COLOURS // 2, m).getpalette()[: 3 * (COLOURS // 2)] for m in methods]
    palette = Image.new("P", (1, 1))
    palette.putpalette([level for part in numbers for level in part])
    return palette


def make_film(chrome: Any, name: str) -> None:
    """docs/images/NAME.gif: all takes of a film side by side, in one palette."""
    # pages of closed viewers ask for their ports again
    takes, first = FILMS[name], 8800 + 100 * list(FILMS).index(name)
    rows = 1 + max(take.place[0] for take in takes)
    columns = max(sum(take.place[1:]) for take in takes)
    whole = np.zeros((takes[0].frames, rows * ROW, columns * COLUMN, 3), np.uint8)
    for number, take in enumerate(takes):
        row, column, width = take.place
        part = whole[:, row * ROW : (row + 1) * ROW, column * COLUMN : (column + width) * COLUMN]
        part[...] = filmed(chrome, take, first + 10 * number)
        print(f"filmed {take.robot}", flush=True)
    palette = palette_of(Image.fromarray(np.concatenate(whole[::8])))
    frames = [Image.fromarray(f).quantize(palette=palette, dither=Image.Dither.NONE) for f in whole]
    path = IMAGES / f"{name}.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=PERIOD, loop=0, optimize=True)
    print(f"{path.name}, {path.stat().st_size / 1e6:.2f} MB")


def make_panels(chrome: Any) -> None:
    """docs/images/viewer_link.png and others of the whole page of Canadarm2, panel included."""
    viewer = Viewer(flexdyn_ros.load("canadarm2"), port=8690, robots=[scene.robot for scene in SCENES])
    panels = viewer.panels

    def keep(name: str, page: Page) -> None:
        page.page.wait_for_timeout(3000)
        shot = Image.fromarray(page.screenshot())
        smaller = shot.resize((round(shot.width * 0.75), round(shot.height * 0.75)), Image.Resampling.LANCZOS)
        (smaller if shot.width > 400 else shot).save(IMAGES / f"viewer_{name}.png", optimize=True)
        print(f"viewer_{name}.png", flush=True)

    try:
        viewer.rest()
        viewer.cameras.frame_scene()
        phone = opened(chrome, viewer.port, 390, 844)
        keep("phone", phone)
        phone.page.close()
        page = opened(chrome, viewer.port, 1440, 900)
        panels.look.overlays["moments"].value = True
        panels.links.pick("boom_2")
        page.tab("Link")
        keep("link", page)
        panels.look.overlays["moments"].value = False
        panels.links.pick("none")
        panels.look.show_ghost(False)
        panels.look.colouring.value = "none"
        viewer.pose(viewer.robot.neutral())
        for box in panels.links.marks.values():
            box.value = True
        keep("inertia", page)
        for box in panels.links.marks.values():
            box.value = False
        page.tab("Run")
        page.page.get_by_label("Rigid twin").check()
        page.until(lambda: viewer.twin is not None, "there is no twin")
        page.press("Simulate from this pose")
        page.until(lambda: viewer.source == "run", "there is no run")
        page.press("Pause")
        page.page.wait_for_timeout(1000)
        page.fill("Time [s]", 2.0)
        page.page.mouse.move(400, 800)
        keep("twin", page)
    finally:
        viewer.close()


def opened(chrome: Any, port: int, width: int, height: int) -> Page:
    """A page without what viser says about browsers that have no graphics processor."""
    page = Page(chrome, port, width, height)
    page.page.wait_for_timeout(2000)
    for button in page.page.locator(".mantine-Notification-closeButton").all():
        button.click()
    return page


def main() -> None:
    wanted = sys.argv[1:]
    stills = [scene for scene in SCENES if not wanted or scene.robot in wanted]
    with browser() as chrome:
        if not wanted or "panels" in wanted:
            make_panels(chrome)
        for name in FILMS:
            if not wanted or name in wanted:
                make_film(chrome, name)
        for scene in stills:
            one = taken(chrome, scene, 8700 + 10 * SCENES.index(scene))
            imageio.imwrite(IMAGES / f"viewer_{scene.robot}.png", one, optimize=True)
            print(f"viewer_{scene.robot}.png", flush=True)
    if not stills:
        return
    four = [imageio.imread(IMAGES / f"viewer_{scene.robot}.png") for scene in SCENES[:4]]
    rows = [np.concatenate(four[i : i + 2], axis=1) for i in (0, 2)]
    all_of_them = np.concatenate(rows, axis=0).astype(float)
    half = all_of_them.reshape(HEIGHT, 2, WIDTH, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)
    imageio.imwrite(IMAGES / "families.png", half, optimize=True)
    print("families.png")


if __name__ == "__main__":
    main()
