"""Tests of runs: figures, rows, concurrency and interrupts."""

import inspect
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import pipewright
from pipewright import Deadlock, Result, Results

from conftest import on_cluster, scenario


def test_numbers_of_a_result_are_attributes():
    result = pipewright.run(scenario())
    assert isinstance(result, Result)
    assert result.makespan_s == 33.0
    assert result.bubble_ratio == pytest.approx(3 / 11)
    assert result.devices[0]["busy_s"] == 24.0
    with pytest.raises(AttributeError, match="makespan_s"):
        result.makespan
    with pytest.raises(AttributeError, match="did you mean 'peak_memory_bytes'"):
        result.peak_bytes


def test_the_peak_is_that_of_the_fullest_device():
    result = pipewright.run(on_cluster())
    assert result.peak_memory_bytes == max(device["peak_memory_bytes"] for device in result.devices)
    assert result.peak_memory_bytes == result.to_pandas("devices").peak_memory_bytes.max()
    assert pipewright.run(scenario()).peak_memory_bytes is None  # no model: nothing is counted


def test_a_note_names_idle_nodes():
    # The cluster has 64 GPUs; a replica with tp 2 and pp 4 uses 8.
    keys = dict(cluster="dgx-h100-8", parallel={"tp": 2, "pp": 4})
    with_note = pipewright.run(on_cluster(**keys)).notes
    assert any("8 of 64 GPUs" in note and "8 would use all GPUs" in note for note in with_note)
    keys["parallel"]["dp"] = 8
    assert not any("idle" in note for note in pipewright.run(on_cluster(**keys)).notes)


def test_arguments_of_wrong_types_raise_argument_errors():
    result = pipewright.run(scenario())
    for wrong in (
        lambda: pipewright.run(None),
        lambda: pipewright.run_many(scenario()),
        lambda: pipewright.why([result]),
        lambda: pipewright.why(None),
        lambda: pipewright.compare(result, scenario()),
        lambda: pipewright.export_job(scenario(), None),
        lambda: pipewright.import_job(None),
        lambda: pipewright.schedule.from_passes(None),
    ):
        with pytest.raises(pipewright.ArgumentError) as caught:
            wrong()
        assert caught.value.remedy and "object has no attribute" not in str(caught.value)
    with pytest.raises(KeyError, match="there is no table 'foo'"):
        result.table("foo")


def test_keys_as_keywords_of_run_name_the_scenario():
    for function, call in ((pipewright.run, r"run\(Scenario\(cluster=.., ..\)\)"),
                           (pipewright.runs, r"runs\(Scenario\(cluster=.., ..\)\)"),
                           (pipewright.run_many, r"run_many\(\[Scenario\(cluster=.., ..\)\]\)")):
        for kind in (TypeError, pipewright.ArgumentError):
            with pytest.raises(kind, match=f"has no keyword 'cluster'; .* as in {call}"):
                function(cluster="dgx-h100", model="llama-3-8b")
        assert "Scenario" in str(inspect.signature(function))
    with pytest.raises(TypeError, match="run has no keyword 'row'; did you mean 'rows'"):
        pipewright.run(scenario(), row=False)
    assert "run(Scenario(cluster=.., model=.., ..))" in pipewright.run.__doc__


def test_a_number_of_jobs_is_checked_in_every_function():
    result = pipewright.run(scenario())
    for call in (lambda jobs: pipewright.run_many([scenario()], jobs=jobs),
                 lambda jobs: pipewright.why(result, jobs=jobs),
                 lambda jobs: pipewright.search(scenario(), jobs=jobs)):
        with pytest.raises(TypeError, match="jobs is of type str; allowed: a whole number"):
            call("two")
        with pytest.raises(pipewright.ArgumentError, match="jobs is 0; allowed"):
            call(0)


def test_an_unknown_column_is_named():
    result = pipewright.run(scenario())
    for kind in (KeyError, pipewright.UnknownNameError):
        with pytest.raises(kind, match="there is no column 'ende'; did you mean 'end'") as caught:
            result.passes["ende"]
        with pytest.raises(kind, match="there is no column 'ende'"):
            result.passes[["start", "ende"]]
    assert caught.value.key == "ende" and "start" in caught.value.allowed
    assert type(result.passes["end"]) is numpy.ndarray
    assert result.passes[["start", "end"]][result.passes["device"] == 3]["start"].min() == 3.0


def test_progress_of_a_long_run_is_shown(monkeypatch, capsys):
    from pipewright import _progress

    job = scenario(devices=16, microbatches=20000)
    monkeypatch.setattr(_progress, "_QUIET", 0.0)
    quiet = pipewright.run(job, rows=False, bar=False)
    assert capsys.readouterr().err == ""
    shown = pipewright.run(job, rows=False, bar=True)
    lines = capsys.readouterr().err.splitlines()
    # Each of 16 devices has 20000 forward and 20000 backward passes.
    passes = [re.fullmatch(r"run 1f1b: (\d+) of 640000 passes, \d+ s left", line) for line in lines]
    done = [int(line[1]) for line in passes]
    assert done and done == sorted(set(done)) and done[-1] <= 640000
    assert shown.summary == quiet.summary


