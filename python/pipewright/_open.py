"""Files of results."""

from __future__ import annotations

import os

from ._commands import PathLike
from ._results import Result
from ._run import open_run
from ._search import SearchResult, search
from .errors import Error, MissingFileError, TraceError, of_type


def open(file: PathLike) -> Result | SearchResult:
    """Reads results back: the trace of a run, or the results of a search (.h5).

    >>> result.save("run.h5")
    >>> open("run.h5").makespan_s == result.makespan_s
    True
    """
    of_type(file, (str, os.PathLike), "the file", "the path of an .h5 of a run or of a search")
    try:
        return open_run(file)
    except TraceError as error:
        if isinstance(error, MissingFileError) or not os.fspath(file).endswith(".h5"):
            raise
        try:
            return search(file).run(bar=False)
        except Error:
            pass
        raise  # the file is no result of a search either
