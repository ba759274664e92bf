"""Runs the examples in docstrings."""

import doctest
import gzip
import pathlib
import pkgutil
import shutil

import pytest

import pipewright

from conftest import scenario

ROOT = pathlib.Path(__file__).parents[2]
MODULES = sorted(module.name for module in pkgutil.iter_modules(pipewright.__path__))


SWEEP = """
cluster: dgx-h100
model: llama-3-8b
parallel: {tp: auto, pp: auto, sp: true}
schedule: 1f1b
global_batch: 128
"""


def give_files(folder):
    """Objects that the examples use."""
    data = ROOT / "tests/data"
    for name, source in {
        "train.sh": data / "jobs/gpt-dense.sh",
        "train.toml": data / "jobs/titan.toml",
        "all_reduce_16.log": data / "comm/stamped_2020.log",
    }.items():
        shutil.copy(source, folder / name)
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "profile").mkdir()
    for rank in range(2):
        with gzip.open(folder / f"profile/rank{rank}.json.gz", "wb") as file:
            file.write((data / f"measured/kineto-rank{rank}.json").read_bytes())


class Shown(doctest.OutputChecker):
    """Accepts any output for an example without expected output."""

    def check_output(self, want, got, optionflags):
        return not want or super().check_output(want, got, optionflags | doctest.ELLIPSIS)


def test_the_package_has_modules():
    assert {"_results", "_run", "_scenario", "errors"} <= set(MODULES)


@pytest.mark.parametrize("module", ["", *MODULES])
def test_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    give_files(tmp_path)
    name = f"pipewright.{module}" if module else "pipewright"
    job = scenario()
    runner = doctest.DocTestRunner(Shown())
    module_object = __import__(name, fromlist=["_"])
    names = {**vars(pipewright), **vars(module_object), "scenario": job, "result": pipewright.run(job)}
    for test in doctest.DocTestFinder().find(module_object, name, globs=names):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
