"""Predicts how pipeline-parallel training runs on GPU clusters.

>>> import pipewright as pw
>>> result = pw.run(pw.Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
>>> result.makespan_s
33.0
"""

from . import comm, platform, schedule
from ._keys import VERSION
from ._jobs import Job, Launch, export_job, import_job
from ._library import gpus, model, models, stacks
from ._measured import Gpu, Profile, calibrate, profile
from ._progress import Progress
from ._questions import Comparison, Why, compare, why
from ._results import Many, Result, Results
from ._open import open
from ._run import run, run_many, runs
from ._scenario import Scenario
from ._search import Candidate, Search, SearchResult, search
from ._table import Table
from ._together import Together, run_together
from .errors import (
    ArgumentError,
    AxisError,
    ClusterError,
    ConditionError,
    Deadlock,
    Error,
    InternalError,
    KeywordError,
    MissingFileError,
    MissingPackageError,
    ScenarioError,
    ScheduleError,
    TraceError,
    UnknownNameError,
)

#: Version of the bundled program.
__version__ = VERSION

__all__ = [
    "ArgumentError",
    "AxisError",
    "Candidate",
    "ClusterError",
    "Comparison",
    "ConditionError",
    "Deadlock",
    "Error",
    "Gpu",
    "InternalError",
    "Job",
    "KeywordError",
    "Launch",
    "Many",
    "MissingFileError",
    "MissingPackageError",
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
    "UnknownNameError",
    "Why",
    "__version__",
    "calibrate",
    "comm",
    "compare",
    "export_job",
    "gpus",
    "import_job",
    "model",
    "models",
    "open",
    "platform",
    "profile",
    "run",
    "run_many",
    "run_together",
    "runs",
    "schedule",
    "search",
    "stacks",
    "why",
]
