"""`derive --as python`: names of a description are text in the module that is printed, whatever they hold."""

import ast

import pytest

import flexdyn_ros
from flexdyn_ros.derivation import derive

#: each would run, or end what it stands in
HOSTILE = (
    '"""+str(print("ran"))+"""', "'''+str(1)+'''", '"', '\\"""', "\\", "a\\", '"""', "x&#10;import os",
    "x&#13;y", "{0}", "#", '"); print("ran', "\\N{BULLET}", "\\x41", "&#x2028;b", "&#x9b;2J", "%s",
)  # fmt: skip


def described(robot="arm", joint="j", link="l", tip="t"):
    def quoted(name):
        return name.replace('"', "&quot;").replace("'", "&apos;").replace("<", "&lt;")

    names = {"robot": robot, "joint": joint, "link": link, "tip": tip}
    return """<robot name='{robot}'><link name='base'/><link name='{link}'><inertial><origin xyz='0.5 0 0'/>
    <mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='{tip}'><inertial><mass value='2'/>
    <inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <joint name='{joint}' type='revolute'><parent link='base'/><child link='{link}'/><axis xyz='0 1 0'/>
    <limit lower='-1' upper='1' effort='1' velocity='1'/></joint>
    <joint name='weld' type='fixed'><parent link='{link}'/><child link='{tip}'/></joint></robot>""".format(
        **{key: quoted(name) for key, name in names.items()}
    )


@pytest.mark.parametrize("place", ["robot", "joint", "link", "tip"])
@pytest.mark.parametrize("name", HOSTILE)
def test_the_module_is_the_same_program_whatever_things_are_called(name, place):
    plain = derive(flexdyn_ros.load(described()).description, "lagrange").python()
    robot = flexdyn_ros.load(described(**{place: name}))
    source = derive(robot.description, "lagrange").python()
    tree = ast.parse(source)
    tree.body[0].value.value = ast.parse(plain).body[0].value.value
    assert ast.dump(tree) == ast.dump(ast.parse(plain))
    text = ast.get_docstring(ast.parse(source), clean=False)
    if place == "robot":
        assert robot.name in text
    if place == "joint":
        assert robot.v_names[0] in text
    assert source.replace("\n", "").isprintable()
    found = {}
    exec(compile(source, "derived.py", "exec"), found)
    ours = robot.inverse_dynamics([0.3], [0.5], [0.7])
    assert found["inverse_dynamics"]([0.3], [0.5], [0.7]) == pytest.approx(ours, rel=1e-12)


@pytest.mark.parametrize("form", ["text", "latex"])
def test_other_forms_hold_no_control_characters(form):
    robot = flexdyn_ros.load(described(robot="a&#x9b;2J", joint="b&#x202e;c", link="x&#10;y"))
    printed = getattr(derive(robot.description, "newton_euler", steps=True), form)()
    assert printed.replace("\n", "").isprintable()