def test_progress_of_a_run_in_a_log_has_growing_intervals(monkeypatch, capsys):
    from pipewright import _progress

    clock = iter(range(1000))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: float(next(clock)))
    lines = _progress._LogLines()  # at 0 s
    for second in range(1, 40):
        lines(f"{second} s")
    assert capsys.readouterr().err.split("\n") == ["10 s", "20 s", ""]
    for second in range(40, 300):
        lines(f"{second} s")
    assert capsys.readouterr().err.split("\n") == ["40 s", "80 s", "140 s", "200 s", "260 s", ""]


def test_the_version_is_that_of_the_program(program):
    printed = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    assert pipewright.__version__ in printed


def test_output_of_the_program_can_be_piped_to_head():
    command = f"{sys.executable} -c 'from pipewright._program import main; main()' help run | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout and not done.stderr


def test_every_figure_of_a_result_is_declared():
    from pipewright import _typed_figures
    from pipewright._figures import RunFigures

    summary = pipewright.run(on_cluster()).summary
    assert set(RunFigures.__annotations__) == set(summary)
    for part, figures in (("JobFigures", summary["job"]), ("ExpectedError", summary["expected_error"]),
                          ("DeviceFigures", summary["devices"][0]),
                          ("PassCollective", summary["pass_collectives"][0])):
        assert set(getattr(_typed_figures, part).__annotations__) >= set(figures), part


def test_figures_equal_those_of_the_program(tmp_path, program):
    job = on_cluster()
    file = tmp_path / "a.yaml"
    file.write_text(job.to_yaml())
    printed = subprocess.run([program, "run", file, "--json"], capture_output=True, check=True)
    assert pipewright.run(job).summary == json.loads(printed.stdout)


def test_passes_are_read_only_views_of_one_block():
    passes = pipewright.run(scenario()).passes
    assert len(passes) == 4 * 8 * 2
    assert passes["end"].max() == 33.0
    assert not passes.flags.owndata and not passes.flags.writeable
    first = passes[passes["device"] == 3]
    assert first["start"].min() == 3.0  # three forward passes come before


def test_tables_have_the_columns_of_the_trace_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    result = pipewright.run(on_cluster())
    result.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        for name in result.tables:
            ours, theirs = result.table(name), file[name][:] if name in file else []
            assert len(ours) == len(theirs)
            if len(ours) == 0:
                continue
            assert ours.dtype.names == theirs.dtype.names
            for column in ours.dtype.names:
                assert (ours[column] == theirs[column]).all(), (name, column)
    assert len(result.links) > 0 and len(result.link_use) > 0 and len(result.steps) > 0


def test_data_frames_have_names_for_codes():
    result = pipewright.run(on_cluster())
    frame = result.to_pandas()
    assert dict(frame.groupby("kind", observed=True).size()) == {"F": 32, "B": 32}
    assert result.to_pandas("memory").category.isin(result.kinds("memory")["category"]).all()
    assert result.to_pandas("links").name.map(type).eq(str).all()


def test_polars_frames_have_names_for_codes():
    pytest.importorskip("polars")
    frame = pipewright.run(scenario()).to_polars()
    assert frame["kind"].unique().sort().to_list() == ["B", "F"]


def test_several_schedules_are_several_results():
    runs = pipewright.runs(scenario(schedule=["1f1b", "gpipe"]))
    assert isinstance(runs, Results)
    assert [run.schedule for run in runs] == ["1f1b", "gpipe"]
    assert runs.makespan_s == [33.0, 33.0]
    assert list(runs.to_pandas()["makespan_s"]) == [33.0, 33.0]
    assert runs["gpipe"] is runs[1] and list(runs.table["schedule"]) == ["1f1b", "gpipe"]
    assert isinstance(runs[:1], Results) and isinstance(runs[0], Result)


def test_missing_rows_are_simulated_on_access():
    result = pipewright.run(scenario(), rows=False)
    assert result._tables is None
    assert len(result.passes) == 64


def test_two_clusters_in_one_interpreter_give_the_same_bytes_as_two_processes(tmp_path):
    scenarios = [on_cluster(), on_cluster(cluster="dgx-a100")]
    here = [pipewright.run(job) for job in scenarios]
    script = (
        "import pickle, sys, pipewright\n"
        "one = pickle.loads(sys.stdin.buffer.read())\n"
        "pipewright.run(one).save(sys.argv[1])\n"
    )
    for number, (job, result) in enumerate(zip(scenarios, here)):
        file = tmp_path / f"{number}.h5"
        subprocess.run(
            [sys.executable, "-c", script, file], input=pickle.dumps(job), check=True
        )
        result.save(tmp_path / f"{number}-here.h5")
        assert file.read_bytes() == (tmp_path / f"{number}-here.h5").read_bytes()
    assert here[0].makespan_s != here[1].makespan_s


