"""Tests of collectives, platforms, imported jobs and measured runs."""

import re
import subprocess

import pytest

import pipewright
from conftest import ROOT, on_cluster
from pipewright import comm, platform

DATA = ROOT / "tests" / "data"


def test_bench_has_the_conventions_of_nccl_tests(tmp_path):
    report = comm.bench("dgx-a100", op="all-reduce", ranks=16, sizes=[1 << 20, 1 << 24])
    rows = report.rows
    assert list(rows["bytes"]) == [1 << 20, 1 << 24]
    # The bus bandwidth of an all-reduce is 2 (n - 1) / n of its algorithm bandwidth.
    assert rows["busbw_bytes_per_s"] == pytest.approx(rows["algbw_bytes_per_s"] * 2 * 15 / 16)
    assert rows["algbw_bytes_per_s"] == pytest.approx(rows["bytes"] / rows["seconds"])
    report.save(tmp_path / "bench.html", tmp_path / "bench.csv")
    assert (tmp_path / "bench.csv").read_text().count("\n") >= 3
    assert "busbw" in str(report) and "busbw" in report._repr_html_()


def test_logs_are_compared_and_fitted():
    log = DATA / "comm" / "all_reduce_mpirun.log"
    before = comm.compare(log, "dgx-h100").errors.median_error
    fit = comm.fit(log, "dgx-h100")
    assert fit.parameters["fit"].size >= 1
    assert comm.compare(log, fit.platform).errors.median_error < before


def test_the_matrix_has_all_pairs():
    report = comm.matrix("dgx-a100", gpus=8)
    assert report.classes[0]["pairs"] == 56  # 8 x 7
    assert len(report.matrix.rows) == 8


def test_a_platform_is_made_shown_and_run(tmp_path):
    made = platform.make("dgx-h100", 2, fabric="leaf-spine")
    shown = platform.show(made)
    assert (shown.nodes, shown.gpus) == (2, 16)
    assert pipewright.run(on_cluster(cluster=made)).gpus == 16
    made.save(tmp_path / "mine.xml")
    assert platform.show(tmp_path / "mine.xml").gpus == 16


def test_a_route_has_its_links():
    route = platform.show("dgx-a100", route=("node-0-gpu-0", "node-1-gpu-0")).route
    assert route.bandwidth_bytes_per_s == min(link["bandwidth_bytes_per_s"] for link in route.links)


def test_the_library_is_listed():
    assert "dgx-h100" in platform.names() and "dgx-h100" in platform.nodes()
    assert "llama-3-70b" in pipewright.models() and "h100-sxm" in pipewright.gpus()
    assert "megatron-core" in pipewright.stacks()
    with pytest.raises(pipewright.Error, match="dgx-h100"):
        platform.make("dgx-h1000", 2)
    with pytest.raises(pipewright.Error, match=r"did you mean 'dgx-h100'\? platform.names\(\)") as caught:
        on_cluster(cluster="dgx-h10")
    assert caught.value.remedy == "dgx-h100"


def test_a_model_has_its_number_of_parameters():
    assert pipewright.model("llama-3-8b").summary


def test_a_script_of_megatron_is_imported(tmp_path):
    with pytest.warns(UserWarning, match="not modelled: --some-new-flag"):
        job = pipewright.import_job(DATA / "jobs" / "moe.sh", cluster="dgx-h100-8")
    assert repr(job).startswith("# not modelled: --some-new-flag")
    assert pipewright.Scenario.from_yaml(repr(job)) == job
    assert "not modelled" in job._repr_html_()
    assert job.framework == "megatron"
    assert job["parallel.ep"] == 8
    assert job.sources["parallel.ep"].startswith("--expert-model-parallel-size 8")
    assert any("--some-new-flag" in flag["text"] for flag in job.not_modelled)
    assert job.with_({"training.microbatch_size": 2}).framework == "megatron"


def test_a_strict_import_refuses_settings_that_are_not_modelled():
    with pytest.raises(pipewright.ScenarioError) as caught:
        pipewright.import_job(DATA / "jobs" / "moe.sh", cluster="dgx-h100-8", strict=True)
    first, *lines = str(caught.value).splitlines()
    assert first.startswith("moe: strict=True refuses settings that are not modelled; "
                          "remove them from the job, or leave out strict=True:")
    assert any(line.startswith("  --some-new-flag") for line in lines)
    assert "--strict" not in str(caught.value) and "(unknown)" not in str(caught.value)


def test_a_text_with_variables_is_imported():
    job = pipewright.import_job(
        "torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py \\\n"
        " --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \\\n"
        " --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\\n"
        " --padded-vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 --bf16\n",
        NODES=2,
        cluster="dgx-h100",
    )
    # The job has 16 GPUs, so dp is 16 / (2 x 4) = 2.
    assert (job["parallel.tp"], job["parallel.pp"], job["parallel.dp"]) == (2, 4, 2)


def test_a_line_is_imported_and_its_locations_are_not_paths():
    line = (
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
        "--num-attention-heads 16 --seq-length 1024 --padded-vocab-size 32000 "
        "--micro-batch-size 1 --global-batch-size 8 --recompute-actvations --tokenizer-typo Foo"
    )
    with pytest.warns(UserWarning, match=r"--recompute-actvations \(job.sh:1\)"):
        job = pipewright.import_job(line, cluster="dgx-h100")
    assert job["model.layers"] == 4
    shown = job._repr_html_()
    assert shown.index("--recompute-actvations") < shown.index("without effect here")
    assert shown.index("without effect here") < shown.index("--tokenizer-typo Foo")
    with pytest.raises(pipewright.Error, match="nofile.sh cannot be read"):
        pipewright.import_job("nofile.sh")


