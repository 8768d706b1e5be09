"""Oil of cylinders on any tree: supplies that they share, and what stands between a supply and a piston."""

from __future__ import annotations

from flexdyn_ros.description.elements.platforms import (
    Cushion,
    Cylinder,
    CylinderFriction,
    EndStop,
    Fluid,
    ForceControl,
    Leakage,
    Valve,
)
from flexdyn_ros.description.elements.urdf import Context
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import (
    child,
    children,
    choice,
    element,
    not_negative,
    positive,
    reference,
)

_CONDUCTANCE = "m3/(s Pa)"
_LOAD_SENSING = ("type", ("load_sensing",))


@element("pump", "What feeds the line of a supply; without it the pressure of the line is constant.")
class Pump:
    type: str = choice("constant_pressure fixed_displacement load_sensing", "what the pump keeps constant")
    displacement: float = positive("m3/rad", "oil per turn of the shaft by one radian, fully swivelled")
    speed: float = positive("rad/s", "of the shaft")
    line_volume: float = positive("m3", "of the oil between pump and valves")
    band: float = positive("Pa", "pressures over which the swivel goes from full to none", default=1e6)
    leakage: float = not_negative(_CONDUCTANCE, "from the line to the tank", default=0.0)
    time_constant: float = not_negative("s", "lag of the swivel", default=0.0)
    margin: float | None = positive(
        "Pa", "above the highest load", only=_LOAD_SENSING, needed=_LOAD_SENSING, default=None
    )
    maximum_pressure: float | None = positive(
        "Pa", "absolute; the line is kept below it", only=_LOAD_SENSING, needed=_LOAD_SENSING, default=None
    )


@element("accumulator", "A gas spring on the line of a supply.")
class Accumulator:
    volume: float = positive("m3", "of the gas without oil")
    precharge: float = positive("Pa", "absolute pressure of the gas without oil")
    polytropic_exponent: float = positive("-", "of the gas", default=1.2)

    def check(self, statement: Statement, context: Context) -> None:
        if self.polytropic_exponent < 1.0:
            statement.fail("the gas would cool when compressed", "polytropic_exponent", "at least 1")


@element("supply", "A supply of oil that cylinders share; pressures are absolute.", key="name", kw_only=True)
class SharedSupply:
    """A pump or a constant pressure, a tank, relief, and the oil itself, of all cylinders that name it."""

    name: str = reference("name of the supply")
    pressure: float | None = positive("Pa", "of the line, or that the pump keeps", shown="none", default=None)
    tank_pressure: float = positive("Pa", "tank")
    atmospheric_pressure: float = positive("Pa", "atmosphere", default=101325.0)
    relief_pressure: float | None = positive(
        "Pa", "relief valves of the line and of the chambers open", shown="none", default=None
    )
    relief_conductance: float = not_negative(_CONDUCTANCE, "of the relief valves", default=0.0)
    makeup_conductance: float = not_negative("m3/(s sqrt Pa)", "of the anti-cavitation valves", default=0.0)
    fluid: Fluid = child(Fluid)
    pump: Pump | None = child(Pump, default=None)
    accumulator: Accumulator | None = child(Accumulator, default=None)
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        self._check_pressure(statement)
        if self.tank_pressure >= self.highest:
            below = f"below {self.highest:g} Pa, which the supply reaches"
            statement.fail("the tank pressure is not below the supply", "tank_pressure", below)
        if self.fluid.cavitation_pressure >= self.tank_pressure:
            statement.fail(
                "the oil cavitates at the pressure of the tank",
                "tank_pressure",
                f"above cavitation_pressure, {self.fluid.cavitation_pressure:g} Pa",
            )
        oil = statement.child("fluid")
        assert oil is not None
        if self.fluid.model == "air" and not 0.0 < (self.fluid.air_fraction or 0.0) < 1.0:
            oil.fail("the oil has no air", "air_fraction", "above 0 and below 1, or model constant")
        if self.fluid.polytropic_exponent < 1.0:
            oil.fail("the air would cool when compressed", "polytropic_exponent", "at least 1")
        self._check_relief(statement)
        if self.accumulator is not None and self.pump is None:
            statement.fail("an accumulator on a line of constant pressure", "pump", "<pump>")

    def _check_pressure(self, statement: Statement) -> None:
        """A pressure is given where something keeps it."""
        kept = self.pump is None or self.pump.type == "constant_pressure"
        if kept and self.pressure is None:
            statement.missing("pressure")
        if not kept and self.pressure is not None:
            assert self.pump is not None
            other = "maximum_pressure of <pump>" if self.pump.margin is not None else "relief_pressure"
            statement.fail(f"a {self.pump.type} pump keeps no pressure", "pressure", other)

    def _check_relief(self, statement: Statement) -> None:
        relief = self.relief_pressure
        if relief is None:
            if self.pump is not None and self.pump.type == "fixed_displacement":
                statement.fail(
                    "nothing limits the pressure of a fixed_displacement pump",
                    "relief_pressure",
                    "relief_pressure and relief_conductance",
                )
            return
        if relief <= self.tank_pressure:
            statement.fail("the relief valves are always open", "relief_pressure", "above tank_pressure")
        if self.pump is not None and self.pump.margin is not None and relief <= self.pump.margin:
            statement.fail(
                "the relief valves open below the margin of the pump",
                "relief_pressure",
                f"above the margin, {self.pump.margin:g} Pa",
            )

    @property
    def highest(self) -> float:
        """Pressure that the line is kept at, or at most reaches [Pa]."""
        if self.pressure is not None:
            return self.pressure
        limits = [self.relief_pressure, None if self.pump is None else self.pump.maximum_pressure]
        return min((x for x in limits if x is not None), default=float("inf"))


