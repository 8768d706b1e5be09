"""Studies: many runs of an experiment over a design of parameters, on a cluster of processes, to one
table."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.studies.definition import Study, read_study
    from flexdyn_ros.studies.engine import run
    from flexdyn_ros.studies.experiments.registry import experiment, shipped_experiments
    from flexdyn_ros.studies.result import StudyResult

__all__ = ["Study", "StudyResult", "experiment", "read_study", "run", "shipped_experiments"]

__getattr__, __dir__ = lazily(__name__)