def test_a_saved_trace_equals_that_of_the_program(tmp_path, program):
    job = on_cluster()
    (tmp_path / "a.yaml").write_text(job.to_yaml())
    subprocess.run(
        [program, "run", "a.yaml", "--trace", "a.h5", "-o", "a.csv", "-o", "a.html", "-o", "a.svg"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    result = pipewright.run(job)
    for extension in ("h5", "csv", "html", "svg"):
        result.save(tmp_path / f"b.{extension}")
        saved = (tmp_path / f"b.{extension}").read_bytes()
        assert saved == (tmp_path / f"a.{extension}").read_bytes(), extension


def test_results_survive_pickling():
    result = pickle.loads(pickle.dumps(pipewright.run(on_cluster())))
    assert len(result.passes) == 64
    assert "llama-3-8b" in str(result)


def test_run_many_keeps_the_order_of_results_and_errors():
    many = [scenario(microbatches=n) for n in (4, 8, 16)]
    bad = scenario(schedule="no-such-schedule")
    results = pipewright.run_many([*many, bad], jobs=2)
    assert [result.makespan_s for result in results[:3]] == [21.0, 33.0, 57.0]  # (n + 3) x 3 s
    assert isinstance(results[3], pipewright.Error)
    assert [result.makespan_s for result in results.ok] == [21.0, 33.0, 57.0]
    assert list(results.errors) == [3]
    assert list(results.to_pandas()["makespan_s"][:3]) == [21.0, 33.0, 57.0]
    assert "no-such-schedule" in results.table[3]["error"]


def test_a_worker_survives_a_scenario_that_cannot_run():
    with pytest.raises(pipewright.Error, match="no-such-schedule"):
        pipewright.run(scenario(schedule="no-such-schedule"))
    assert pipewright.run(scenario()).makespan_s == 33.0


def test_devices_that_wait_forever_are_a_deadlock(tmp_path):
    # Device 0 waits for the gradient of microbatch 0 before it sends microbatch 1, but device 1
    # waits for the activations of microbatch 1.
    file = tmp_path / "crossed.csv"
    file.write_text("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
    with pytest.raises(Deadlock, match="2 of 2 devices wait forever"):
        pipewright.run(scenario(devices=2, microbatches=2, schedule=str(file)))


def test_a_run_writes_the_files_of_its_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipewright.run(scenario(output=["a.svg", "a.json"], trace="a.trace"))
    assert {file.name for file in tmp_path.iterdir()} == {"a.svg", "a.json", "a.trace"}


def test_paths_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("0F0,0B0\n1F0,1B0\n")
    monkeypatch.chdir(tmp_path)
    result = pipewright.run(scenario(devices=2, microbatches=1, schedule="mine.csv"))
    assert result.makespan_s == 6.0


LONG = dict(devices=64, microbatches=20000, iterations=4)


def test_an_interrupt_stops_a_long_run_within_a_second():
    pipewright.run(scenario())  # starts a worker
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pipewright.run(scenario(**LONG), rows=False)
    assert time.monotonic() - begin < 1.5
    assert pipewright.run(scenario()).makespan_s == 33.0


def test_an_interrupt_stops_many_long_runs_within_a_second():
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pipewright.run_many([scenario(**LONG)] * 4, jobs=2)
    assert time.monotonic() - begin < 1.5


def test_other_threads_run_during_a_simulation():
    count = 0
    is_over = threading.Event()

    def go_on():
        nonlocal count
        while not is_over.is_set():
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=go_on)
    thread.start()
    begin = time.monotonic()
    pipewright.run(scenario(devices=32, microbatches=2000))
    taken = time.monotonic() - begin
    is_over.set()
    thread.join()
    assert count > taken * 100  # of the 1000 a second that it could be


def test_a_forked_process_has_its_own_workers():
    pipewright.run(scenario())
    child = os.fork()
    if child == 0:
        ok = pipewright.run(scenario(microbatches=4)).makespan_s == 21.0
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pipewright.run(scenario()).makespan_s == 33.0


def test_a_worker_ends_with_its_parent_process(tmp_path):
    script = (
        "import os, pipewright\n"
        "from pipewright import _worker\n"
        "pipewright.run(dict(devices=2, microbatches=2, forward_times=1, backward_times=1))\n"
        "print(_worker._idle[0]._process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pid = int(child.stdout)
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            return
        time.sleep(0.02)
    pytest.fail("the worker is still there")


def test_dropped_results_close_their_files():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    pipewright.run(scenario())
    before = descriptors()
    for _ in range(5):
        pipewright.runs(scenario(schedule=["1f1b", "gpipe"]))
    assert descriptors() <= before


def test_arrays_outlive_their_result():
    passes = pipewright.run(scenario()).passes
    assert numpy.sort(passes["end"])[-1] == 33.0
