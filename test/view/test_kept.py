"""Films and pages as files: of every format, whole or not at all, and a page that a browser opens from
disk."""

import io

import numpy as np
import pytest
from browser import browser, chromium
from pendulums import double_pendulum
from typer.testing import CliRunner

import flexdyn_ros
from flexdyn_ros.cli import app
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.view.film import encoded

pytest.importorskip("viser")

from flexdyn_ros.view import Viewer, write_film, write_page

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def viewer():
    viewer = Viewer(double_pendulum(), port=8370)
    viewer.play(flexdyn_ros.simulate(viewer.robot, 0.2, [0.9, 0.0]))
    yield viewer
    viewer.close()


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, (33, 47, 3), dtype=np.uint8) for _ in range(3)]


def test_films_of_every_format_hold_their_frames(images):
    import imageio.v3 as imageio

    for suffix in (".gif", ".png", ".apng"):
        found = imageio.imread(encoded(images, suffix, 10.0), index=None, extension=".png")
        assert found.shape[:3] == (3, 33, 47), suffix
    np.testing.assert_array_equal(found[1][..., :3], images[1])


def test_a_gif_begins_again_for_ever_and_shows_each_image_as_long(images):
    from PIL import Image

    with Image.open(io.BytesIO(encoded(images, ".gif", 20.0))) as film:
        assert film.info["loop"] == 0
        assert film.info["duration"] == 50


def test_a_film_for_players_holds_its_frames(images):
    pytest.importorskip("imageio_ffmpeg")
    import imageio.v3 as imageio

    found = imageio.imread(encoded(images, ".mp4", 10.0), plugin="FFMPEG", extension=".mp4")
    assert found.shape[:3] == (3, 32, 46)


def test_the_scale_on_a_film_is_that_of_the_colours():
    from flexdyn_ros.expanded.colour_scale import colours_of
    from flexdyn_ros.view.kept import written_on

    bare = np.full((200, 400, 3), 240, dtype=np.uint8)
    image = written_on(bare, "robot", "moment", 3.0)
    inside = np.any(np.all(image == [253, 231, 37], axis=-1), axis=1)  # the last colour
    row = image[np.flatnonzero(inside)[0]].astype(int)
    bar = row[8 : 8 + 112]
    np.testing.assert_allclose(bar, colours_of(np.linspace(0.0, 1.0, 112)), atol=1)
    assert np.array_equal(written_on(bare, ""), bare)


def test_a_film_is_made_by_a_browser_without_a_window(viewer, tmp_path):
    chromium()
    heard = []
    folder = write_film(
        viewer, tmp_path / "frames", rate=20.0, size=(160, 90), report=lambda n, of: heard.append((n, of))
    )
    import imageio.v3 as imageio

    pictures = [imageio.imread(path).astype(int) for path in sorted(folder.iterdir())]
    assert heard == [(n, 4) for n in range(1, 5)]
    assert [picture.shape for picture in pictures] == [(90, 160, 3)] * 4
    # each picture is of its own moment: the rods fall further and further from where they began
    far = [np.abs(picture - pictures[0]).sum() for picture in pictures]
    assert 0 == far[0] < far[1] < far[2] < far[3]
    assert viewer.source == "run"
    with pytest.raises(FlexdynError, match="there already"):
        write_film(viewer, folder, rate=20.0, size=(160, 90))


@pytest.mark.parametrize("name", ["film.avi", "film.txt"])
def test_a_film_of_another_format_is_refused_before_anything_is_drawn(viewer, tmp_path, name):
    with pytest.raises(FlexdynError, match=r"expected one of \.mp4"):
        write_film(viewer, tmp_path / name, rate=20.0, size=(160, 90))
    assert not list(tmp_path.iterdir())


def test_a_file_without_a_folder_is_refused_before_anything_is_drawn(viewer, tmp_path):
    for write, name in ((write_film, "x.gif"), (write_page, "x.html")):
        options = {"rate": 20.0, "size": (160, 90)} if write is write_film else {}
        with pytest.raises(FlexdynError, match="no folder"):
            write(viewer, tmp_path / "none" / name, **options)


def test_a_page_is_opened_from_disk_and_plays(viewer, tmp_path):
    viewer.play(flexdyn_ros.simulate(viewer.robot, 1.0, [0.9, 0.0]))
    page_file = write_page(viewer, tmp_path / "scene.html")
    assert page_file.stat().st_size < 2e6
    assert [path.name for path in tmp_path.iterdir()] == ["scene.html"]
    with browser() as chrome:
        page = chrome.new_page(viewport={"width": 480, "height": 320})
        errors, asked = [], []
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        page.locator("canvas").first.wait_for()
        page.get_by_text("double_pendulum").first.wait_for()
        page.wait_for_timeout(1500)
        import imageio.v3 as imageio

        shots = []
        for _ in range(4):
            shots.append(imageio.imread(page.screenshot())[:260, :, :3].astype(int))
            page.wait_for_timeout(60)
        moved = max(np.mean(np.abs(shot - shots[0]).max(axis=-1) > 40) for shot in shots)
        # two thin rods
        assert moved > 0.0005
        assert not errors
        assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


def test_a_name_in_a_page_is_text(tmp_path):
    robot = flexdyn_ros.load('<robot name="a&lt;script&gt;b"><link name="base"/></robot>')
    viewer = Viewer(robot, port=8380)
    try:
        text = write_page(viewer, tmp_path / "x.html").read_text()
    finally:
        viewer.close()
    assert "a<script>b" not in text
    assert "<title>a&lt;script&gt;b</title>" in text


def test_the_command_writes_a_page_and_ends(tmp_path):
    done = CliRunner().invoke(
        app, ["view", "two_link", "--still", "--html", str(tmp_path / "a.html"), "--look", "side", "--dark"]
    )
    assert done.exit_code == 0, done.output
    assert "darkMode:true" in (tmp_path / "a.html").read_text()
    wrong = CliRunner().invoke(app, ["view", "two_link", "--film", "x.mp4", "--size", "big"])
    assert wrong.exit_code != 0
    assert "WIDTHxHEIGHT" in " ".join((wrong.output + str(wrong.exception)).split())


def test_a_picture_has_a_bar_of_a_round_length():
    from flexdyn_ros.view.kept import written_on

    bare = np.full((200, 400, 3), 240, dtype=np.uint8)
    image = written_on(bare, "", metre=230.0)
    # the longest row of ink: half a metre is more than the 28 % that it may take, 0.2 m is not
    ink = np.all(image == [34, 36, 40], axis=-1).sum(axis=1)
    assert ink.max() == pytest.approx(0.2 * 230.0, abs=2)


@pytest.mark.parametrize("letter", "×²µθéü–·")
def test_letters_of_titles_are_none_that_the_font_lacks(letter):
    from flexdyn_ros.view.kept import written_on

    bare = np.full((200, 400, 3), 240, dtype=np.uint8)
    assert (written_on(bare, letter) != written_on(bare, chr(0xFFFE))).any()


def test_titles_tell_what_is_shown_with_time_and_magnification(viewer):
    viewer.show_time(0.1)
    assert viewer.picture.title == f"{viewer.robot.name}   t = 0.10 s"
    arm = Viewer(flexdyn_ros.load("mobile_arm"), port=8380)
    try:
        assert arm.rest()
        factor = arm.panels.magnification
        assert factor > 1.0
        assert arm.picture.title == f"mobile_arm   at rest under gravity, deformation × {factor:g}"
        arm.pose(arm.q)
        assert arm.picture.caption == f"deformation × {factor:g}"
    finally:
        arm.close()
