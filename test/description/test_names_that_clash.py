"""Names of joints and links that equal those of coordinates and frames which a robot has by itself."""

import pytest

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
FORM = """<robot name="r"><link name="w">{root}</link><link name="boom">{boom}</link>
<link name="{link}">{body}</link>
<joint name="{joint}" type="continuous"><parent link="w"/><child link="boom"/><axis xyz="0 1 0"/></joint>
<joint name="fixed" type="fixed"><parent link="boom"/><child link="{link}"/><origin xyz="1 0 0"/></joint>
{more}</robot>"""
FLOATING = '<flexdyn><base type="floating"/></flexdyn>'
BEND = (
    '<flexdyn reference="boom"><beam EIz="100" EIy="100" mass_per_length="1" length="1"/>'
    '<modes bending_z="1"/></flexdyn>'
)
MOTOR = (
    f'<link name="c">{BODY}</link><joint name="j" type="continuous"><parent link="w"/><child link="c"/>'
    '</joint><flexdyn reference="j"><rotor inertia="1"/><joint_elasticity stiffness="9"/></flexdyn>'
)


def load(joint="i", link="end", more="", root="", boom=""):
    return flexdyn_ros.load(FORM.format(joint=joint, link=link, more=more, root=root, boom=boom, body=BODY))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"joint": "base/x", "root": BODY, "more": FLOATING}, "base/x"),
        ({"joint": "base/qw", "root": BODY, "more": FLOATING}, "base/qw"),
        ({"joint": "boom/bending_z/1", "more": BEND}, "boom/bending_z/1"),
        ({"joint": "j/motor", "more": MOTOR}, "j/motor"),
        ({"link": "boom/tip", "more": BEND}, "boom/tip"),
        ({"link": "boom@0.5", "more": BEND}, "boom@0.5"),
        ({"link": "boom@root", "more": BEND}, "boom@root"),
    ],
)
def test_a_name_that_the_robot_has_by_itself_is_refused(given, name):
    with pytest.raises(DescriptionError, match="by itself") as caught:
        load(**given)
    assert (caught.value.value, caught.value.attribute) == (name, "name")
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "given",
    [
        {"joint": "base/x"},
        {"joint": "boom/bending_z/2", "more": BEND},
        {"link": "boom/tip"},
        {"link": "boom@0.5"},
        {"link": "w@0.5", "more": BEND},
        {"link": "boom@2", "more": BEND},
    ],
)
def test_such_a_name_is_fine_where_nothing_else_has_it(given):
    assert load(**given).nv
