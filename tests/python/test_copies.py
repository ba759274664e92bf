"""Tests of pickling and copying: every result outlives its original and its process."""

import copy
import pickle

import pytest

import pipewright
from conftest import ROOT, on_cluster, scenario
from pipewright import comm, platform, schedule

SWEEP = {
    "cluster": "dgx-h100",
    "model": "llama-3-8b",
    "parallel": {"tp": [2, 4], "pp": [1, 2], "dp": "auto", "zero": [0, 1]},
    "schedule": "1f1b",
    "global_batch": 32,
}

MAKERS = {
    "scenario": scenario,
    "run": lambda: pipewright.run(scenario()),
    "runs": lambda: pipewright.runs(scenario(schedule=["1f1b", "gpipe"])),
    "run_many": lambda: pipewright.run_many([scenario(), scenario(schedule="no-such")]),
    "why": lambda: pipewright.why(pipewright.run(scenario()), what_if=False),
    "compare": lambda: pipewright.compare(*[pipewright.run(scenario())] * 2),
    "picture": lambda: pipewright.run(scenario()).plot.timeline(),
    "page": lambda: pipewright.run(scenario()).page(),
    "search": lambda: pipewright.search(SWEEP, jobs=1).run(),
    "candidate": lambda: pipewright.search(SWEEP, jobs=1).run().best,
    "table": lambda: pipewright.run_many([scenario()]).table,
    "named schedule": lambda: schedule.make("1f1b", 2, 2),
    "schedule of a file": lambda: schedule.from_csv("0F0,0B0\n1F0,1B0\n"),
    "found order": lambda: schedule.search(devices=2, microbatches=2, forward=1, input_grad=1,
                                           weight_grad=1),
    "platform": lambda: platform.make("dgx-h100", 2),
    "description": lambda: platform.show("dgx-h100"),
    "bench": lambda: comm.bench("dgx-a100", ranks=16, sizes=[1 << 20]),
    "model": lambda: pipewright.model("llama-3-8b"),
    "launch": lambda: pipewright.export_job(on_cluster(), "megatron"),
    "profile": lambda: pipewright.profile(ROOT / "tests/data/measured/kineto-rank{rank}.json"),
    "error": lambda: pipewright.ScenarioError("wrong", key="devices"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_result_is_pickled_and_copied(name):
    first = MAKERS[name]()
    shown = repr(first)
    for again in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first), copy.copy(first)):
        assert type(again) is type(first) and repr(again) == shown


def test_a_candidate_outlives_its_search():
    found = pipewright.search(SWEEP, jobs=1)
    best = copy.deepcopy(found.run().best)
    with pytest.raises(TypeError, match="cannot be pickled or copied; its result can"):
        pickle.dumps(found)
    del found
    assert best.scenario["parallel.tp"] == best.tp
    assert best._result.ask(why_not="tp == 2")["why_not"][0]["condition"] == "tp == 2"


def test_an_imported_job_keeps_where_it_comes_from():
    job = pipewright.import_job(ROOT / "tests/data/jobs/gpt-dense.sh", cluster="dgx-h100-8")
    again = pickle.loads(pickle.dumps(job.with_({"training.microbatch_size": 2})))
    assert again.framework == "megatron" and again.sources == job.sources
    assert again["training.microbatch_size"] == 2
