"""Benchmarks of collectives on a simulated network, and fits of networks to measurements.

>>> from pipewright import comm
>>> bench = comm.bench("dgx-a100", op="all-reduce", ranks=16, sizes="1M:1G:4")
>>> round(bench.rows["busbw_bytes_per_s"].max() / 1e9)
186
>>> fit = comm.fit("all_reduce_16.log", cluster="dgx-a100")
>>> fit.parameters.to_pandas()
>>> run(scenario.with_(cluster=fit.platform))
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from ._commands import Output, PathLike, command, options, several, word_of
from ._report import Report
from .errors import naming_missing_files
from .platform import Platform

__all__ = ["CommReport", "Fit", "bench", "compare", "fit", "interference", "matrix", "survey"]


class CommReport(Report):
    """Report of a command of ``comm``, with figures and tables.

    ``save`` writes the files of the command's option ``-o``: .json, .csv and, depending on the
    command, .html, .svg, .png, .pdf and .log.
    """

    def __init__(self, words: Sequence[str], summary: dict[str, Any], output: Output) -> None:
        super().__init__(summary, output.text, output.notes)
        self._words = words

    def save(self, *files: PathLike) -> None:
        """Writes the report, each file by its extension."""
        for file in files:
            command(*self._words, "--output", file)


def _report(verb: str, positional: Iterable[Any], arguments: dict[str, Any]) -> CommReport:
    words = ["comm", verb, *map(word_of, positional), *options(**arguments)]
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "report.json")
        output = command(*words, "--output", file)
        with open(file, encoding="utf-8") as stream:
            summary = json.load(stream)
    lines = [line for line in output.text.splitlines() if folder not in line]
    return CommReport(words, summary, Output(output.status, "\n".join(lines) + "\n", output.notes))


def bench(
    cluster: PathLike,
    *,
    op: str = "all-reduce",
    ranks: int | None = None,
    sizes: str | Iterable[int] | None = None,
    algorithm: str | None = None,
    nccl: str | None = None,
    concurrent: int | None = None,
    strided: bool = False,
    matrix: PathLike | None = None,
    **more: Any,
) -> CommReport:
    """Predicts the table that nccl-tests prints on a cluster, as ``rows``.

    ``sizes`` is ``"8:8G:2"`` (first, last, factor) or numbers of bytes. ``more`` are the other options
    of ``pipewright comm bench``: ``assume``, ``fail``, ``slow``, ``multipath``.

    >>> bench("dgx-h100", op="all-to-all", ranks=32).rows.to_pandas()
    """
    if sizes is not None and not isinstance(sizes, str):
        sizes = ",".join(str(int(size)) for size in several(sizes))
    arguments = dict(cluster=cluster, op=op, ranks=ranks, sizes=sizes, algorithm=algorithm, nccl=nccl)
    arguments |= dict(concurrent=concurrent, strided=strided, matrix=matrix, **more)
    return _report("bench", [], arguments)


def compare(logs: PathLike | Iterable[PathLike], cluster: PathLike, **more: Any) -> CommReport:
    """Compares logs of nccl-tests or OSU micro-benchmarks with the prediction for a cluster.

    ``errors`` summarizes predicted over measured time, minus 1; ``curves`` has them by log. ``more``
    are the other options of ``pipewright comm compare``: ``op``, ``ranks``, ``nodes``, ...

    >>> compare("all_reduce_16.log", "dgx-a100").errors.median_error  # the log of another cluster
    0.766...
    """
    with naming_missing_files(*several(logs)):
        return _report("compare", several(logs), dict(cluster=cluster, **more))


class Fit(Report):
    """A network fitted to logs: ``parameters`` with their intervals."""

    def __init__(self, summary: dict[str, Any], output: Output, platform: Platform) -> None:
        super().__init__(summary, output.text, output.notes)
        #: The platform file with the fitted numbers, for ``cluster`` of a scenario.
        self.platform = platform

    def save(self, path: PathLike) -> None:
        """Writes the fitted platform file (.xml), or the figures (.json)."""
        if os.fspath(path).endswith(".json"):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.summary, file, indent=2)
        else:
            self.platform.save(path)


def fit(
    logs: PathLike | Iterable[PathLike],
    cluster: PathLike,
    *,
    parameters: int | None = None,
    **more: Any,
) -> Fit:
    """Fits a cluster's network to logs of nccl-tests or of the OSU micro-benchmarks.

    ``parameters`` is the maximum number of fitted parameters; ``more`` are the other options of
    ``pipewright comm fit``: ``fit`` (names), ``hold_out``, ``together``, ``op``, ``ranks``, ...
    """
    words = ["comm", "fit", *map(word_of, several(logs))]
    words += options(cluster=cluster, parameters=parameters, **more)
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "fitted.xml")
        with naming_missing_files(*several(logs)):
            output = command(*words, "--json", "--output", file)
        with open(file, encoding="utf-8") as stream:
            platform = Platform(stream.read(), "fitted")
    return Fit(output.json(), Output(output.status, "", output.notes), platform)


def matrix(cluster: PathLike, *, gpus: int | None = None, **more: Any) -> CommReport:
    """Bandwidth between all pairs of GPUs, the bisection and the worst permutation.

    ``more`` are the other options of ``pipewright comm matrix``: ``hosts``, ``by``, ``size``, ...
    """
    return _report("matrix", [], dict(cluster=cluster, gpus=gpus, **more))


def survey(cluster: PathLike, *, op: str | None = None, **more: Any) -> CommReport:
    """Slow-down of a collective by the failure of each link and switch, the worst first.

    ``more`` are the other options of ``pipewright comm survey``: ``ranks``, ``size``, ``to``,
    ``most``, ``hash``, ``flows``.
    """
    return _report("survey", [], dict(cluster=cluster, op=op, **more))


def interference(cluster: PathLike, **more: Any) -> CommReport:
    """Mutual slow-down of two kinds of traffic, with the options of
    ``pipewright comm interference``."""
    return _report("interference", [], dict(cluster=cluster, **more))