@element(
    "valve",
    "Valve between the supply and both chambers.",
    one_of=(("natural_frequency_hz", "damping_ratio"), ("time_constant",)),
    one_of_needed=True,
)
class CompensatedValve(Valve):
    compensation: float | None = positive(
        "Pa", "drop that a pressure compensator keeps: flow does not depend on the load", default=None
    )


@element("chambers", "Differential cylinder, bore > rod.")
class Chambers(Cylinder):
    """The `<cylinder>` of a platform's leg under a name of its own."""


@element(
    "counterbalance", "A load-holding valve between valve and chamber; inflow passes it free.", key="port"
)
class Counterbalance:
    port: str = choice("bore rod", "chamber that it holds")
    cracking_pressure: float = positive("Pa", "of the chamber above the tank, without pilot pressure")
    pilot_ratio: float = not_negative("-", "how much more the pressure of the other chamber counts")
    conductance: float = positive("m3/(s sqrt Pa)", "fully open")
    opening_range: float = positive("Pa", "from closed to fully open", default=1e6)


@element("hose", "Oil between valve and chamber.", key="port")
class Hose:
    port: str = choice("bore rod", "chamber that it leads to")
    volume: float = positive("m3", "of its oil, added to the dead volume")


@element("hydraulics", "Oil that drives the cylinder.", kw_only=True)
class CylinderHydraulics:
    """Chambers, valve and what is at their ports; the oil is that of the supply."""

    supply: str = reference("name of the supply")
    chambers: Chambers = child(Chambers)
    valve: CompensatedValve = child(CompensatedValve)
    counterbalances: tuple[Counterbalance, ...] = children(Counterbalance, default=())
    hoses: tuple[Hose, ...] = children(Hose, default=())
    leakage: Leakage = child(Leakage, default=Leakage())
    friction: CylinderFriction | None = child(CylinderFriction, default=None)
    end_stop: EndStop | None = child(EndStop, default=None)
    cushion: Cushion | None = child(Cushion, default=None)
    control: ForceControl = child(ForceControl, default=ForceControl())

    def hose_volume(self, port: str) -> float:
        """Volume of the hose at a port [m3]; 0 without one."""
        return sum(hose.volume for hose in self.hoses if hose.port == port)
