"""Clusters of the library, generated clusters, and descriptions of both.

>>> from pipewright import platform
>>> platform.show("dgx-h100").bisection.bytes_per_s
784000000000.0
>>> mine = platform.make("dgx-h100", 16, fabric="leaf-spine", oversubscription=2)
>>> run(scenario.with_(cluster=mine))
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ._commands import PathLike, command, options
from ._files import TextFile
from ._library import names_in
from ._report import Report, save_text

__all__ = ["Platform", "Shown", "make", "names", "nodes", "show"]


class Platform(TextFile):
    """A cluster as a platform file of SimGrid: ``text`` is its XML.

    It can replace the name of a cluster, as in ``Scenario(cluster=platform)``,
    ``comm.bench(platform)`` and ``platform.show(platform)``.
    """

    def __init__(self, text: str, name: str = "cluster") -> None:
        super().__init__(text, name + ".xml")

    def show(self, route: tuple[str, str] | None = None) -> Shown:
        """Describes the cluster; see :func:`show`."""
        return show(self, route=route)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


def make(
    node: PathLike | Iterable[PathLike] | None = None,
    nodes: int | Iterable[int] = 1,
    *,
    fabric: str | None = None,
    name: str = "cluster",
    **more: Any,
) -> Platform:
    """Generates a cluster with nodes of one kind (:func:`nodes` lists them) or of several.

    ``fabric`` is rail, leaf-spine, fat-tree, dragonfly, dragonfly+ or torus. ``more`` are the other
    options of ``pipewright platform make``: ``gpu``, ``gpus_per_node``, ``nvlink``, ``nics``,
    ``nic``, ``oversubscription``, ``spines``, ``planes``, ``dimensions``, ...

    >>> make("dgx-h100", 64).save("mine.xml")
    >>> make(gpu="h200", nvlink="370 GB/s", nic="47 GB/s", nodes=16)
    """
    output = command("platform", "make", *options(node=node, nodes=nodes, fabric=fabric, **more))
    return Platform(output.text, name)


def show(cluster: PathLike, *, route: tuple[str, str] | None = None) -> Shown:
    """Describes a platform file or a cluster of the library: ``nodes``, ``gpus``, ``links`` by class,
    ``bisection``, the cost of ``messages``, and the ``route`` between two GPUs.

    >>> round(show("dgx-a100", route=("node-0-gpu-0", "node-1-gpu-3")).route.latency_s, 9)
    2.9e-05
    """
    path = os.fspath(cluster)
    words = ["platform", "show", path, *options(route=route)]
    summary = command(*words, "--json").json()
    if isinstance(cluster, TextFile):
        summary["cluster"] = cluster.label
    return Shown(words, summary, path)


class Shown(Report):
    """Description of a cluster; ``print`` shows it as ``pipewright platform show`` does."""

    def __init__(self, words: list[str], summary: dict[str, Any], path: str) -> None:
        super().__init__(summary)
        self._words = words
        self._path = path

    def __str__(self) -> str:
        return command(*self._words).text.replace(self._path, self.summary["cluster"])

    def save(self, path: PathLike) -> None:
        """Writes the printed description to a file."""
        save_text(path, str(self))


def names() -> list[str]:
    """Names of the clusters of the library."""
    return names_in("clusters", ".xml")


def nodes() -> list[str]:
    """Kinds of nodes for :func:`make`."""
    return names_in("nodes", ".yaml")
