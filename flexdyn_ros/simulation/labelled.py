"""Trajectories as labelled tables: pandas, xarray and HTML, with units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.robot.notebook import section, table

if TYPE_CHECKING:
    from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["column_units", "dataframe", "dataset", "trajectory_html"]

#: of the numbers of a cylinder, as far as they have one for every kind of cylinder
_CYLINDER_UNITS = {
    "force": "N", "force_hydraulic": "N", "force_friction": "N", "force_stop": "N", "pressure_bore": "Pa",
    "pressure_rod": "Pa", "flow_bore": "m3/s", "flow_rod": "m3/s", "spool": "-", "valve_command": "-",
    "stroke": "m", "spool_rate": "1/s", "slewed_command": "-",
}  # fmt: skip


def column_units(trajectory: Trajectory) -> dict[str, str]:
    """Units of the columns; columns that have none of their own, such as flags, are left out."""
    t = trajectory
    units = {t.columns[0]: "s"} | dict(zip(t.q_names, t.q_units, strict=True))
    units |= {f"{name}.velocity": unit for name, unit in zip(t.v_names, t.v_units, strict=True)}
    units |= {f"{name}.effort": unit for name, unit in zip(t.effort_names, t.effort_units, strict=True)}
    if t.energy is not None:
        units |= {f"energy.{part}": "J" for part in t.energy._fields}
    if t.hydraulics is not None:
        units |= {f"{name}.{part}": unit for part, unit in _CYLINDER_UNITS.items() for name in t.effort_names}
    return units | {"work": "J", "dissipated": "J"}


def dataframe(trajectory: Trajectory) -> Any:
    """See `Trajectory.to_dataframe`."""
    with needs("pandas", "data"):
        import pandas
    columns = {name: trajectory[name] for name in trajectory.columns}
    table = pandas.DataFrame(columns).set_index(trajectory.columns[0])
    table.attrs = {**_facts(trajectory), "units": column_units(trajectory)}
    return table


def dataset(trajectory: Trajectory) -> Any:
    """See `Trajectory.to_xarray`."""
    with needs("xarray", "data"):
        import xarray
    units = column_units(trajectory)
    along, *names = trajectory.columns
    arrays = {
        name: (along, trajectory[name], {"units": units[name]} if name in units else {}) for name in names
    }
    time = (along, trajectory[along], {"units": "s"})
    return xarray.Dataset(arrays, coords={along: time}, attrs=_facts(trajectory))


def trajectory_html(trajectory: Trajectory) -> str:
    """Facts of a run, and where each coordinate was."""
    t = trajectory
    if not len(t):
        return section(f"Trajectory of {t.robot_name}", "<p>empty</p>")
    rows = [
        (name, unit, *(f"{x:.5g}" for x in (values[0], values[-1], np.min(values), np.max(values))))
        for name, unit, values in zip(t.q_names, t.q_units, t.q.T)
    ]
    span = f"{len(t)} samples, {t.t[0]:g} … {t.t[-1]:g} s, {t.method}"
    balance = (
        "" if t.energy is None else f", energy balance off by {t.balance_error:.2g} of the kinetic energy"
    )
    columns = ("coordinate", "unit", "start", "end", "smallest", "largest")
    return section(f"Trajectory of {t.robot_name}", f"<p>{span}{balance}</p>", table(columns, rows))


def _facts(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "robot": trajectory.robot_name,
        "method": trajectory.method,
        "dt": trajectory.dt,
        "message": trajectory.message,
    }
