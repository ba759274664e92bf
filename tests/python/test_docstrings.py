"""What docstrings show is what happens."""

import doctest
import pkgutil

import pytest

import pipewright

from conftest import scenario

MODULES = sorted(module.name for module in pkgutil.iter_modules(pipewright.__path__))


def test_there_are_modules():
    assert {"_results", "_run", "_scenario", "errors"} <= set(MODULES)


@pytest.mark.parametrize("module", ["", *MODULES])
def test_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"pipewright.{module}" if module else "pipewright"
    one = scenario()
    given = {**vars(pipewright), "scenario": one, "result": pipewright.run(one)}
    runner = doctest.DocTestRunner()
    found = __import__(name, fromlist=["_"])
    for test in doctest.DocTestFinder().find(found, name, extraglobs=given):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
