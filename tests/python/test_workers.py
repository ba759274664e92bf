"""Tests of the processes behind the package: abandoned searches, killed workers, memory, libraries."""

import gc
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import pytest

import pipewright
from conftest import scenario
from pipewright import _worker


def descendants():
    """Processes below this one."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(stat.parent.name)] = int(fields[1])
    found, added = {os.getpid()}, True
    while added:
        added = {process for process, parent in parents.items() if parent in found} - found
        found |= added
    return len(found) - 1


def waits_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def long_search():
    return pipewright.search(
        cluster="dgx-h100-8", model="llama-3-8b", global_batch=1024, jobs=2, exhaustive=True,
        parallel={"tp": "auto", "pp": "auto", "dp": "auto", "zero": "auto"}, schedule="1f1b",
        training={"microbatch_size": [1, 2, 4], "recompute": ["none", "selective", "full"]})


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_search_that_runs_again_in_a_cell_leaves_no_processes():
    _worker.end_all()
    processes = []
    for _ in range(3):
        found = long_search()
        processes.append(found._background._process)
    assert waits_for(lambda: not any(map(is_running, processes[:-1])))
    assert is_running(processes[-1])
    del found
    gc.collect()
    assert waits_for(lambda: not is_running(processes[-1]))
    assert waits_for(lambda: descendants() <= len(_worker._idle) + len(_worker._busy))


def test_the_end_of_the_process_ends_its_searches():
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); import test_workers\n"
        "found = test_workers.long_search()\n"
        "print(found._background._process, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, os.path.dirname(__file__)],
                          capture_output=True, text=True)
    process = int(done.stdout)
    assert waits_for(lambda: not os.path.exists(f"/proc/{process}"))


def test_killed_idle_workers_cost_no_run():
    pipewright.run_many([scenario()] * 4, jobs=2)
    idle = list(_worker._idle)
    assert idle
    for worker in idle:
        os.kill(worker._process.pid, signal.SIGKILL)
    assert waits_for(lambda: all(not worker.is_alive() for worker in idle))
    assert [run.makespan_s for run in pipewright.run_many([scenario()] * 4, jobs=2).ok] == [33.0] * 4


def test_a_killed_worker_costs_one_run_and_not_the_batch():
    slow = scenario(devices=64, microbatches=20000, iterations=4)

    def kill_the_slow_one():
        for worker in list(_worker._busy):
            os.kill(worker._process.pid, signal.SIGKILL)

    import threading

    _worker.end_all()
    timer = threading.Timer(2.0, kill_the_slow_one)
    timer.start()
    many = pipewright.run_many([scenario(), slow, scenario(microbatches=16)], jobs=1)
    assert [many[0].makespan_s, many[2].makespan_s] == [33.0, 57.0]
    assert isinstance(many[1], pipewright.Error) and "SIGKILL" in str(many[1])
    assert "run fewer scenarios at a time, or with rows=False" in str(many[1])


def test_a_search_whose_worker_is_killed_names_its_jobs():
    _worker.end_all()
    found = long_search()
    assert waits_for(lambda: len(_worker._busy) == 1)
    for worker in list(_worker._busy):
        os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(pipewright.InternalError, match="SIGKILL.*use fewer jobs") as caught:
        found.run()
    assert "rows" not in str(caught.value)


def test_a_program_that_cannot_start_is_named(tmp_path, monkeypatch):
    _worker.end_all()
    monkeypatch.setenv("PIPEWRIGHT_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(pipewright.InternalError, match="none cannot be started: No such file"):
        scenario()
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'libhdf5.so.103: cannot open shared object file' >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PIPEWRIGHT_PROGRAM", str(broken))
    with pytest.raises(pipewright.InternalError, match=r"does not answer: libhdf5\.so\.103"):
        scenario()


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for kind in (pipewright.Error, pipewright.MissingPackageError, ImportError):
        with pytest.raises(kind, match="xarray is not installed; 'pip install xarray', or use ") as caught:
            pipewright.run(scenario()).to_xarray()
        assert caught.value.name == "xarray"
        with pytest.raises(kind, match="pandas is not installed; .* or use the array of numpy"):
            pipewright.schedule.catalogue(2, 3).to_pandas()


def test_thousands_of_calls_keep_memory_flat():
    job = scenario()
    for number in range(200):
        job.with_(microbatches=number + 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers = [worker._process.pid for worker in _worker._idle]
    for number in range(3000):
        job.with_(microbatches=number + 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 4096  # KiB
    for process in workers:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        assert int(status.split("VmRSS:")[1].split()[0]) < 200_000  # KiB


def test_text_that_is_no_unicode_is_an_error():
    for make in (lambda: scenario().with_(model="\ud800"), lambda: scenario(model={"\ud800": 1}),
                 lambda: pipewright.search(model="\ud800"),
                 lambda: pipewright.import_job("torchrun \ud800"),
                 lambda: pipewright.open("\ud800.h5")):
        with pytest.raises(pipewright.Error, match=r"'\\ud800', which is no character") as caught:
            make()
        assert not isinstance(caught.value, pipewright.InternalError)
    assert pipewright.run(scenario()).makespan_s == 33.0


def test_values_at_fault_are_those_of_python():
    for value, shown in ((True, "True"), (float("nan"), "nan"), ("yes", "the text 'yes'")):
        with pytest.raises(pipewright.ScenarioError, match=f"global_batch is {shown}; allowed"):
            scenario().with_(global_batch=value)
        with pytest.raises(pipewright.ScenarioError, match=f"training.sequence is {shown}; allowed"):
            scenario().with_(training={"sequence": value}, model="llama-3-8b")


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_value_that_holds_itself_is_an_error():
    loop = {}
    loop["me"] = loop
    for make in (lambda: pipewright.Scenario(loop), lambda: scenario(parallel=loop),
                 lambda: scenario(forward_times=nested(100_000)),
                 lambda: pipewright.search(loop)):
        with pytest.raises(pipewright.ScenarioError, match="contains itself; allowed: 64 levels"):
            make()
