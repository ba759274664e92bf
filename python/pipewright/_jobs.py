"""Import of jobs of other frameworks, and export of scenarios to them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _worker
from ._commands import PathLike, several
from ._display import sections_html, text_html
from ._files import TextFile, without_folders
from ._run import scenario_of
from ._scenario import Scenario
from ._tree import changed, unicode_text
from .errors import ArgumentError, ScenarioError, naming_missing_files, of_type


class Job(Scenario):
    """A scenario imported from a job of another framework, with the source of each key.

    >>> job = import_job("train.sh", cluster="dgx-h100-8", NNODES=8)
    >>> job.sources["parallel.tp"]
    '--tensor-model-parallel-size 4 (line 28)'
    >>> run(job)
    """

    __slots__ = ("framework", "sources", "assumed", "used", "not_modelled", "without_effect", "text")

    #: Name of the framework: ``megatron``.
    framework: str
    #: For each dotted scenario key, the flag of the job that determined it.
    sources: dict[str, str]
    #: Assumptions about missing settings, in sentences.
    assumed: list[str]
    #: Number of settings of the job that the scenario expresses.
    used: int
    #: Settings that are not modelled: of each ``text``, ``changes`` (what it would change, such as
    #: ``"memory and time"``), ``why``, ``file`` and ``line``.
    not_modelled: list[dict[str, Any]]
    #: Settings without effect on the simulation, with the same keys.
    without_effect: list[dict[str, Any]]
    #: The scenario as YAML with comments.
    text: str

    def __repr__(self) -> str:
        """YAML, with settings that are not modelled as comments."""
        missed = (f"# not modelled: {_described(flag)}\n" for flag in self.not_modelled)
        return "".join(missed) + self.to_yaml()

    def _repr_html_(self) -> str:
        parts = (
            ("not modelled", map(_described, self.not_modelled)),
            ("assumed", self.assumed),
            ("without effect here", map(_located, self.without_effect)),
        )
        return sections_html(((head, list(lines)) for head, lines in parts), self.to_yaml())

    def _facts(self) -> tuple[str, ...]:
        return self.__slots__


def import_job(
    *files: PathLike,
    variables: Mapping[str, Any] | None = None,
    gpus: int | None = None,
    strict: bool = False,
    keys: Mapping[str, Any] | None = None,
    run_with_bash: bool = False,
    **more: Any,
) -> Job:
    """Imports a job of another framework as a scenario.

    The frameworks are Megatron-LM, Megatron-Bridge, NeMo, Primus, MLPerf, torchtitan, DeepSpeed,
    Transformers, ms-swift, LLaMA-Factory, Automodel, nanotron and GPT-NeoX. Files are paths, or
    texts of scripts.
    Settings that are not modelled are in ``not_modelled`` and cause a warning; with ``strict`` they
    are an error. ``variables`` set variables of a script, ``gpus`` the number of GPUs if the job does
    not have it. ``keys`` (dotted) and keywords add keys of the scenario; keywords in capitals are
    variables. With ``run_with_bash``, bash runs the scripts in a sandbox that records what they
    start.

    >>> import_job("train.sh", cluster="dgx-h100-8", NNODES=8)
    >>> import_job("train.toml", gpus=64, keys={"cluster": "dgx-h100-8", "training.recompute": "full"})
    """
    paths = [_path_of(file) for argument in files for file in several(argument)]
    if not paths:
        raise ArgumentError(f"import_job takes {_ALLOWED}", remedy=_ALLOWED)
    named = {name: value for name, value in more.items() if name.isupper()}
    words = [f"{name}={value}" for name, value in {**(variables or {}), **named}.items()]
    arguments: dict[str, Any] = {"words": [*paths, *words]}
    if gpus is not None:
        arguments["gpus"] = int(gpus)
    if run_with_bash:
        arguments["run_with_bash"] = True
    with naming_missing_files(*paths):
        answer = _worker.request("import", arguments)
    report = json.loads(without_folders(json.dumps(answer)))
    missed = list(map(_described, report["not_modelled"]))
    if strict and missed:
        remedy = "remove them from the job, or leave out strict=True"
        refused = f"strict=True refuses settings that are not modelled; {remedy}:"
        raise ScenarioError("\n  ".join([f"{report['name']}: {refused}", *missed]), remedy=remedy)

    added = {**{name: value for name, value in more.items() if name not in named}, **(keys or {})}
    missing = [key for key in report["missing"] if key not in added]
    if missing:
        raise ScenarioError(
            f"{report['name']}: the job does not set {' or '.join(missing)}; give it by keys="
            f"{{{missing[0]!r}: ..}}" + (" or by gpus=" if "parallel.dp" in missing else ""),
            key=missing[0],
            remedy=f"keys={{{missing[0]!r}: ..}}",
        )
    job = Job._of(changed({"tree": report["scenario"]}, added))
    job.framework, job.text = report["framework"], report["yaml"]
    job.sources, job.assumed = report["sources"], report["assumed"]
    job.used, job.not_modelled = report["used"], report["not_modelled"]
    job.without_effect = report["without_effect"]
    if "cluster" not in job.to_dict():
        job.assumed.append("no cluster: run needs one, as in with_(cluster=..)")
    if missed:
        warnings.warn(f"{report['name']}: not modelled: {'; '.join(missed)}", stacklevel=2)
    return job


_ALLOWED = "the path of a script or configuration of a job, or the text of a script"


def _located(flag: Mapping[str, Any]) -> str:
    """A flag with its location."""
    return f"{flag['text']} ({flag['file']}:{flag['line']})" if flag["line"] else str(flag["text"])


def _described(flag: Mapping[str, Any]) -> str:
    """A flag that is not modelled, with its location and what it would change."""
    changes = "" if flag["changes"] == flag["why"] else f" ({flag['changes']})"
    return f"{_located(flag)}: {flag['why']}{changes}"


class _Script(TextFile):
    """The text of a script, which no scenario names."""

    _lasts = False


def _path_of(file: PathLike) -> str:
    of_type(file, (str, os.PathLike), "a job", _ALLOWED)
    is_text = isinstance(file, str) and len(file.split()) > 1 and not os.path.exists(file)
    if isinstance(file, str) and ("\n" in file or is_text):
        unicode_text(file, "the job")
        return _Script(file if file.endswith("\n") else file + "\n", "job.sh").__fspath__()
    return os.fspath(file)


class Launch(TextFile):
    """A scenario as a job of a framework: its ``text``, and differences from the scenario."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report["text"], "launch" + report["extension"])
        #: Settings of the scenario that the framework cannot express, in sentences.
        self.differs: list[str] = report["differs"]
        #: Why the framework refuses the job, as a sentence; empty if the job starts.
        self.refused: str = report["refused"]
        #: Files that the text refers to, as content by name: PyTorch's schedule.csv,
        #: ds_config.json.
        self.beside: dict[str, str] = (
            {report["beside_name"]: report["beside"]} if report["beside_name"] else {}
        )

    def save(self, path: PathLike) -> None:
        """Writes the text, and the files that it names to the same folder."""
        super().save(path)
        for name, text in self.beside.items():
            with open(os.path.join(os.path.dirname(os.fspath(path)), name), "w") as file:
                file.write(text)

    def _repr_html_(self) -> str:
        return text_html(self.text)


def export_job(scenario: Scenario | Mapping[str, Any], framework: str) -> Launch:
    """Exports a scenario to ``megatron``, ``bridge``, ``nemo``, ``torchtitan`` or ``deepspeed``: a
    script, overrides, YAML, TOML or JSON.

    >>> llama = Scenario(cluster="dgx-h100-8", model="llama-3-70b", parallel=dict(tp=8, pp=4, dp=2),
    ...                  global_batch=128)
    >>> print(export_job(llama, "megatron"))
    #!/bin/bash
    ...
    """
    of_type(framework, str, "framework", "the name of a framework: 'megatron'")
    tree = scenario_of(scenario)._json()
    return Launch(_worker.request("export", {"framework": framework}, scenario=tree))
