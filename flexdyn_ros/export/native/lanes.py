"""Batches of robots that the C compiler compiled: eight samples at a time, in the lanes of its vectors."""

from __future__ import annotations

from importlib.resources import files

from flexdyn_ros.export.c_code.dialects import Vectors
from flexdyn_ros.export.c_code.text import not_read, text_of
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.robot.verbs import Robot

#: samples that go together
LANES = 8


def lane_sources(robot: Robot) -> tuple[dict[str, str], int]:
    """C files {name: text}, and numbers of work memory for rows."""
    equations, parts, work = Equations(robot), [], 0
    for verb in ("inverse_dynamics", "forward_dynamics"):
        function = equations.function(verb)
        text = text_of(function, "lanes", Vectors())
        inputs = ", ".join(f"const vec *{name}" for name, _ in function.inputs)
        (output,) = (name for name, _ in function.outputs)
        calls = "\n".join(f"    {call}" for call in text.calls)
        unused = not_read((*(name for name, _ in function.inputs), output, "work"), calls)
        parts += [
            *text.pieces,
            f"static void lanes_{verb}({inputs}, vec *{output}, vec *work)\n{{\n{unused}{calls}\n}}\n",
        ]
        work = max(work, text.work)
    sizes = {"NQ": robot.nq, "NV": robot.nv, "NU": robot.nu}
    folder = files("flexdyn_ros.export.native") / "sources"
    source = "\n".join(
        [
            '#include "lanes.h"\n',
            *(f"#define {key} {size}" for key, size in sizes.items()),
            "",
            *parts,
            (folder / "rows.c").read_text(encoding="utf-8"),
        ]
    )
    return {"lanes.h": (folder / "lanes.h").read_text(encoding="utf-8"), "rows.c": source}, LANES * work
