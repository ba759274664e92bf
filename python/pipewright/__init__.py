"""Predicts how pipeline-parallel training runs on GPU clusters.

>>> import pipewright as pw
>>> result = pw.run(pw.Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
>>> result.makespan_s
33.0
"""

from ._scenario import Scenario
from .errors import (
    ClusterError,
    Deadlock,
    Error,
    InternalError,
    ScenarioError,
    ScheduleError,
    TraceError,
)
from ._results import Result, Results
from ._run import run, run_many

__all__ = [
    "ClusterError",
    "Deadlock",
    "Error",
    "InternalError",
    "Result",
    "Results",
    "Scenario",
    "ScenarioError",
    "ScheduleError",
    "TraceError",
    "run",
    "run_many",
]
