"""Tests of searches over layouts and schedules."""

import os
import shutil
import signal
import threading
import time

import pytest

import pipewright

SWEEP = {
    "cluster": "dgx-h100",
    "model": "llama-3-8b",
    "parallel": {"tp": [2, 4, 8], "pp": [1, 2], "dp": "auto", "zero": 1},
    "schedule": ["1f1b", "gpipe"],
    "training": {"microbatch_size": [1, 2]},
    "global_batch": 32,
}


@pytest.fixture(scope="module")
def result():
    return pipewright.search(SWEEP, jobs=2).run()


def test_the_best_is_the_best_simulated_candidate(result):
    simulated = result.table[result.table["outcome"] == "simulated"]
    assert result.best.tokens_per_s == simulated["tokens_per_s"].max()
    assert result.finished and result.proven and result.gap == 0


def test_an_exhaustive_search_finds_the_same_candidate(result):
    all_of_them = pipewright.search(SWEEP, jobs=2, exhaustive=True, front=False).run()
    assert all_of_them.best.values == result.best.values


def test_the_best_candidate_runs_with_the_same_result(result):
    assert pipewright.run(result.best.scenario).makespan_s == pytest.approx(result.best.makespan_s)


def test_any_candidate_is_a_scenario(result):
    number = result.table[result.table["outcome"] == "simulated"]["candidate"].max()
    candidate = result.candidate(number)
    assert candidate.scenario["parallel.tp"] == candidate.values["tp"]


def test_values_are_numbers_and_attributes(result):
    best = result.best
    assert best.tp == best.values["tp"] in (2, 4, 8)
    assert best.schedule == best.values["schedule"]
    table = result.table
    assert table["tp"].dtype.kind == "i" and len(table[table["tp"] == 2]) > 0
    assert list(table.sort("tp")["tp"]) == sorted(table["tp"])
    with pytest.raises(AttributeError, match="did you mean 'peak_memory_bytes'"):
        best.peak_bytes
    for kind in (KeyError, pipewright.Error):
        with pytest.raises(kind, match="there is no column 'time'; allowed: "):
            table["time"]
    for kind in (ValueError, pipewright.Error):
        with pytest.raises(kind, match="no axis 'depth'") as caught:
            result.by("depth")
    assert "tp" in caught.value.allowed


def test_a_search_without_fitting_candidates_says_so_first():
    sweep = {**SWEEP, "model": "llama-3-70b", "parallel": {"tp": 1, "pp": [1, 2], "dp": "auto"}}
    outcome = pipewright.search(sweep).run()
    assert outcome.best is None
    for shown in (repr(outcome), outcome._repr_html_()):
        assert shown.index("no candidate fits") < shown.index("all of the sweep")
        assert "of 79 GiB" in shown


def test_a_generated_cluster_is_saved_with_the_best_candidate(tmp_path):
    made = pipewright.platform.make("dgx-h100", 2)
    outcome = pipewright.search({**SWEEP, "cluster": made}).run()
    outcome.save(tmp_path / "best.yaml", tmp_path / "found.html")
    assert (tmp_path / "best.yaml").read_text().startswith("cluster: cluster.xml\n")
    assert os.environ["XDG_CACHE_HOME"] not in (tmp_path / "found.html").read_text()
    shutil.rmtree(os.environ["XDG_CACHE_HOME"])
    assert pipewright.run(pipewright.Scenario.from_yaml(tmp_path / "best.yaml")).gpus == 16


def test_no_candidate_dominates_the_front(result):
    front = result.front
    assert (front["peak_memory_bytes"][1:] > front["peak_memory_bytes"][:-1]).all()
    assert (front["makespan_s"][1:] < front["makespan_s"][:-1]).all()


def test_tables_of_candidates_print_few_columns_and_have_them_all(result):
    for table in (result.front, result.by("tp"), result.table, result.front[:1], result.front.sort("mfu")):
        head, *rows, rest = str(table).splitlines()
        names = head.split()
        assert len(names) <= 12 and len(names) == len(set(names)) and len(rows) == len(table)
        assert {"tp", "pp", "tokens_per_s", "mfu", "makespan_s", "peak_memory_bytes"} <= set(names)
        assert "expected_error" not in names and "expected_error" in table.columns
        assert rest == f"and {len(table.columns) - len(names)} columns more, named by .columns"
        assert "expected error" not in table._repr_html_()
    with pytest.raises(KeyError, match="there is no column 'tpp'"):
        result.by("tp").array["tpp"]


def test_all_candidates_are_a_data_frame(result):
    pytest.importorskip("pandas")
    assert list(result.to_pandas().columns) == result.table.columns
    assert len(result.to_pandas()) == len(result.table)


def test_notes_on_a_search_are_those_of_its_report(result):
    report = {**result.summary, "notes": ["sequence: 4096 is assumed", "see --help of --budget"]}
    noted = pipewright.SearchResult(report, "", result._file, None)
    assert noted.notes == ["sequence: 4096 is assumed", "see help of budget"]
    assert "sequence: 4096 is assumed" in noted._repr_html_()
    del report["notes"]
    assert pipewright.SearchResult(report, "", result._file, None).notes == []


def test_by_has_the_best_candidate_for_each_value(result):
    by = result.by("tp")
    assert list(by["tp"]) == [2, 4, 8]
    assert result.best.number in by["candidate"]
    with pytest.raises(pipewright.Error, match="tp"):
        result.by("chunks")


