"""Jobs of other programs as scenarios, and back."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _core, _worker
from ._commands import PathLike, several
from ._display import sections_html, text_html
from ._files import TextFile, without_folders
from ._run import scenario_of
from ._scenario import Scenario
from .errors import ArgumentError, ScenarioError, of_type


class Job(Scenario):
    """The scenario that a job of another program says, with where each key comes from.

    >>> job = import_job("train.sh", cluster="dgx-h100-8", NNODES=8)
    >>> job.sources["parallel.tp"]
    '--tensor-model-parallel-size 4 (line 28)'
    >>> run(job)
    """

    __slots__ = ("framework", "sources", "assumed", "not_understood", "without_effect", "text")

    #: megatron, bridge, nemo, mlperf, torchtitan or deepspeed.
    framework: str
    #: By the scenario's key, dotted: the flag that says it.
    sources: dict[str, str]
    #: What nothing said, in sentences.
    assumed: list[str]
    #: Flags that may matter and were not read: ``text``, ``file`` and ``line`` of each.
    not_understood: list[dict[str, Any]]
    #: Flags that change nothing here.
    without_effect: list[dict[str, Any]]
    #: The scenario as YAML, with a comment at each key.
    text: str

    def __repr__(self) -> str:
        """As YAML, with what was not understood as comments."""
        missed = (f"# not understood: {_said(one)}\n" for one in self.not_understood)
        return "".join(missed) + self.to_yaml()

    def _repr_html_(self) -> str:
        parts = (
            ("not understood, and may matter", map(_said, self.not_understood)),
            ("assumed", self.assumed),
            ("without effect here", map(_said, self.without_effect)),
        )
        return sections_html(((head, list(lines)) for head, lines in parts), self.to_yaml())

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Job:
        made = super().with_(changes, **keys)
        assert isinstance(made, Job)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        return made


def import_job(
    *files: PathLike,
    variables: Mapping[str, Any] | None = None,
    gpus: int | None = None,
    keys: Mapping[str, Any] | None = None,
    **more: Any,
) -> Job:
    """Reads what starts a training with Megatron-LM, Megatron-Bridge, NeMo, torchtitan or
    DeepSpeed as a scenario.

    Files are paths; what has blanks and is no file is the text of a script itself. A warning tells
    what was not understood; ``not_understood`` has it, too. ``variables``
    stand for those of a script, ``gpus`` for how many there are where nothing says it. Keys of the
    scenario are added by ``keys`` (dotted) and by keyword; names in capitals are variables.

    >>> import_job("train.sh", cluster="dgx-h100-8", NNODES=8)
    >>> import_job("train.toml", gpus=64, keys={"cluster": "dgx-h100-8", "training.recompute": "full"})
    """
    words = [_path_of(file) for one in files for file in several(one)]
    if not words:
        raise ArgumentError(f"import_job takes {_ALLOWED}", remedy=_ALLOWED)
    named = {name: value for name, value in more.items() if name.isupper()}
    words += [f"{name}={value}" for name, value in {**(variables or {}), **named}.items()]
    asked: dict[str, Any] = {"words": words}
    if gpus is not None:
        asked["gpus"] = int(gpus)
    said = json.loads(without_folders(json.dumps(_worker.request("import", asked))))

    tree = _core.Tree.from_json(json.dumps(said["scenario"]))
    added = {**{name: value for name, value in more.items() if name not in named}, **(keys or {})}
    for key, value in added.items():
        tree = tree.with_key(key, value)
    missing = [key for key in said["missing"] if key not in added]
    if missing:
        raise ScenarioError(
            f"{said['name']}: nothing says {' or '.join(missing)}; give it in keys="
            f"{{{missing[0]!r}: ..}}" + (" or by gpus=" if "parallel.dp" in missing else ""),
            key=missing[0],
            remedy=f"keys={{{missing[0]!r}: ..}}",
        )
    job = Job._of(tree)
    assert isinstance(job, Job)
    job.framework, job.text = said["framework"], said["yaml"]
    job.sources, job.assumed = said["sources"], said["assumed"]
    job.not_understood, job.without_effect = said["not_understood"], said["without_effect"]
    if "cluster" not in job.to_dict():
        job.assumed.append("nothing says the cluster: run needs one, as in with_(cluster=..)")
    if job.not_understood:
        missed = ", ".join(map(_said, job.not_understood))
        warnings.warn(f"{said['name']}: not understood: {missed}", stacklevel=2)
    return job


_ALLOWED = "the path of what starts a job, or the text of a script"


def _said(one: Mapping[str, Any]) -> str:
    """A flag with its place."""
    return f"{one['text']} ({one['file']}:{one['line']})" if one["line"] else str(one["text"])


class _Script(TextFile):
    """A text that is read once: no scenario names it."""

    _lasts = False


def _path_of(file: PathLike) -> str:
    of_type(file, (str, os.PathLike), "a job", _ALLOWED)
    is_text = isinstance(file, str) and len(file.split()) > 1 and not os.path.exists(file)
    if isinstance(file, str) and ("\n" in file or is_text):
        return _Script(file if file.endswith("\n") else file + "\n", "job.sh").__fspath__()
    return os.fspath(file)


class Launch(TextFile):
    """What starts a scenario with a framework: ``text``, and what that cannot say."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said["text"], "launch" + said["extension"])
        #: What the framework cannot say, in sentences.
        self.differs: list[str] = said["differs"]
        #: A file that the text names, and what it holds: PyTorch's schedule.csv, ds_config.json.
        self.beside: dict[str, str] = (
            {said["beside_name"]: said["beside"]} if said["beside_name"] else {}
        )

    def save(self, path: PathLike) -> None:
        """Writes it, and beside it the file that it names."""
        super().save(path)
        for name, text in self.beside.items():
            with open(os.path.join(os.path.dirname(os.fspath(path)), name), "w") as file:
                file.write(text)

    def _repr_html_(self) -> str:
        return text_html(self.text)


def export_job(scenario: Scenario | Mapping[str, Any], framework: str) -> Launch:
    """What starts a scenario with ``megatron``, ``bridge``, ``nemo``, ``torchtitan`` or
    ``deepspeed``: a script, overrides, YAML, TOML or JSON.

    >>> llama = Scenario(cluster="dgx-h100-8", model="llama-3-70b", parallel=dict(tp=8, pp=4, dp=2),
    ...                  global_batch=128)
    >>> print(export_job(llama, "megatron"))
    #!/bin/bash
    ...
    """
    of_type(framework, str, "framework", "megatron, bridge, nemo, torchtitan or deepspeed")
    one = scenario_of(scenario)
    return Launch(_worker.request("export", {"framework": framework}, scenario=one._json()))
