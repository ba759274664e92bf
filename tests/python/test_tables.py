"""Tests of tables of runs: what was swept, types of values, units, and results read back."""

import errno
import pickle

import numpy
import pytest

import pipewright
from conftest import ROOT, on_cluster, scenario

MEASURED = ROOT / "tests/data/measured"
SWEEP = {
    "cluster": "dgx-h100",
    "model": "llama-3-8b",
    "parallel": {"tp": [2, 4], "pp": 2, "dp": "auto", "zero": [0, 1]},
    "schedule": "1f1b",
    "global_batch": 16,
}


def test_the_table_of_many_runs_has_what_was_swept():
    jobs = [on_cluster().with_({"parallel.zero": zero, "training.recompute": recompute})
            for zero in (0, 1) for recompute in ("none", "full")]
    frame = pipewright.run_many(jobs).to_pandas()
    assert list(frame.zero) == [0, 0, 1, 1] and len(frame.query("zero == 1")) == 2
    assert list(frame.recompute) == ["none", "full"] * 2
    for column in ("tp", "pp", "dp", "microbatch_size", "stack", "makespan_s", "peak_memory_bytes"):
        assert column in frame.columns
    assert set(frame.tp) == {2} and frame["stack"].nunique() == 1


def test_columns_of_keys_without_a_figure_have_the_keys_name():
    jobs = [scenario(p2p_time=time) for time in ("1 ms", "2 ms")] + [scenario(schedule="no-such")]
    many = pipewright.run_many(jobs)
    assert list(many.table["p2p_time"]) == ["1 ms", "2 ms", ""]
    assert "no-such" in many.table[2]["error"]
    assert "microbatches" not in many.table.columns  # equal in all


def test_scenarios_with_several_schedules_have_several_rows():
    many = pipewright.run_many([scenario(schedule=["1f1b", "gpipe"]), scenario()])
    assert [run.schedule for run in many.ok] == ["1f1b", "gpipe", "1f1b"]
    assert list(many.table["number"]) == [0, 0, 1]


def test_run_takes_one_schedule():
    with pytest.raises(pipewright.ArgumentError, match=r"2 schedules.* runs\(scenario\)"):
        pipewright.run(scenario(schedule=["1f1b", "gpipe"]))


def test_values_of_a_key_have_one_type_everywhere():
    job = on_cluster(parallel={"tp": 2, "pp": 4, "dp": 2, "zero": 1})
    found = pipewright.search(SWEEP, jobs=1, exhaustive=True).run()
    ours = (job["parallel.zero"], pipewright.run(job).job["zero"], *found.table["zero"].tolist(),
            found.best.zero, found.best_params["zero"])
    assert {type(value) for value in ours} == {int}


def test_candidates_are_shown_as_trials():
    found = pipewright.search(SWEEP, jobs=1, exhaustive=True).run()
    trials = found.trials_dataframe()
    assert list(trials.columns[:3]) == ["number", "value", "params_tp"]
    assert trials.value.min() == found.best_value
    assert trials[trials.value == found.best_value].params_tp.item() == found.best_params["tp"]


def test_every_number_has_a_unit_or_is_a_number_of_something():
    result = pipewright.run(on_cluster())
    for table in result.tables:
        units = result.units(table)
        fields = result.table(table).dtype.fields
        assert set(units) == set(fields)
        for column, unit in units.items():
            if fields[column][0].kind == "f":
                assert unit in ("s", "bytes/s", "flow s"), (table, column)
            elif column.endswith("bytes"):
                assert unit == "bytes"
    assert result.to_pandas().attrs["units"]["end"] == "s"


def test_pictures_have_names():
    result = pipewright.run(on_cluster())
    assert result.plot.timeline().svg == result.picture().svg
    assert result.plot.memory().svg == result.picture("memory").svg
    assert "<svg" in pipewright.runs(scenario(schedule=["1f1b", "gpipe"])).plot.bubbles().svg


