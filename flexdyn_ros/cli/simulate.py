"""`flexdyn simulate`: run a robot from a state and print, plot and save what happened."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from flexdyn_ros.cli import terminal
from flexdyn_ros.cli.starts import doubts_of, start_of
from flexdyn_ros.errors import ConvergenceError, SimulationError, UnknownNameError
from flexdyn_ros.robot.coordinates import pose_name
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.effort_table import read_efforts
from flexdyn_ros.simulation.limits import departures, in_words
from flexdyn_ros.simulation.plan import METHODS
from flexdyn_ros.simulation.plots.panels import PANELS, USUAL
from flexdyn_ros.simulation.plots.style import SIZES
from flexdyn_ros.simulation.simulate import simulate as run
from flexdyn_ros.simulation.steps.fused_hydraulics import VALVE_OF, command_mode
from flexdyn_ros.simulation.trajectory import Trajectory

_Pairs = list[str] | None
LIMITS = ("report", "spring", "stop")
NOISE = 1e-12
STOPS = "; with --limits spring they meet stops, with --limits stop the run ends there"


def _complete_method(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


def _complete_limits(incomplete: str) -> list[str]:
    return [word for word in LIMITS if word.startswith(incomplete)]


def _complete_start(incomplete: str) -> list[str]:
    return [word for word in ("rest", "neutral") if word.startswith(incomplete)]


def simulate(
    robot: terminal.RobotName,
    duration: Annotated[float, typer.Option("--duration", min=0.0, help="seconds")] = 5.0,
    dt: Annotated[
        float | None,
        typer.Option("--dt", help="fixed step [s]; without it the run chooses its steps by --rtol"),
    ] = None,
    sample: Annotated[
        float | None, typer.Option("--sample", help="time between samples [s]", show_default="1e-3, or dt")
    ] = None,
    rtol: Annotated[
        float, typer.Option("--rtol", help="relative tolerance of a run that chooses its steps")
    ] = 1e-6,
    method: Annotated[
        str, typer.Option("--method", help=f"one of {', '.join(METHODS)}", autocompletion=_complete_method)
    ] = "auto",
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="rest|neutral|FILE",
            help="where to start: at rest under gravity, all actuators held unless --hold says which; at the "
            "description's own start; or where a trajectory ended, .npz or .mcap",
            autocompletion=_complete_start,
            show_default="neutral; rest for robots on springs",
        ),
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold",
            metavar="NAMES|all|none",
            help="constant efforts that carry the weight where it starts, of these actuators: a,b,c",
        ),
    ] = None,
    q: Annotated[
        _Pairs, typer.Option("--q", metavar="NAME=VALUE", help="initial position; repeatable")
    ] = None,
    v: Annotated[
        _Pairs, typer.Option("--v", metavar="NAME=VALUE", help="initial velocity; repeatable")
    ] = None,
    tau: Annotated[
        _Pairs,
        typer.Option(
            "--tau",
            metavar="NAME=VALUE",
            help="constant effort, instead of --hold's, or opening of a valve, CYLINDER/valve; repeatable",
        ),
    ] = None,
    control_file: Annotated[
        Path | None,
        typer.Option(
            "--control",
            metavar="FILE",
            help="efforts over time, .csv or .npz: `time` and columns named like actuators; each row holds "
            "until the next; instead of --tau and --hold",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    limits: Annotated[
        str,
        typer.Option(
            "--limits",
            metavar="report|spring|stop",
            help="position limits: told when they are passed, soft stops as in the simulator, or the end of "
            "the run",
            autocompletion=_complete_limits,
        ),
    ] = "report",
    plot: Annotated[Path | None, typer.Option("--plot", help="write a picture")] = None,
    plot_size: Annotated[
        str, typer.Option("--plot-size", help=f"of the picture: {', '.join(SIZES)}")
    ] = "screen",
    panels: Annotated[
        str | None,
        typer.Option(
            "--panels",
            metavar="A,B|all",
            help=f"of the picture: {', '.join(PANELS)} [default: {','.join(USUAL)}]",
        ),
    ] = None,
    beside_rigid: Annotated[
        bool, typer.Option("--beside-rigid", help="the picture also shows the rigid twin, with circles")
    ] = False,
    save: Annotated[Path | None, typer.Option("--save", help="write the trajectory as .npz")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="write the trajectory as .csv")] = None,
    bag: Annotated[Path | None, typer.Option("--bag", help="write a recording as .mcap")] = None,
    split_size: Annotated[
        float,
        typer.Option("--split-size", help="MB of a file of --bag, then a new folder of rosbag2", min=0.0),
    ] = 0.0,
    split_duration: Annotated[
        float,
        typer.Option("--split-duration", help="seconds of a file of --bag, then such a folder", min=0.0),
    ] = 0.0,
    config: terminal.Config = None,
    settings: terminal.Settings = None,
    xacro: terminal.Xacro = None,
    topic: terminal.Topics = None,
    rigid: terminal.Rigid = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress, no table")] = False,
    as_json: terminal.Json = False,
) -> None:
    """Simulate a robot and print a table of its motion; write a figure and files on request."""
    for option, seconds in (("--dt", dt), ("--sample", sample)):
        if seconds is not None and not 0.0 < seconds < inf:
            raise typer.BadParameter(f"{seconds} is not positive and finite", param_hint=option)
    if not 0.0 < rtol < 1.0:
        raise typer.BadParameter(f"{rtol} is not between 0 and 1", param_hint="--rtol")
    if not 0.0 <= duration < inf:
        raise typer.BadParameter(f"{duration} is not finite", param_hint="--duration")
    bag = _split_folder(bag, split_size, split_duration)
    files = {"plot": plot, "save": save, "to_csv": csv, "to_bag": bag}
    _check_files(files)
    writing: dict[str, dict[str, object]] = {
        "to_bag": {"split_size": round(split_size * 1e6), "split_duration": split_duration}
    }
    UnknownNameError.check("method", method, METHODS)
    UnknownNameError.check("kind of limits", limits, LIMITS)
    UnknownNameError.check("size", plot_size, tuple(SIZES))
    chosen = PANELS if panels == "all" else panels and tuple(panels.split(","))
    for name in chosen or ():
        UnknownNameError.check("panel", name, PANELS)
    loaded = terminal.load_robot(robot, config, settings, rigid, xacro)
    if control_file is not None and (tau or hold):
        raise typer.BadParameter("efforts come from --tau and --hold, or from a file", param_hint="--control")
    if start is None:
        # springs that carry a robot are not at rest where the description counts from
        on_springs = loaded.functions.contacts is not None and not (q or v or hold or tau or control_file)
        start = "rest" if on_springs else "neutral"
        try:
            begin = start_of(loaded, start, hold, q, v, topic)
        except ConvergenceError as error:
            terminal.warn(f"starts at neutral: {error}")
            begin = start_of(loaded, "neutral", hold, q, v, topic)
    else:
        begin = start_of(loaded, start, hold, q, v, topic)
    efforts = begin.tau.copy()
    valves, tau = _openings(loaded, tau, hold)
    for index, value in terminal.named_numbers(tau, loaded.effort_names, "--tau").items():
        efforts[index] = value
    shown = not quiet and not as_json
    # cylinders without commands keep their valves closed, which is not the same as no force
    control: Any = efforts if tau or efforts.any() else None
    control = valves or control
    if control_file is not None:
        control = read_efforts(control_file, loaded)
    most_efforts = efforts if control_file is None else np.abs(control.tau).max(axis=0, initial=0.0)
    for doubt in doubts_of(loaded, begin, most_efforts, hold):
        terminal.warn(doubt)
    has_cylinders = command_mode(loaded, method, control) != "direct"
    options: dict[str, Any] = {"method": method, "t0": begin.t, "dt": dt, "sample": sample, "rtol": rtol}
    options["limits"] = limits
    record = ("energy", "hydraulics") if has_cylinders else ("energy",)
    try:
        result = run(
            loaded,
            duration,
            begin.q,
            begin.v,
            states0=begin.states,
            control=control,
            record=record,
            progress=shown,
            **options,
        )
    except SimulationError as error:
        if error.trajectory is not None:
            _write(error.trajectory, files, quiet, writing)
        raise
    drawing: dict[str, Any] = {"size": plot_size, "panels": chosen}
    if beside_rigid and plot is not None:
        twin = terminal.load_robot(robot, config, settings, True, xacro)
        drawing["overlay"] = {"rigid": _twin_run(twin, result, control_file or valves or efforts, options)}
    _write(result, files, quiet or as_json, writing | {"plot": drawing})
    if as_json:
        left = departures(result, loaded.coordinates)
        terminal.print_json(_summary(result) | {"beyond_limits": [one._asdict() for one in left]})
    elif not quiet:
        _print(result, loaded, limits)


def _openings(robot: Robot, pairs: _Pairs, hold: str | None) -> tuple[dict[str, float], _Pairs]:
    """Openings of valves by name, and the pairs that name efforts."""
    named = [pair for pair in pairs or () if pair.partition("=")[0].endswith(VALVE_OF)]
    if not named:
        return {}, pairs
    if hold or len(named) < len(pairs or ()):
        raise typer.BadParameter("efforts or openings of valves, not both", param_hint="--tau")
    cylinders = () if robot.hydraulics is None else robot.hydraulics.names
    names = tuple(f"{name}{VALVE_OF}" for name in cylinders)
    return {names[i]: value for i, value in terminal.named_numbers(named, names, "--tau").items()}, None


def _split_folder(bag: Path | None, size: float, duration: float) -> Path | None:
    """The folder of a recording that is split, else its file; what cannot be is refused before the run."""
    for option, value in (("--split-size", size), ("--split-duration", duration)):
        if not 0.0 <= value < inf:
            raise typer.BadParameter(f"{value} is not finite", param_hint=option)
        if value and bag is None:
            raise typer.BadParameter("there is no recording to split without --bag", param_hint=option)
    if bag is None or not (size or duration):
        return bag
    folder = bag.with_suffix("") if bag.suffix == ".mcap" else bag
    if folder.exists():
        raise typer.BadParameter(
            f"{str(folder)!r} is there already, expected a new folder", param_hint="--bag"
        )
    return folder


def _check_files(files: dict[str, Path | None]) -> None:
    """Refuse before the run what could not be written after it."""
    plot = files["plot"]
    if plot is not None:
        from flexdyn_ros.simulation.plots import picture_formats

        known = picture_formats()
        if plot.suffix.lower().removeprefix(".") not in known:
            raise typer.BadParameter(
                f"{str(plot)!r} ends in {plot.suffix or 'nothing'!r}, expected one of "
                f"{', '.join('.' + name for name in known)}",
                param_hint="--plot",
            )
    for path in files.values():
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise typer.BadParameter(f"{str(path)!r} is a folder, expected the name of a file")


def _twin_run(
    twin: Robot, result: Trajectory, efforts: np.ndarray | Path | dict[str, float], options: dict[str, Any]
) -> Trajectory:
    """The rigid twin from the same state under the same efforts, constant or of a file, or the same openings
    of valves, as far as it has the same coordinates."""

    def of_twin(values: np.ndarray, names: tuple[str, ...], own: tuple[str, ...]) -> np.ndarray:
        known = dict(zip(names, values.tolist(), strict=True))
        return np.array([known[name] for name in own])

    if isinstance(efforts, Path):
        control: Any = read_efforts(efforts, twin)
    elif isinstance(efforts, dict):
        control = efforts
    else:
        control = of_twin(efforts, result.effort_names, twin.effort_names)
    return run(
        twin,
        float(result.t[-1] - result.t[0]),
        of_twin(result.q[0], result.q_names, twin.q_names),
        of_twin(result.v[0], result.v_names, twin.v_names),
        control=control,
        **options,
    )


def _write(
    result: Trajectory, files: dict[str, Path | None], quiet: bool, options: dict[str, dict[str, object]]
) -> None:
    """Write files by the methods of the trajectory, which have these options."""
    for method, path in files.items():
        if path is None:
            continue
        getattr(result, method)(path, **options.get(method, {}))
        if not quiet:
            terminal.messages.print(f"wrote {path}")


def _summary(result: Trajectory) -> dict[str, object]:
    energy = result.energy
    assert energy is not None  # simulate records it by default
    return {
        "robot": result.robot_name,
        "method": result.method,
        "dt": result.dt,
        "status": result.status,
        "message": result.message,
        "simulated_time": result.t[-1] - result.t[0],
        "wall_time": result.wall_time,
        "real_time_factor": (result.t[-1] - result.t[0]) / max(result.wall_time, 1e-9),
        "energy_balance_error": float(np.max(np.abs(result.balance()))),
        "balance_error": result.balance_error,
        "warnings": list(result.warnings),
        "peak_kinetic_energy": float(np.max(energy.kinetic)),
        "events": len(result.events),
        "q_final": result.q[-1],
        "v_final": result.v[-1],
    }


def _without_noise(x: float) -> float:
    """A number without rounding: what is below 1e-12 m, rad or their rates is 0."""
    return x if abs(x) > NOISE else 0.0


def _print(result: Trajectory, robot: Robot, limits: str) -> None:
    coordinates = robot.coordinates
    left = departures(result, coordinates)
    if limits == "spring":  # stops give way a little
        left = tuple(one for one in left if one.quantity == "velocity")
    beyond = {(one.name, one.farthest) for one in left}
    rows = []
    # free rotations have no coordinate of their own among the positions: rotation vectors from the start
    turned = robot.difference(result.q[:1], result.q) if any(c.q_index < 0 for c in coordinates) else result.v
    for c in coordinates:
        x = result.q[:, c.q_index] if c.q_index >= 0 else turned[:, c.v_index]
        speed = np.max(np.abs(result.v[:, c.v_index]))
        shown = [
            f"{_without_noise(y):.4g}{' !' if (c.name, float(y)) in beyond else ''}"
            for y in (x[0], x[-1], x.min(), x.max(), speed)
        ]
        rows.append((pose_name(c), c.unit, *shown))
    terminal.print_table("Motion", "coordinate | unit | start | end | smallest | largest | max. rate", rows)
    _print_states(result)
    s = _summary(result)
    # a run that ended early says why
    reason = f"{s['message']}: " if result.status else ""
    terminal.tables.print(
        f"{reason}simulated {s['simulated_time']:g} s in {s['wall_time']:.3g} s "
        f"({s['real_time_factor']:.3g}x real time, {result.by_method}); energy error "
        f"{s['energy_balance_error']:.2g} J, peak kinetic energy {s['peak_kinetic_energy']:.3g} J"
    )
    if left:
        more = "" if limits != "report" or all(one.quantity == "velocity" for one in left) else STOPS
        terminal.tables.print(in_words(left) + more)


def _print_states(result: Trajectory) -> None:
    """Pressures, spools and other states of elements; bristles and rates of spools are left out."""
    columns = zip(result.state_names, result.state_units, result.states.T, strict=True)
    rows = [
        (name, unit, *(f"{x:.4g}" for x in (y[0], y[-1], y.min(), y.max())))
        for name, unit, y in columns
        if unit in ("Pa", "-")
    ]
    if rows:
        terminal.print_table("States of elements", "state | unit | start | end | smallest | largest", rows)
