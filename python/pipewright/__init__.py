"""Predicts how pipeline-parallel training runs on GPU clusters.

>>> import pipewright as pw
>>> result = pw.run(pw.Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
>>> result.makespan_s
33.0
"""

from . import comm, platform, schedule
from ._jobs import Job, Launch, export_job, import_job
from ._library import gpus, model, models
from ._measured import Gpu, Profile, calibrate, profile
from ._questions import Comparison, Why, compare, why
from ._results import Result, Results
from ._run import run, run_many
from ._scenario import Scenario
from ._search import Candidate, Progress, Search, SearchResult, search
from ._table import Table
from ._together import Together, run_together
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
    "Candidate",
    "ClusterError",
    "Comparison",
    "ConditionError",
    "Deadlock",
    "Error",
    "Gpu",
    "InternalError",
    "Job",
    "Launch",
    "Profile",
    "Progress",
    "Result",
    "Results",
    "Scenario",
    "ScenarioError",
    "ScheduleError",
    "Search",
    "SearchResult",
    "Table",
    "Together",
    "TraceError",
    "Why",
    "calibrate",
    "comm",
    "compare",
    "export_job",
    "gpus",
    "import_job",
    "model",
    "models",
    "platform",
    "profile",
    "run",
    "run_many",
    "run_together",
    "schedule",
    "search",
    "why",
]
