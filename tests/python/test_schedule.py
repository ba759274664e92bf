"""Tests of schedules from the catalogue, from files and from passes."""

import pickle

import pytest

import pipewright
from pipewright import schedule

LISTS = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]


def gpipe(device, step):
    """Four microbatches forward, then backward."""
    return f"F{step}" if step < 4 else f"B{step - 4}" if step < 8 else None


@pytest.mark.parametrize(
    "passes",
    [
        LISTS,
        ["F0 F1 B0 B1", "F0 B0 F1 B1"],
        [[("F", 0), ("F", 1), ("B", 0), ("B", 1)], [("F", 0), ("B", 0), ("F", 1), ("B", 1)]],
        {1: ["F0", "B0", None, "F1", "B1"], 0: ["F0", "F1", "", "B0", "B1"]},
    ],
)
def test_passes_can_be_written_in_several_notations(passes):
    assert schedule.from_passes(passes).rows == LISTS


def test_actions_of_pytorch_are_passes():
    class Kind:
        def __init__(self, letter):
            self.letter = letter

        def __str__(self):
            return self.letter

    class Action:
        def __init__(self, stage, kind, microbatch):
            self.stage_index, self.computation_type = stage, Kind(kind)
            self.microbatch_index = microbatch

    assert schedule.from_passes([[Action(0, "F", 0), Action(0, "B", 0)]]).rows == [["0F0", "0B0"]]


def test_chunks_are_placed_as_a_loop_or_as_a_v():
    def order(device, step):
        return [("F", 0, 0), ("F", 0, 1), ("B", 0, 1), ("B", 0, 0), None][step]

    assert schedule.from_passes(order, 2).rows[0] == ["0F0", "2F0", "2B0", "0B0"]
    assert schedule.from_passes(order, 2, placement="v").rows[0] == ["0F0", "3F0", "3B0", "0B0"]


def test_two_passes_in_a_tuple_overlap():
    rows = [[("F", 0), (("F", 1), ("B", 0)), ("B", 1)]]
    assert schedule.from_passes(rows).rows == [["0F0", "(0F1;0B0)OVERLAP_F_B", "0B1"]]


def test_gpipe_as_a_function_takes_its_closed_form_time():
    # There are p + m - 1 forwards and as many backwards in sequence: (2 + 4 - 1) x (1 + 2) s.
    timed = schedule.from_passes(gpipe, devices=2).time(forward=1, backward=2)
    assert timed.makespan_s == 15
    assert timed.bubble_ratio == pytest.approx(1 / 5)


def test_an_early_pass_is_reported_with_its_location():
    with pytest.raises(pipewright.ScheduleError, match="1B1 comes before its forward") as caught:
        schedule.from_passes([["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B1", "1F1", "1B0"]])
    assert (caught.value.device, caught.value.step) == (1, 1)
    assert "pipewright-" not in str(caught.value)


def test_an_invalid_pass_is_reported_with_its_location():
    with pytest.raises(pipewright.ScheduleError) as caught:
        schedule.from_passes([[("F", 0), 7]])
    assert (caught.value.device, caught.value.step) == (0, 1)


def test_devices_that_wait_for_each_other_are_a_deadlock():
    # Stage 0 waits for the gradient of microbatch 0 before it runs F1, and stage 1 waits for F1
    # before it makes that gradient.
    rows = [["0F0", "0B0", "0F1", "0B1"], ["1F0", "1F1", "1B0", "1B1"]]
    with pytest.raises(pipewright.Deadlock) as caught:
        schedule.from_passes(rows)
    assert caught.value.device == 0
    assert isinstance(caught.value, pipewright.ScheduleError)


def test_a_schedule_from_passes_runs_like_any_other():
    keys = dict(devices=2, microbatches=2, forward_times=1, backward_times=2, p2p_time=0.5)
    mine = pipewright.Scenario(schedule=schedule.from_passes(LISTS), **keys)
    named = pipewright.Scenario(schedule="1f1b", **keys)
    assert pipewright.run(mine).makespan_s == pipewright.run(named).makespan_s


def test_a_schedule_from_passes_must_match_its_scenario():
    mine = schedule.from_passes(LISTS)
    for keys in ({"devices": 2, "microbatches": 16}, {"devices": 8, "microbatches": 2}):
        with pytest.raises(pipewright.ScheduleError, match="schedule passes has 2") as caught:
            pipewright.Scenario(schedule=mine, forward_times=1, backward_times=2, **keys)
        assert caught.value.remedy == f"{caught.value.key}=2"
    with pytest.raises(pipewright.Error, match="schedule.from_passes"):
        pipewright.Scenario(schedule=LISTS, devices=2, microbatches=2, forward_times=1)