def test_errors_name_python_keywords():
    for wrong, message in (
        (lambda: platform.make("dgx-h100", 2, nics_count=3), "has no keyword 'nics_count'"),
        (lambda: platform.make("dgx-h100", 2, oversubscripton=2), "did you mean 'oversubscription'"),
        (lambda: platform.make("dgx-h100", 0), "^nodes 0: "),
        (lambda: platform.make("dgx-h100", 2, nic="94 Gbps"), "^nic: .* did you mean 'Gbit/s'"),
        (lambda: platform.make(nodes=2), "^platform make needs node; "),
        (lambda: comm.bench("dgx-h100", fail="x"), "^fail: "),
    ):
        with pytest.raises(pipewright.Error, match=message) as caught:
            wrong()
        assert "--" not in str(caught.value)


def test_errors_of_commands_have_parts():
    with pytest.raises(pipewright.Error) as caught:
        comm.bench("dgx-h100", op="no-such")
    assert caught.value.found == "op 'no-such': unknown operation"
    assert caught.value.suggestion.startswith("choose from all-reduce")
    with pytest.raises(pipewright.ArgumentError) as caught:
        platform.make("dgx-h100", 2, qqq=3)
    assert caught.value.key == "qqq"
    assert {"node", "nodes", "oversubscription"} <= set(caught.value.allowed.split(", "))


def test_a_scenario_survives_a_round_trip_through_megatron():
    launch = pipewright.export_job(on_cluster(), "megatron")
    assert "--tensor-model-parallel-size 2" in launch.text
    again = pipewright.import_job(launch, cluster="dgx-h100")
    assert again["parallel.tp"] == 2 and again["parallel.pp"] == 4
    with pytest.raises(pipewright.Error, match="torchtitan"):
        pipewright.export_job(on_cluster(), "keras")


def test_docstrings_and_the_page_of_jobs_name_every_framework(program):
    shown = subprocess.run([program, "import", "--help"], capture_output=True, text=True, check=True)
    listed = shown.stdout.split("by their content:\n\n")[1].split("\n\n")[0]
    titles = [re.split(" {2,}", line.strip())[0] for line in listed.splitlines()]
    with pytest.raises(pipewright.Error) as caught:
        pipewright.export_job(on_cluster(), "keras")
    written = re.split(", | and ", caught.value.allowed)
    assert "Megatron-LM" in titles and "megatron" in written
    page = (ROOT / "docs" / "jobs.md").read_text()
    imports = pipewright.import_job.__doc__.split("The frameworks are ")[1].split(".")[0]
    assert sorted(re.split(r",\s+| and ", imports)) == sorted(titles)
    assert sorted(re.findall("``([a-z]+)``", pipewright.export_job.__doc__)) == sorted(written)
    assert re.findall(r"^\| (\S+) \| [^|]+ \| (?:`\w+`: .*)?\|$", page, re.M) == titles
    assert re.findall(r"^\| \S+ \| [^|]+ \| `(\w+)`: ", page, re.M) == written


def test_a_profile_is_imported_as_a_scenario():
    measured = pipewright.profile(DATA / "measured" / "kineto-rank{rank}.json")
    assert (measured["devices"], measured["microbatches"]) == (2, 2)
    assert measured.order.rows[0] == ["0F0", "0F1", "0B0", "0B1"]
    # F takes 1 ms and B 2 ms, so two microbatches on two devices take at least (2 + 2 - 1) x 3 ms.
    assert pipewright.run(measured.with_(p2p_time="0.1 ms")).makespan_s >= 9e-3


def test_tables_sort_and_select():
    table = pipewright.Table.of([{"a": 2, "b": "x"}, {"a": 1, "c": 0.5}])
    assert list(table.sort("a")["b"]) == ["", "x"]
    assert table[table["a"] > 1][0] == {"a": 2, "b": "x", "c": pytest.approx(float("nan"), nan_ok=True)}
    assert "a" in str(table) and "<table>" in table._repr_html_()


def test_consecutive_requests_are_all_answered():
    assert {len(pipewright.gpus()) for _ in range(30)} == {len(pipewright.gpus())}


def test_jobs_run_together(tmp_path):
    tree = platform.make("dgx-h100", 4, fabric="leaf-spine", leaf_nodes=2, oversubscription=4)
    job = on_cluster(cluster=tree, parallel={"dp": 16, "zero": 3}, microbatches=1)
    both = {"one": job, "other": job}
    report = pipewright.run_together(both, placing="interleaved", phase=[0, 0.5], jobs=1)
    assert list(report.jobs["name"]) == ["one", "other"]
    assert [phase["phase"] for phase in report.phases] == [0, 0.5]
    assert min(report.jobs["slow_down_least"]) >= 1 - 1e-9
    assert "slow-down" in str(report)
    report.save(tmp_path / "both.html", tmp_path / "both.json")
    assert "one takes" in (tmp_path / "both.html").read_text()
    with pytest.raises(pipewright.Error, match="needs two or more scenarios"):
        pipewright.run_together([job])
