"""Predicts how pipeline-parallel training runs on GPU clusters.

>>> import pipewright as pw
>>> result = pw.run(pw.Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
>>> result.makespan_s
33.0
"""

from ._questions import Comparison, Why, compare, why
from ._results import Result, Results
from ._run import run, run_many
from ._scenario import Scenario
from .errors import (
    ClusterError,
    ConditionError,
    Deadlock,
    Error,
    InternalError,
    ScenarioError,
    ScheduleError,
    TraceError,
)

__all__ = [
    "ClusterError",
    "Comparison",
    "ConditionError",
    "Deadlock",
    "Error",
    "InternalError",
    "Result",
    "Results",
    "Scenario",
    "ScenarioError",
    "ScheduleError",
    "TraceError",
    "Why",
    "compare",
    "run",
    "run_many",
    "why",
]
