"""What the viewer colours moments by: equilibrium where accelerations are known, else the mode shapes."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.expanded.colour_scale import UNKNOWN, labelled

pytest.importorskip("viser")
pytest.importorskip("trimesh")

from flexdyn_ros.view import Viewer
from flexdyn_ros.view.drawing.loads import Moment, along_links
from flexdyn_ros.view.drawing.shown_robot import STATIONS, ShownRobot


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("canadarm2")


def norms(found):
    return {name: np.linalg.norm(each.moment, axis=-1) for name, each in found.items()}


def test_tubes_take_moments_from_loads(arm):
    rng = np.random.default_rng(4)
    q, v, tau = arm.neutral(), 0.1 * rng.normal(size=arm.nv), rng.normal(size=arm.nu)
    q[5:] = 1e-3 * rng.normal(size=arm.nq - 5)
    loads = along_links(arm, Moment(q, v, tau, q, held=False), STATIONS)
    expected = norms(arm.loads(q, v, arm.forward_dynamics(q, v, tau), stations=STATIONS))
    shown = ShownRobot(arm)
    for tube, state in zip(shown.tubes, shown.tube_states(q, "moment", (q, v), loads), strict=True):
        np.testing.assert_array_equal(state.value, expected[tube.name])
    for tube, state in zip(shown.tubes, shown.tube_states(q, "displacement", (q, v), loads), strict=True):
        bent = arm.deflections(q, STATIONS)[tube.name].displacement
        np.testing.assert_array_equal(state.value, np.linalg.norm(bent, axis=-1))


def test_strains_that_are_not_known_are_shown_as_moments_beside_the_undeformed_shape(arm):
    """Canadarm2 states rigidities, no sections: as the markers of rviz do."""
    viewer = Viewer(arm, port=8296)
    try:
        assert not viewer.picture.ghost.visible
        assert viewer.rest()
        assert viewer.picture.ghost.visible
        assert viewer.panels.look.ghost.value
        viewer.panels.look.colouring.value = "strain"
        viewer.redraw_now()
        assert labelled(viewer.scale[0]) == "moment, by equilibrium"
        assert viewer.scale[1] > 1.0
        assert "moment, by equilibrium" in viewer.legend
    finally:
        viewer.close()


def test_a_tube_of_unknown_strain_is_grey():
    text = flexdyn_ros.load("flexible_two_link").description.text
    numbers = '<beam mass_per_length="0.47" EIy="1.6" EIz="1600" GJ="6"/>'
    known = '<beam><rectangle width="0.0015" height="0.04"/><material name="steel"/></beam>'
    assert known in text
    robot = flexdyn_ros.load(text.replace(known, numbers))
    viewer = Viewer(robot, port=8296)
    try:
        viewer.pose(1e-3 * robot.random(np.random.default_rng(3)))
        viewer.panels.look.colouring.value = "strain"
        viewer.redraw_now()
        assert viewer.scale[0] == "strain"
        found = viewer.shown.tube_states(viewer.q, "strain")
        assert np.isfinite(viewer.scale[1])
        assert viewer.scale[1] == np.abs(robot.deflections(viewer.q, STATIONS)["link_1"].strain).max()
        assert [np.isfinite(state.value).all() for state in found] == [True, False]
        colours = dict(viewer.picture.scene.parts)["link_2"].batched_colors
        assert {tuple(row) for row in colours.tolist()} == {UNKNOWN}
    finally:
        viewer.close()


def test_accelerations_beyond_limits_and_robots_without_loads_have_none(arm):
    q, still = arm.neutral(), np.zeros(arm.nv)
    q[0] = arm.coordinates[0].upper + 0.1
    assert along_links(arm, Moment(q, still, still, q, held=False), STATIONS) == {}
    assert along_links(arm, Moment(q, still, still, q, held=True), STATIONS) != {}
    for limit in (arm.coordinates[0].lower, arm.coordinates[0].upper):
        q[0] = limit
        assert along_links(arm, Moment(q, still, still, q, held=False), STATIONS) != {}
    soft = flexdyn_ros.load("soft_arm_3")
    q, still = soft.neutral(), np.zeros(soft.nv)
    assert along_links(soft, Moment(q, still, np.zeros(soft.nu), q, held=True), STATIONS) == {}


def test_the_colour_bar_says_what_moments_follow_from(arm):
    """At rest and in runs equilibrium, in poses mode shapes, which do not know of accelerations."""
    viewer = Viewer(arm, port=8296)
    try:
        assert viewer.rest()
        viewer.restart_colours()
        viewer.redraw_now()
        q, still = viewer.q, np.zeros(arm.nv)
        found = norms(arm.loads(q, still, still, stations=STATIONS))
        quantity, top = viewer.scale
        assert labelled(quantity) == "moment, by equilibrium"
        assert top == max(found[tube.name].max() for tube in viewer.shown.tubes)
        viewer.pose(q)
        viewer.restart_colours()
        viewer.redraw_now()
        quantity, top = viewer.scale
        assert labelled(quantity) == "moment, from mode shapes"
        assert top == max(x.max() for x in norms(arm.deflections(q, STATIONS)).values())
        run = flexdyn_ros.simulate(arm, 0.02, q, sample=0.01)
        viewer.play(run)
        viewer.show_time(0.02)
        viewer.redraw_now()
        assert labelled(viewer.scale[0]) == "moment, by equilibrium"
    finally:
        viewer.close()