def test_locations_in_lists_are_devices_and_steps():
    for rows, message in (
        ([["X3"]], "^device 0, step 0: 'X3' is not a pass"),
        ([["0F0", "0B0"], ["1F0", "1B0", "1B0"]], "^device 1, step 2: 1B0 comes after"),
        ([], "^passes is empty"),
    ):
        with pytest.raises(pipewright.ScheduleError, match=message):
            schedule.from_passes(rows)


def test_times_are_forward_and_backward():
    mine = schedule.from_passes(LISTS)
    assert mine.time(1, 2).makespan_s == mine.time(forward=1, backward=2).makespan_s == 9.0


def test_a_schedule_of_the_catalogue_keeps_its_options():
    made = schedule.make("interleaved-1f1b", 2, 4, chunks=2)
    assert made.chunks == 2
    assert made.rows[0][:4] == ["0F0", "0F1", "2F0", "2F1"]
    job = pipewright.Scenario(schedule=made, devices=2, microbatches=4, forward_times=1,
                              backward_times=2)
    assert job["schedule.chunks"] == 2


def test_impossible_sizes_of_a_schedule_are_an_error():
    with pytest.raises(pipewright.Error):
        schedule.make("1f1b", 4, 8, chunks=3)
    with pytest.raises(pipewright.Error, match="1f1b"):
        schedule.make("1f2b", 4, 8)


def test_passes_survive_a_round_trip_through_csv(tmp_path):
    made = schedule.make("zb-h1", 3, 6)
    made.save(tmp_path / "order.csv", tmp_path / "order.svg")
    assert schedule.from_csv(tmp_path / "order.csv").rows == made.rows
    assert (tmp_path / "order.svg").read_text().lstrip().startswith("<?xml")


def test_a_saved_schedule_is_named_by_its_file(tmp_path):
    mine = schedule.from_passes(LISTS)
    mine.save(tmp_path / "mine.csv")
    job = pipewright.Scenario(schedule=mine, devices=2, microbatches=2, forward_times=1,
                              backward_times=2)
    assert job["schedule"] == str(tmp_path / "mine.csv")


def test_an_order_survives_a_copy_to_another_process():
    mine = pickle.loads(pickle.dumps(schedule.from_passes(LISTS)))
    assert mine.rows == LISTS
    assert mine.time().makespan_s == schedule.make("1f1b", 2, 2).time().makespan_s


def test_check_reports_the_cost_of_the_order_of_receives():
    check = schedule.make("v-half", 4, 8).check(p2p=0.25)
    assert check and check.why is None
    assert set(check.orders["receives"]) == {
        "posted at the send", "posted before the pass", "deferred as by defer_pp_recv"
    }
    assert (check.orders["makespan"] >= check.orders["best_makespan"]).all()


def test_the_catalogue_is_a_table():
    table = schedule.catalogue(4, 8)
    assert "1f1b" in schedule.names() and len(table) == len(schedule.names())
    # The bubble ratio of 1F1B is (p - 1) / (m + p - 1).
    row = table[table["schedule"] == "1f1b"][0]
    assert row["bubble_ratio"] == pytest.approx(3 / 11)
    assert row["in_flight"] == 4
    assert list(table.to_pandas().columns) == table.columns


def test_a_search_finds_an_order_within_its_bound():
    best = schedule.search(
        devices=2, microbatches=4, forward=1, input_grad=1, weight_grad=1, memory_limit=3
    )
    assert best.lower_bound_s <= best.makespan_s
    timed = best.schedule.time(forward=1, input_grad=1, weight_grad=1)
    assert timed.makespan_s == pytest.approx(best.makespan_s)


def test_more_memory_never_costs_time():
    points = schedule.frontier(
        devices=2, microbatches=4, forward=1, input_grad=1, weight_grad=1, memory_limits="1:3:1"
    ).points
    assert list(points["memory_limit"]) == [1, 2, 3]
    assert (points["makespan_s"][1:] <= points["makespan_s"][:-1]).all()


def test_a_notebook_shows_a_timeline():
    assert "image/svg+xml" in schedule.from_passes(LISTS)._repr_html_()


