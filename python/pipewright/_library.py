"""Models, GPUs and software stacks of the library."""

from __future__ import annotations

from . import _worker
from ._commands import command
from ._commands import options as words_of
from ._report import Report


def names_in(folder: str, extension: str) -> list[str]:
    answer = _worker.request("library", {"of": folder, "extension": extension})
    names: list[str] = answer["names"]
    return names


def models() -> list[str]:
    """The models of the library, for ``model`` of a scenario.

    >>> "llama-3-70b" in models()
    True
    """
    return names_in("models", ".yaml")


def gpus() -> list[str]:
    """The GPUs of the library, for ``gpu`` of a scenario."""
    return names_in("gpus", ".yaml")


def stacks() -> list[str]:
    """The software stacks of the library, for ``stack`` of a scenario.

    >>> "torchtitan" in stacks()
    True
    """
    return names_in("stacks", ".yaml")


def model(name: str, **options: object) -> Report:
    """Shape and cost of a model, given by its name, its file or a ``config.json`` of Hugging Face.

    ``options`` are those of ``pipewright model``: ``gpu``, ``tp``, ``sequence``, ``precision``, ...

    >>> model("llama-3-70b").parameters
    70553706496
    """
    words = ["model", name, *words_of(**options)]
    return Report(command(*words, "--json").json(), command(*words).text)