def test_a_run_is_read_back(tmp_path):
    first = pipewright.run(on_cluster())
    first.save(tmp_path / "run.h5")
    again = pipewright.open(tmp_path / "run.h5")
    assert again.makespan_s == first.makespan_s and again.mfu == first.mfu
    assert (numpy.array(again.passes) == numpy.array(first.passes)).all()
    assert not pipewright.compare(first, again, conditions=["makespan>+0%"]).holds()
    assert pipewright.run(again.scenario).makespan_s == first.makespan_s
    again.save(tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "run.h5").read_bytes()


def test_a_search_is_read_back(tmp_path):
    found = pipewright.search(SWEEP, jobs=1, results=tmp_path / "found.h5").run()
    assert pipewright.open(tmp_path / "found.h5").best.values == found.best.values


def test_other_files_are_refused(tmp_path):
    (tmp_path / "other.h5").write_text("no HDF5")
    for name in ("other.h5", "none.h5"):
        with pytest.raises(pipewright.TraceError, match=name):
            pipewright.open(tmp_path / name)


def test_missing_files_are_file_not_found_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = pipewright.run(scenario())
    for file, kind, read in (
        ("none.h5", pipewright.TraceError, pipewright.open),
        ("none.yaml", pipewright.ScenarioError, pipewright.Scenario.from_yaml),
        ("none.yaml", pipewright.ScenarioError, pipewright.search),
        ("none.h5", pipewright.TraceError, lambda file: pipewright.search(file).run()),
        ("none.sh", pipewright.ScenarioError, pipewright.import_job),
        ("none.log", pipewright.TraceError, lambda file: pipewright.compare(result, file)),
        ("none.json", pipewright.TraceError, pipewright.profile),
        ("none.csv", pipewright.Error, pipewright.schedule.from_csv),
        ("none.log", pipewright.TraceError, lambda file: pipewright.comm.compare(file, "dgx-a100")),
    ):
        with pytest.raises(FileNotFoundError, match=file) as caught:
            read(file)
        error = caught.value
        assert isinstance(error, kind) and isinstance(error, pipewright.MissingFileError)
        assert error.filename == file and error.errno == errno.ENOENT
        copied = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error) and str(copied) == str(error)
    (tmp_path / "other.h5").write_text("no HDF5")
    with pytest.raises(pipewright.TraceError) as caught:
        pipewright.open("other.h5")
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_run_is_compared_with_measurements():
    measured = pipewright.profile(MEASURED / "kineto-rank{rank}.json")
    predicted = pipewright.run(measured.with_(p2p_time="0.1 ms"))
    answer = pipewright.compare(predicted, MEASURED / "kineto-rank{rank}.json",
                                conditions=["pass_span>+50%"])
    assert not answer.holds() and "pass span" in str(answer)
    log = pipewright.compare(pipewright.run(on_cluster()), MEASURED / "megatron.log", skip=1)
    assert "iteration" in str(log) and log.summary["measured"].endswith("megatron.log")
    memory = pipewright.compare(pipewright.run(on_cluster(parallel={"tp": 2, "pp": 2, "dp": 4})),
                                MEASURED / "snapshot-rank{rank}.pickle",
                                conditions=["peak_memory>+50%"])
    assert memory.holds() and "held between iterations" in str(memory)
    with pytest.raises(pipewright.ArgumentError, match="skip"):
        pipewright.compare(predicted, predicted, skip=1)


def test_a_profile_has_the_notes_on_its_measurement():
    measured = pipewright.profile(MEASURED / "kineto-rank{rank}.json", align=True)
    assert measured.notes == ["no clock is shifted: no shift would resolve a contradiction"]
    assert measured.with_(p2p_time="0.1 ms").notes == measured.notes


def test_progress_of_many_runs_is_shown(capsys):
    pipewright.run_many([scenario()] * 3, bar=True)
    assert "run_many 3/3" in capsys.readouterr().err