def test_a_search_is_saved_like_the_program_does(result, tmp_path):
    files = [tmp_path / f"found{kind}" for kind in (".html", ".csv", ".json", ".h5", ".yaml")]
    result.save(*files)
    assert all(file.stat().st_size > 0 for file in files)
    assert pipewright.Scenario.from_yaml(files[-1]) == result.best.scenario
    again = pipewright.search(tmp_path / "found.h5").run()
    assert again.best.number == result.best.number and len(again.table) == len(result.table)


def test_a_table_converts_to_pandas(result):
    frame = result.table.to_pandas()
    assert {"candidate", "outcome", "tp", "makespan_s", "peak_memory_bytes", "mfu"} <= set(frame.columns)


def test_a_notebook_shows_the_front_in_the_colours_around_it(result):
    shown = result._repr_html_()
    assert "<svg" in shown and "currentColor" in shown and result.proof in shown


def test_progress_grows_to_the_end():
    seen = list(pipewright.search(SWEEP, jobs=2))
    assert seen and seen[-1].best is not None
    assert all(progress.done <= progress.of for progress in seen)
    assert str(seen[-1])


def long_search(**options):
    sweep = {**SWEEP, "parallel": {"tp": "auto", "pp": "auto", "dp": "auto", "zero": [0, 1, 2, 3]}}
    sweep["training"] = {"microbatch_size": [1, 2, 4], "recompute": ["none", "selective", "full"]}
    return pipewright.search({**sweep, "cluster": "dgx-h100-8", "global_batch": 1024},
                             jobs=1, exhaustive=True, **options)


def test_leaving_the_loop_stops_the_search_with_a_result():
    under_way = long_search()
    for progress in under_way:
        if progress.best is not None:
            break
    assert not under_way.result.finished
    assert under_way.result.best is not None


def test_an_interrupt_stops_a_search_within_a_second():
    under_way = long_search()
    seen = iter(under_way)  # kept, as leaving it behind would end the search
    next(seen)
    began = []

    def interrupt():
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        under_way.run()
    assert time.monotonic() - began[0] < 1.5  # a second, on a machine that does much else


def test_a_late_result_of_a_stopped_search_is_accepted(monkeypatch):
    from pipewright import _search

    # A large search can need longer to report its result than the time allowed after an interrupt.
    # Setting that time to 0 has the same effect.
    monkeypatch.setattr(_search, "_GRACE", 0.0)
    under_way = long_search()
    seen = iter(under_way)  # kept, as leaving it behind would end the search
    while next(seen).best is None:
        pass
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        under_way.run()
    assert under_way.result.best is not None and not under_way.result.finished


def test_a_search_resumes_from_its_results(tmp_path):
    results = tmp_path / "kept.h5"
    first = pipewright.search(SWEEP, jobs=2, results=results).run()
    with pytest.raises(pipewright.Error, match="resume"):
        pipewright.search(SWEEP, results=results).run()
    second = pipewright.search(SWEEP, results=results, resume=True).run()
    assert second.best.number == first.best.number


def test_results_of_another_sweep_are_reused(tmp_path):
    narrow = tmp_path / "narrow.h5"
    first = pipewright.search(SWEEP, results=narrow).run()
    again = pipewright.search(SWEEP, reuse=narrow).run()
    assert again.best.number == first.best.number
    with pytest.raises(pipewright.Error, match="nowhere.h5"):
        pipewright.search(SWEEP, reuse=[narrow, "nowhere.h5"]).run()


def test_an_invalid_sweep_is_an_error():
    for wrong, message in (
        (lambda: pipewright.search({**SWEEP, "parallel": {"tpp": 2}}), "tpp"),
        (lambda: pipewright.search("nofile.yaml"), "nofile.yaml"),
        (lambda: pipewright.search(), "search needs a sweep"),
        (lambda: pipewright.search(3), "of type int"),
        (lambda: pipewright.search(SWEEP, jobs=0), "jobs is 0"),
        (lambda: pipewright.search(SWEEP, budget="10 parsec"), "^budget is 10 parsec"),
        (lambda: pipewright.search(**SWEEP, constraints=["pp > 1"]), "search={'constraints': "),
    ):
        with pytest.raises(pipewright.Error, match=message):
            wrong()


def test_keywords_and_a_file_give_the_same_sweep(tmp_path, result):
    by_keyword = pipewright.search(jobs=2, front=False, **SWEEP).run()
    assert by_keyword.best.values == result.best.values


def test_ask_answers_questions_about_the_winner(result):
    answers = result.ask(why_not="tp == 8", robust={"draws": 2, "top": 2, "turns": False}, jobs=2)
    assert answers["why_not"][0]["condition"] == "tp == 8"
    assert len(answers["robust"]["candidates"]) == 2
    assert answers["robust"]["candidates"][0]["candidate"] == result.best.number


def test_a_decision_has_ties_failures_and_the_launch_of_the_winner(result):
    settings = {"draws": 1, "top": 2, "turns": False}
    decision = result.ask(decide=True, robust=settings, jobs=2)["decision"]
    assert decision["candidate"] == result.best.number
    assert 0 < decision["goodput"]["effective_training_time_ratio"]["mean"] < 1
    assert decision["launch"]["framework"] == "megatron"
    assert decision["missing"][0]["option"].startswith("--costs")
