"""Two booms in free fall: simulated seconds per second, beside Exudyn's reduced floating-frame model.

Each boom: 7 m, 30 kg/m, EI 3.8e6 N m2 in both planes, GJ 1.5e6 N m2; hub and elbow turn about y, a point of
100 kg at the tip; released at rest, horizontal, under 9.81 m/s2; 2 s. Both sides are line-mass beams on
clamped-free eigenfunctions without geometric stiffening. Ours has three modes in each bending plane (14
coordinates); Exudyn is given the three of the plane of motion only (18 coordinates), which is all that this
fall excites. Each side takes the longest of a list of steps at which its tip stays within 1 mm of its own
converged answer; then both are timed in turns.

    python benchmarks/bench_exudyn.py [--turns N] [--quick]        needs `pip install exudyn`
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.families.trees.flexible.beams.bases import chosen_modes
from flexdyn_ros.families.trees.flexible.beams.properties import beam_link

DURATION, LENGTH, LINE_MASS, PAYLOAD, GRAVITY = 2.0, 7.0, 30.0, 100.0, 9.81
#: largest distance of the tip from the converged answer [m]
ERROR = 1e-3
STEPS = (0.02, 0.0125, 0.01, 0.008, 0.005, 0.004, 0.0025, 0.002, 0.001, 0.0005, 0.00025, 0.000125)
#: of a quick run
QUICK_STEPS = (0.01, 0.005, 0.002, 0.001)

BOOM = """<flexdyn reference="{name}">
    <beam axis="1 0 0" length="7" mass_per_length="30" EIy="3.8e6" EIz="3.8e6" GJ="1.5e6"/>
    <modes bending_y="{y}" bending_z="3"/></flexdyn>"""
URDF = """<robot name="two_booms"><link name="base"/><link name="boom_1"/><link name="boom_2"/>
  <link name="payload"><inertial><mass value="100"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="hub" type="continuous"><parent link="base"/><child link="boom_1"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="boom_1"/><child link="boom_2"/>
    <origin xyz="7 0 0"/><axis xyz="0 1 0"/></joint>
  <joint name="mount" type="fixed"><parent link="boom_2"/><child link="payload"/><origin xyz="7 0 0"/></joint>
  <flexdyn><gravity>0 0 -9.81</gravity><formulation rotary_inertia="none" stiffening="none"/></flexdyn>
  {booms}</robot>"""


def two_booms(bending_y: int = 3):
    """Our robot."""
    booms = "".join(BOOM.format(name=name, y=bending_y) for name in ("boom_1", "boom_2"))
    return flexdyn_ros.load(URDF.format(booms=booms))


# ---- ours ----


def fall(robot, step: float, duration: float = DURATION) -> tuple[float, np.ndarray]:
    """Seconds of wall time and the tip (3,) at the end."""
    begin = time.perf_counter()
    result = flexdyn_ros.simulate(
        robot, duration, dt=step, method="rosenbrock", record=(), record_every=round(duration / step)
    )
    return time.perf_counter() - begin, robot.frames(result.q[-1], "boom_2/tip")[:3, 3]


# ---- theirs ----


class Booms:
    """The same two booms in Exudyn: nodal masses on the corners of sections, our eigenfunctions as modes."""

    SECTIONS = 41
    CORNER = 0.01

    def __init__(self) -> None:
        robot = two_booms(bending_y=0)
        link = beam_link(robot.description, robot.description.flexible_links["boom_1"])
        modes = chosen_modes(link, np.zeros((4, 4)))
        stations = np.linspace(0.0, 1.0, self.SECTIONS)
        displacement, rotation, _, _ = link.fields_along(modes, stations)
        self.stiffness = link.integrals(modes, "none").K
        corners = self.CORNER * np.array([[0, 1, 1], [0, 1, -1], [0, -1, -1], [0, -1, 1]])
        along = np.array([LENGTH, 0.0, 0.0])
        self.nodes = (stations[:, None, None] * along + corners).reshape(-1, 3)
        moved = displacement[:, :, None, :] + np.cross(rotation[:, :, None, :], corners)
        self.basis = moved.reshape(len(modes), -1).T
        simpson = np.ones(self.SECTIONS)
        simpson[1:-1:2], simpson[2:-1:2] = 4.0, 2.0
        self.masses = np.repeat(simpson / simpson.sum() * LINE_MASS * LENGTH / 4.0, 4)

    def interface(self, payload: float):
        """Exudyn's reduced model of one boom with a mass on its tip."""
        import exudyn
        from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
        from scipy.sparse import csr_matrix, diags

        masses = self.masses.copy()
        masses[-4:] += payload / 4.0
        M = diags(np.repeat(masses, 3)).tocsr()
        reduced = self.basis.T @ (M @ self.basis)
        lift = M @ self.basis @ np.linalg.inv(reduced)
        fem = FEMinterface()
        fem.nodes = {"Position": self.nodes}
        fem.massMatrix, fem.stiffnessMatrix = M, csr_matrix(lift @ self.stiffness @ lift.T)
        fem.modeBasis = {"matrix": self.basis, "type": "NormalModes"}
        return ObjectFFRFreducedOrderInterface(fem, rigidBodyNodeType=exudyn.NodeType.RotationRotationVector)

    def assemble(self):
        """The system and the sensor of its tip."""
        import exudyn
        from exudyn.itemInterface import (
            GenericJoint,
            LoadMassProportional,
            MarkerBodyMass,
            MarkerBodyRigid,
            MarkerSuperElementRigid,
            ObjectGround,
            SensorSuperElement,
        )

        container = exudyn.SystemContainer()
        system = container.AddSystem()
        ground = system.AddObject(ObjectGround())
        before = system.AddMarker(MarkerBodyRigid(bodyNumber=ground))
        first, last = list(range(4)), list(range(len(self.nodes) - 4, len(self.nodes)))
        quarter = [0.25] * 4
        for number, payload in enumerate((0.0, PAYLOAD)):
            added = self.interface(payload).AddObjectFFRFreducedOrder(
                system,
                positionRef=[number * LENGTH, 0, 0],
                initialVelocity=[0, 0, 0],
                rotationMatrixRef=np.eye(3),
                gravity=[0, 0, 0],
            )
            body = added["oFFRFreducedOrder"]
            root, tip = (
                system.AddMarker(
                    MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=nodes, weightingFactors=quarter)
                )
                for nodes in (first, last)
            )
            system.AddObject(GenericJoint(markerNumbers=[before, root], constrainedAxes=[1, 1, 1, 1, 0, 1]))
            mass = system.AddMarker(MarkerBodyMass(bodyNumber=body))
            system.AddLoad(LoadMassProportional(markerNumber=mass, loadVector=[0, 0, -GRAVITY]))
            before = tip
        sensor = [
            system.AddSensor(
                SensorSuperElement(
                    bodyNumber=body,
                    meshNodeNumber=node,
                    storeInternal=True,
                    outputVariableType=exudyn.OutputVariableType.Position,
                )
            )
            for node in last
        ]
        system.Assemble()
        return container, system, sensor

    def fall(self, step: float, duration: float = DURATION) -> tuple[float, np.ndarray]:
        """Seconds of wall time and the tip (3,) at the end."""
        import exudyn

        container, system, sensors = self.assemble()
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(duration / step)
        settings.timeIntegration.endTime = duration
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration
        settings.linearSolverType = exudyn.LinearSolverType.EXUdense
        begin = time.perf_counter()
        system.SolveDynamic(settings)
        seconds = time.perf_counter() - begin
        tip = np.mean([system.GetSensorValues(sensor) for sensor in sensors], axis=0)
        del container
        return seconds, tip


