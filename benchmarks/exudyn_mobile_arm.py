"""The wheeled arm as Exudyn models it: rigid bodies, or ANCF cables in place of the links.

Needs `pip install exudyn`. Masses, springs, road, drive and torques are those of urdf/mobile_arm.urdf with
the exact suspension; wheels have no mass. The road is a symbolic user function, which Exudyn evaluates
without Python. `bench_mobile.py --exudyn` compares; alone it prints where the tip is after 0.25 s:

    python benchmarks/exudyn_mobile_arm.py [--quick]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import program

GRAVITY = 9.8
CART, CART_INERTIA, SHOULDER = 20.0, 0.8915733333333333, 0.539
LENGTH, MASSES = 0.8, (1.0, 1.3)
EA, EI = 210e9 * np.pi * 0.006**2, 210e9 * np.pi * 0.006**4 / 4.0
#: place, stiffness, damping of rear and front wheel; free length of both
WHEELS, FREE_LENGTH = ((-0.35, 952.0, 95.0), (0.35, 1168.0, 116.0)), 0.26
ROAD, WAVELENGTH, START, SPEED = 0.03, 0.4, -0.35, 0.3


@dataclass
class Setting:
    """What a study is about: start of the cart (height, pitch up) and of both absolute link angles [m, rad],
    all straight; torques [N m]; elements per link (0: rigid); factor on EI and EA; whether the road is the
    sine.
    """

    height: float
    pitch: float
    angles: tuple[float, float]
    torques: tuple[float, float]
    elements: int = 0
    stiffer: float = 1.0
    rough: bool = True


class ExudynArm:
    """One system, assembled; `run` may be called once."""

    def __init__(self, setting: Setting) -> None:
        import exudyn

        self.setting = setting
        self._container = exudyn.SystemContainer()
        self.system = self._container.AddSystem()
        self._functions: list[object] = []
        self._build()

    def run(
        self, step: float, duration: float = 0.25, tolerance: float | None = None
    ) -> tuple[float, np.ndarray]:
        """Wall time [s] of so long a study, and the path of the tip at its end (x, y) [m]."""
        import time

        import exudyn

        settings = exudyn.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps, integration.endTime = round(duration / step), duration
        integration.generalizedAlpha.spectralRadius = 0.9
        integration.newton.useModifiedNewton = True
        if tolerance is not None:
            integration.newton.relativeTolerance = tolerance
        integration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration
        settings.linearSolverType = exudyn.LinearSolverType.EXUdense
        begin = time.process_time()
        self.system.SolveDynamic(settings)
        return time.process_time() - begin, np.array(self.system.GetSensorValues(self._tip))[:2]

    # ---- items ----

    def _build(self) -> None:
        from exudyn.itemInterface import MarkerBodyRigid, ObjectGround

        s, setting = self.system, self.setting
        self._ground = s.AddObject(ObjectGround())
        cart = self._rigid(CART, CART_INERTIA, (0.0, setting.height), setting.pitch, (SPEED, 0.0))
        self._drive(cart)
        for wheel in WHEELS:
            self._wheel(cart[1], *wheel)
        c, p = np.cos(setting.pitch), np.sin(setting.pitch)
        at = np.array([-p * SHOULDER, setting.height + c * SHOULDER])
        before = s.AddMarker(MarkerBodyRigid(bodyNumber=cart[1], localPosition=[0, SHOULDER, 0]))
        for mass, angle, torque in zip(MASSES, setting.angles, setting.torques):
            link = self._bar if setting.elements == 0 else self._cable
            before, at = self._hang(link, before, mass, at, angle, torque)
        s.Assemble()

    def _hang(self, link, before, mass, at, angle, torque):
        from exudyn.itemInterface import LoadTorqueVector, ObjectJointRevolute2D

        root, tip = link(mass, at, angle)
        self.system.AddObject(ObjectJointRevolute2D(markerNumbers=[before, root]))
        self.system.AddLoad(LoadTorqueVector(markerNumber=root, loadVector=[0, 0, torque]))
        self.system.AddLoad(LoadTorqueVector(markerNumber=before, loadVector=[0, 0, -torque]))
        return tip, at + LENGTH * np.array([np.cos(angle), np.sin(angle)])

    def _rigid(self, mass, inertia, place, angle, speed):
        """Node and body."""
        from exudyn.itemInterface import (
            LoadMassProportional,
            MarkerBodyMass,
            NodeRigidBody2D,
            ObjectRigidBody2D,
        )

        s = self.system
        node = s.AddNode(
            NodeRigidBody2D(referenceCoordinates=[*place, angle], initialVelocities=[*speed, 0.0])
        )
        body = s.AddObject(ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node))
        weight = s.AddMarker(MarkerBodyMass(bodyNumber=body))
        s.AddLoad(LoadMassProportional(markerNumber=weight, loadVector=[0, -GRAVITY, 0]))
        return node, body

    def _bar(self, mass, at, angle):
        """Markers of root and tip of a rigid link."""
        from exudyn.itemInterface import MarkerBodyRigid

        half = 0.5 * LENGTH
        middle = at + half * np.array([np.cos(angle), np.sin(angle)])
        _, body = self._rigid(mass, mass * LENGTH**2 / 12.0, middle, angle, (SPEED, 0.0))
        self._watch(body, half)
        return [
            self.system.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0]))
            for x in (-half, half)
        ]

    def _cable(self, mass, at, angle):
        """Markers of root and tip of a flexible link."""
        from exudyn.itemInterface import (
            LoadMassProportional,
            MarkerBodyMass,
            MarkerBodyRigid,
            NodePoint2DSlope1,
            ObjectANCFCable2D,
        )

        s, n, stiffer = self.system, self.setting.elements, self.setting.stiffer
        e = np.array([np.cos(angle), np.sin(angle)])
        nodes = [
            s.AddNode(
                NodePoint2DSlope1(
                    referenceCoordinates=[*(at + LENGTH * i / n * e), *e], initialVelocities=[SPEED, 0, 0, 0]
                )
            )
            for i in range(n + 1)
        ]
        bodies = []
        for pair in zip(nodes, nodes[1:]):
            body = s.AddObject(
                ObjectANCFCable2D(
                    length=LENGTH / n,
                    massPerLength=mass / LENGTH,
                    bendingStiffness=stiffer * EI,
                    axialStiffness=stiffer * EA,
                    nodeNumbers=list(pair),
                )
            )
            weight = s.AddMarker(MarkerBodyMass(bodyNumber=body))
            s.AddLoad(LoadMassProportional(markerNumber=weight, loadVector=[0, -GRAVITY, 0]))
            bodies.append(body)
        self._watch(bodies[-1], LENGTH / n)
        ends = ((bodies[0], 0.0), (bodies[-1], LENGTH / n))
        return [s.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0])) for body, x in ends]

    def _watch(self, body, x) -> None:
        import exudyn
        from exudyn.itemInterface import SensorBody

        self._tip = self.system.AddSensor(
            SensorBody(
                bodyNumber=body,
                localPosition=[x, 0, 0],
                storeInternal=True,
                outputVariableType=exudyn.OutputVariableType.Position,
            )
        )

    def _drive(self, cart) -> None:
        from exudyn.itemInterface import MarkerNodeCoordinate, NodePointGround, ObjectConnectorCoordinate

        s = self.system
        ground = s.AddNode(NodePointGround())
        pair = [
            s.AddMarker(MarkerNodeCoordinate(nodeNumber=node, coordinate=0)) for node in (ground, cart[0])
        ]
        self.drive = s.AddObject(
            ObjectConnectorCoordinate(markerNumbers=pair, offset=SPEED, velocityLevel=True)
        )

    def _wheel(self, cart, place, stiffness, damping) -> None:
        """Spring and damper between a mount and the road below it."""
        from exudyn.itemInterface import MarkerBodyPosition, ObjectConnectorCartesianSpringDamper
        from exudyn.utilities import CreateSymbolicUserFunction

        s = self.system
        markers = [
            s.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for body, x in ((self._ground, 0.0), (cart, place))
        ]
        wave, amplitude = 2.0 * np.pi / WAVELENGTH, ROAD if self.setting.rough else 0.0
        force = road_force(stiffness, damping, wave, amplitude)
        function = CreateSymbolicUserFunction(
            s, force, "springForceUserFunction", itemTypeName="ObjectConnectorCartesianSpringDamper"
        )
        self._functions.append(function)
        s.AddObject(
            ObjectConnectorCartesianSpringDamper(
                markerNumbers=markers,
                stiffness=[0.0, stiffness, 0.0],
                damping=[0.0, damping, 0.0],
                springForceUserFunction=function,
            )
        )


def road_force(stiffness, damping, wave, amplitude):
    """Force on the mount, positive against its displacement (that is how Exudyn counts it)."""
    from exudyn import symbolic as esym

    def force(mbs, t, item, displacement, velocity, k, d, offset):
        phase = wave * (displacement[0] - START) + np.pi
        ground = amplitude * esym.sin(phase) + amplitude
        sinking = amplitude * wave * esym.cos(phase) * velocity[0]
        squeeze = FREE_LENGTH - (displacement[1] - ground)
        return [0.0, -(stiffness * squeeze - damping * (velocity[1] - sinking)), 0.0]

    return force


def main() -> None:
    """Print the tip by models of several sizes."""
    arguments = program.parser(__doc__).parse_args()
    if program.peer("exudyn", "exudyn") is None:
        return
    duration, step, sizes = (0.01, 1e-3, (0, 1)) if arguments.quick else (0.25, 1e-3, (0, 2, 4, 8))
    print(f"{'elements a link':>15s} {'x [m]':>10s} {'y [m]':>10s} {'processor [ms]':>15s}")
    for elements in sizes:
        angles, torques = (np.radians(-45.0), np.radians(120.0)), (45.0, -2.0)
        arm = ExudynArm(Setting(0.2018, 0.0468, angles, torques, elements))
        seconds, (x, y) = arm.run(step, duration)
        print(f"{elements:15d} {x:10.5f} {y:10.5f} {1e3 * seconds:15.2f}")


if __name__ == "__main__":
    main()
