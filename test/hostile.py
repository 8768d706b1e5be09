"""Descriptions that attack whoever reads them; each once, for the reader and for the nodes."""

from __future__ import annotations

NAMESPACE = "http://www.ros.org/wiki/xacro"
_CLASSES = "().__class__.__base__.__subclasses__()"
#: bodies of a robot; {marker} is a file that must not come to be
EXPRESSIONS = {
    "a shell by a chain of attributes in a lambda": '<link name="${{(lambda: [c for c in '
    + _CLASSES
    + " if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('touch {marker}'))()}}\"/>",
    "a program by a chain of attributes": '<link name="${{[c for c in '
    + _CLASSES
    + " if c.__name__ == 'Popen'][0](['touch', '{marker}'])}}\"/>",
    "a power that never ends": '<link name="${{9**9**9}}"/>',
    "the environment": '<link name="$(env FLEXDYN_SECRET)"/>',
    "the environment, optional": '<link name="$(optenv FLEXDYN_SECRET none)"/>',
    "evaluated substitution": "<link name=\"$(eval env('FLEXDYN_SECRET'))\"/>",
    "a file by load_yaml": "<link name=\"${{xacro.load_yaml('/etc/hostname')}}\"/>",
    "a file by include": '<xacro:include filename="/etc/hostname"/>',
    "a macro that calls itself": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "a folder": '<link name="$(find flexdyn_ros)$(cwd)"/>',
}


def robot(body: str) -> str:
    """A robot of one link and a body that declares xacro."""
    return f'<robot name="r" xmlns:xacro="{NAMESPACE}">\n<link name="a"/>\n{body}\n</robot>'


def links(count: int, joint: str = "fixed") -> str:
    """A chain of so many links."""
    parts = [f'<link name="l{i}"/>' for i in range(count)]
    parts += [
        f'<joint name="j{i}" type="{joint}"><parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    ]
    return f'<robot name="r">{"".join(parts)}</robot>'


def mimics(count: int, leader: str = "j{}") -> str:
    """Joints of which each mimics the one before."""
    joint = (
        '<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="base"/><child link="l{i}"/>'
        "{mimic}</joint>"
    )
    parts = [
        joint.format(i=i, mimic=f'<mimic joint="{leader.format(i + 1)}"/>' if i < count else "")
        for i in range(1, count + 1)
    ]
    return f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>'


def _one(body: str) -> str:
    return f'<robot name="r"><link name="a"/>{body}</robot>'


#: texts that are refused, made when they are asked for
LARGE = {
    "450,000 links": lambda: links(450_000),
    "450,000 links without joints": lambda: _one("".join(f'<link name="{i}"/>' for i in range(450_000))),
    "100,000 links in short words": lambda: _one("".join(f"<link\tname='{i}'/>" for i in range(100_000))),
    "20,000 links and no joint": lambda: _one("".join(f'<link name="{i}"/>' for i in range(19_999))),
    "eleven megabytes of blanks": lambda: _one(" " * 11_000_000),
    "two million elements": lambda: _one("<a/>" * 2_000_000),
    "a million attributes and more": lambda: _one("<a b='' c='' d='' e='' f=''/>" * 220_000),
    "a hundred thousand levels": lambda: _one("<a>" * 100_000 + "</a>" * 100_000),
    "a name of nine megabytes": lambda: _one(f'<link name="{"a" * 9_000_000}"/>'),
    "a number of nine megabytes": lambda: _one(
        f'<link name="b"><inertial><mass value="{"9" * 9_000_000}"/></inertial></link>'
    ),
    "a parent that is nearly one of 20,000": lambda: links(20_000).replace(
        'parent link="l19998"', 'parent link="l1999x"'
    ),
    "20,000 mimic joints in a circle": lambda: mimics(19_999).replace('joint="j19999"', 'joint="j1"'),
    "20,000 mimic joints in a row": lambda: mimics(19_999),
    "20,000 names of blanks that mimic nobody": lambda: mimics(19_999, "_" * 200 + "{}"),
}
#: texts that are read
LEGAL = {
    "20,000 links": lambda: links(20_000, "continuous"),
    "240,000 different words of no meaning": lambda: _one(
        '<link name="b">' + "".join(f"<visuel{i}/>" for i in range(240_000)) + "</link>"
    ).replace("</robot>", '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>'),
}

_BOMB = "".join(f'<!ENTITY a{i} "{10 * f"&a{i - 1};"}">' for i in range(1, 12))
DOCUMENT_TYPES = {
    "entities that multiply": f'<!DOCTYPE r [<!ENTITY a0 "aaaaaaaaaa">{_BOMB}]>'
    + _one('<link name="&a11;"/>'),
    "one long entity many times": f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}">]>'
    + _one(f'<link name="{"&a;" * 10_000}"/>'),
    "an external entity": '<!DOCTYPE r [<!ENTITY a SYSTEM "SECRET">]>' + _one("<x>&a;</x>"),
    "an external parameter entity": '<!DOCTYPE r [<!ENTITY % a SYSTEM "SECRET"> %a;]>' + _one(""),
    "an external document type": '<!DOCTYPE robot SYSTEM "SECRET">' + _one(""),
    "a document type alone": "<!DOCTYPE robot>" + _one(""),
}

STL = """solid a
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid a
"""
