"""`flexdyn_ros.check`: the report on a description."""

from dataclasses import FrozenInstanceError
from math import inf, pi, sqrt

import pytest
from models import joint, link, robot_text

import flexdyn_ros
from flexdyn_ros.checking import Mobility
from flexdyn_ros.errors import DescriptionError


def pendulum(lower: float = -3.0, kind: str = "revolute", mass: float = 2.0) -> str:
    """A rod of 2 kg that hangs on a base of 1.5 kg."""
    limit = f'<limit lower="{lower}" upper="3" effort="100" velocity="10"/>'
    return robot_text(
        "pendulum",
        link("base", 1.5),
        link("rod", mass, (0, 0, -0.5), (0.1, 0, 0, 0.1, 0, 0.01)),
        joint("hinge", kind, "base", "rod", axis=(0, 1, 0), more=limit),
    )


def test_the_report_says_what_was_understood():
    report = flexdyn_ros.check(pendulum())
    assert isinstance(report, flexdyn_ros.Report)
    assert (report.name, report.kind, report.root, report.base) == ("pendulum", "tree", "base", "fixed")
    assert (report.nq, report.nv, report.nu) == (1, 1, 1)
    assert report.mass == 3.5
    assert report.gravity == (0.0, 0.0, -9.80665)
    assert [(b.link, b.mass, b.joint, b.joint_type, b.parent) for b in report.bodies] == [
        ("base", 1.5, None, None, None),
        ("rod", 2.0, "hinge", "revolute", "base"),
    ]
    assert report.coordinates[0].upper == 3.0
    assert report.frequencies_free == pytest.approx((sqrt(2 * 9.80665 * 0.5 / 0.6) / (2 * pi),), rel=1e-9)
    assert report.frequencies_locked == ()
    assert report.overrides == report.warnings == report.notes == ()
    assert report.mobility == Mobility(1, 0, 1, (), (), ())
    assert report.loads == ()


def test_the_report_is_frozen():
    with pytest.raises(FrozenInstanceError):
        flexdyn_ros.check(pendulum()).mass = 1.0


def test_arguments_are_those_of_load():
    report = flexdyn_ros.check(pendulum(), options={"gravity": [0, 0, -1.62]}, name="moon", modes=0)
    assert report.name == "moon"
    assert report.gravity == (0.0, 0.0, -1.62)
    assert [o.path for o in report.overrides] == ["gravity"]
    assert report.frequencies_free == ()
    with pytest.raises(DescriptionError, match="mass"):
        flexdyn_ros.check(pendulum(mass=-2.0))


def test_a_neutral_position_outside_the_limits_is_told():
    report = flexdyn_ros.check(pendulum(lower=0.25))
    (note,) = report.notes
    for word in ("hinge", "0.25", "neutral"):
        assert word in note
    assert report.warnings == ()
    assert flexdyn_ros.check(pendulum(lower=0.25, kind="continuous")).coordinates[0].lower == -inf
    assert flexdyn_ros.check(pendulum(lower=0.25, kind="continuous")).notes == ()


def test_bodies_have_the_masses_that_the_robot_has():
    """Also flexible links without <inertial>, whose mass is that of beam and bodies."""
    import re

    text = flexdyn_ros.load("flexible_two_link").description.text
    bare = re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL)
    assert bare != text
    for source in (text, bare):
        for options in ({}, {"formulation.flexible": False}):
            found = flexdyn_ros.check(source, options=options)
            assert sum(body.mass for body in found.bodies) == pytest.approx(found.mass, rel=1e-12)
            assert all(body.mass > 0.1 for body in found.bodies if body.link.startswith("link_"))