# ---- both ----


def longest_step(fall, steps: tuple[float, ...] = STEPS) -> tuple[float, float, np.ndarray]:
    """The longest step within the error, that error [m], and the converged tip (3,)."""
    converged = fall(steps[-1])[1]
    if np.linalg.norm(fall(steps[-2])[1] - converged) > 0.1 * ERROR:
        raise SystemExit("not converged at the shortest step")
    for step in steps:
        error = float(np.linalg.norm(fall(step)[1] - converged))
        if error < ERROR:
            return step, error, converged
    raise SystemExit("no step of the list is short enough")


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    from rich.console import Console
    from rich.table import Table

    duration, steps = DURATION, STEPS
    if options.quick:
        duration, steps, options.turns = 0.1, QUICK_STEPS, 1
    sides = {"flexdyn_ros": partial(fall, two_booms(), duration=duration)}
    if program.peer("exudyn", "exudyn"):
        sides["Exudyn"] = partial(Booms().fall, duration=duration)
    chosen = {name: longest_step(side, steps) for name, side in sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.turns):
        for name, side in sides.items():
            seconds[name].append(side(chosen[name][0])[0])
    table = Table(title=f"two 7 m booms, {duration:g} s of free fall, tip within 1 mm")
    for heading in ("", "step \\[ms]", "tip error \\[mm]", "wall time \\[s]", "real-time factor"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, (step, error, _) in chosen.items():
        wall = median(seconds[name])
        table.add_row(name, f"{1e3 * step:g}", f"{1e3 * error:.2f}", f"{wall:.4f}", f"{duration / wall:.1f}")
    console = Console()
    console.print(table)
    if len(sides) == 1:
        return
    ratio = median(b / a for a, b in zip(*seconds.values(), strict=True))
    apart = np.linalg.norm(chosen["flexdyn_ros"][2] - chosen["Exudyn"][2])
    console.print(
        f"flexdyn_ros is {ratio:.1f} times faster; the converged tips are {1e3 * apart:.2f} mm apart"
    )


if __name__ == "__main__":
    main()
