"""Tests of scenarios and of their errors."""

import inspect
import json
import pickle
import re
import shutil
import subprocess
import sys
import warnings

import pytest

import pipewright
from pipewright import ArgumentError, Scenario, ScenarioError, _files, run
from pipewright._keys import ROWS

from conftest import on_cluster, scenario


def test_keywords_mappings_and_yaml_give_equal_scenarios(tmp_path):
    text = "devices: 4\nmicrobatches: 8\nforward_times: 1\nbackward_times: 2\n"
    file = tmp_path / "a.yaml"
    file.write_text(text)
    keys = {"devices": 4, "microbatches": 8, "forward_times": 1, "backward_times": 2}
    same = [Scenario(**keys), Scenario(keys), Scenario.from_yaml(text), Scenario.from_yaml(file)]
    assert all(base == same[0] for base in same)
    assert len(set(same)) == 1


def test_sections_are_mappings_and_units_are_part_of_texts():
    base = scenario(devices=None, parallel=dict(pp=2), p2p_time="0.5 ms", schedule=dict(name="gpipe"))
    assert base["parallel.pp"] == 2
    assert base.schedules == ["gpipe"]
    assert "p2p_time: 0.5 ms" in base.to_yaml()


def test_numbers_reach_the_program_exactly():
    base = scenario(forward_times=[0.1, 0.2, 0.30000000000000004, 1e-3], symmetric=False)
    assert "[0.1, 0.2, 0.30000000000000004, 0.001]" in base.to_yaml()
    assert base["forward_times"] == [0.1, 0.2, 0.30000000000000004, 1e-3]
    assert base["symmetric"] is False


def test_numpy_numbers_and_arrays_are_numbers_and_lists():
    import numpy

    base = scenario(devices=numpy.int64(4), forward_times=numpy.array([1.0, 1.5, 1.5, 1.0]))
    assert base == scenario(forward_times=[1, 1.5, 1.5, 1]).with_(forward_times=[1.0, 1.5, 1.5, 1.0])


def test_changes_make_another_scenario():
    base = scenario()
    changed = base.with_({"schedule.name": "gpipe"}, microbatches=16)
    assert (base["microbatches"], changed["microbatches"]) == (8, 16)
    assert changed["schedule.name"] == "gpipe"
    assert changed.with_(schedule=None, microbatches=8) == base


def test_a_scenario_is_asked_like_a_mapping():
    base = on_cluster()
    assert "parallel" in base and "parallel.tp" in base
    assert "training" not in base and "parallel.zero" not in base and "model.x" not in base
    assert base.get("parallel.tp") == 2 and base.get("parallel.zero", 1) == 1
    assert list(base) == base.keys() and dict(base) == base.to_dict()
    with pytest.raises(KeyError, match="did you mean 'parallel.tp'"):
        base["parallel.tpp"]
    with pytest.raises(pipewright.UnknownNameError, match="has no 'paralel'; did you mean 'parallel'"):
        base["paralel"]


def test_changes_are_chained():
    chained = on_cluster().with_(microbatches=16).with_({"parallel.tp": 4}).with_(schedule="gpipe")
    assert (chained["microbatches"], chained["parallel.tp"], chained.schedules) == (16, 4, ["gpipe"])


def test_aliases_equal_their_keys():
    assert scenario(devices=None, num_stages=4) == scenario()


def test_a_scenario_survives_pickling():
    assert pickle.loads(pickle.dumps(scenario())) == scenario()


def test_repr_is_yaml_that_reads_back():
    assert Scenario.from_yaml(repr(scenario())) == scenario()


def test_every_key_of_the_reference_is_a_documented_parameter():
    parameters = inspect.signature(Scenario).parameters
    top = [row for row in ROWS if "." not in row["name"]]
    assert len(top) > 25
    for row in top:
        assert row["name"] in parameters
        assert row["name"] in Scenario.__mro__[1].__doc__
        if row["alias"]:
            assert row["alias"] in parameters


def test_the_keys_of_sections_are_typed_dicts():
    from pipewright import _keys

    assert _keys.ParallelKeys.__annotations__["tp"].__forward_arg__ == "int | str"
    inner = [row["name"] for row in ROWS if row["name"].startswith("model.experts.")]
    assert {name.rsplit(".", 1)[1] for name in inner} <= set(_keys.ModelExpertsKeys.__annotations__)


@pytest.mark.parametrize(
    "name, suggestion",
    [("modell", "'model'"), ("tp", "'parallel.tp'"), ("microbatch_size", "'training.microbatch_size'")],
)
def test_an_unknown_keyword_is_rejected_with_the_probable_key(name, suggestion):
    for make in (scenario, scenario().with_):
        with pytest.raises(ScenarioError, match=f"did you mean {suggestion}") as caught:
            make(**{name: 2})
        assert isinstance(caught.value, TypeError) and caught.value.key == name


def test_a_scenario_of_a_wrong_type_is_rejected():
    for source in (3, ["devices"], "scenario.yaml"):
        with pytest.raises(ArgumentError, match="allowed"):
            Scenario(source)


def test_replacing_a_section_warns_about_lost_keys():
    base = scenario(devices=None, parallel={"pp": 4, "dp": 2})
    with pytest.warns(UserWarning, match=r"removes dp; with_\(\{'parallel.pp': \.\.\}\)"):
        base.with_(parallel={"pp": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.with_({"parallel.tp": 1}, schedule="gpipe").with_(schedule={"name": "1f1b"})


def test_values_are_numbers_and_flags_and_texts():
    base = scenario(devices=None, parallel={"pp": 4, "sp": True}, schedule={"name": "1f1b"})
    base = base.with_(p2p_time="0.5 ms", pass_overhead=1e-3)
    assert base["parallel"] == {"pp": 4, "sp": True}
    assert (base["schedule.name"], base["p2p_time"], base["pass_overhead"]) == ("1f1b", "0.5 ms", 1e-3)
    assert Scenario(base.to_dict()) == base


def test_times_that_do_not_match_the_devices_are_rejected():
    with pytest.raises(ScenarioError, match="forward_times has 3 values for 4 devices") as caught:
        scenario(forward_times=[1, 2, 3])
    assert caught.value.key == "forward_times"
    scenario(forward_times=[1] * 8, schedule={"name": "interleaved-1f1b", "chunks": 2})


def test_an_error_about_two_keys_has_the_first_key():
    with pytest.raises(ScenarioError, match="does not divide") as caught:
        run(on_cluster(parallel={"tp": 3, "pp": 4}))
    assert caught.value.key == "parallel.tp"


def test_an_unknown_unit_is_rejected_with_the_known_unit():
    with pytest.raises(ScenarioError, match="did you mean 's'"):
        scenario(forward_times="3 sec")


def run_python(folder, script):
    """Output of a new process with its own cache of clusters and schedules."""
    code = "import sys, pickle, pipewright as pw\n" + script
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()


MAKES = """
c = pw.platform.make("dgx-h100", 2)
one = pw.Scenario(cluster=c, model="llama-3-8b", parallel=dict(tp=2, pp=4, dp=2), microbatches=8)
"""


def test_a_generated_cluster_outlives_its_process(tmp_path):
    run_python(tmp_path, MAKES + "open('a.yaml', 'w').write(one.to_yaml())")
    assert run(Scenario.from_yaml(tmp_path / "a.yaml")).gpus == 16


def test_a_saved_scenario_has_its_cluster_in_the_same_folder(tmp_path, program):
    (tmp_path / "cluster.xml").write_text("another file")
    run_python(tmp_path, MAKES + "one.save('a.yaml')")
    moved = tmp_path.rename(tmp_path.parent / "moved")
    done = subprocess.run([program, "run", "a.yaml"], cwd=moved, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^cluster: cluster-\w+\.xml$", (moved / "a.yaml").read_text(), re.MULTILINE)
    assert (moved / "cluster.xml").read_text() == "another file"


def test_a_pickled_scenario_includes_its_cluster(tmp_path, monkeypatch):
    run_python(tmp_path, MAKES + "pickle.dump(one, open('one', 'wb'))")
    shutil.rmtree(_files._cache())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-another-machine"))
    result = run(pickle.loads((tmp_path / "one").read_bytes()))
    assert result.gpus == 16
    assert result.network == "cluster.xml" and str(tmp_path) not in str(result)


def test_an_error_has_its_key_and_the_allowed_values():
    with pytest.raises(ScenarioError) as caught:
        scenario(parallel={"tp": 0})
    error = caught.value
    assert error.key == "parallel.tp"
    assert (error.file, error.line) == (None, None)
    assert error.found == "parallel.tp is 0"
    assert error.allowed == error.remedy == "a whole number from 1 to 2147483648, such as 8"
    assert str(error) == f"parallel.tp is 0; allowed: {error.allowed}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_error_in_a_file_has_its_location(tmp_path, program):
    file = tmp_path / "a.yaml"
    file.write_text("devices: 4\nmicrobatches: 8\nforward_times: [1, 2 parsecs, 1, 1]\nbackward_times: 2\n")
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_yaml(file)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(file), 3, "forward_times")
    output = subprocess.run([program, "run", file], capture_output=True, text=True).stderr
    assert output == f"pipewright: {error}\n"


def test_an_unknown_key_in_a_mapping_is_rejected_with_the_nearest_key():
    with pytest.raises(ScenarioError, match="did you mean 'microbatches'") as caught:
        Scenario({"microbatchs": 8})
    assert caught.value.key == "microbatchs"
    assert "microbatches (or num_batches)" in caught.value.allowed
    assert caught.value.suggestion == caught.value.remedy == "microbatches"


def test_a_value_of_a_wrong_type_is_a_type_error_with_its_key():
    with pytest.raises(TypeError, match=r"parallel\.tp is of type object"):
        scenario(parallel={"tp": object()})


class Config:
    """A model configuration like that of transformers."""

    def __init__(self, keys):
        self.keys = keys

    def to_dict(self):
        return self.keys


LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_scaling": None,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
}


def test_a_model_is_a_configuration_of_transformers_its_dict_or_its_file(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    more = {"devices": 2, "microbatches": 8, "gpu": "h100-sxm"}
    models = [Scenario(model=source, **more) for source in (Config(LLAMA), LLAMA)]
    of_file = Scenario(model=str(tmp_path / "config.json"), **more)
    assert models[0] == models[1]
    # If the file of a model is config.json, the model's name is that of its folder.
    named = re.sub(r"\n  name: .*", "", of_file.to_yaml(whole=True), count=1)
    assert models[0].to_yaml(whole=True) == named
    assert models[0].with_({"model.layers": 4}).to_yaml(whole=True).count("layers: 4") == 1


def test_yaml_takes_the_keys_of_a_config_too():
    text = "devices: 2\nmicrobatches: 8\ngpu: h100-sxm\nmodel: " + json.dumps(
        {key: value for key, value in LLAMA.items() if value is not None}
    )
    assert "hidden: 1024" in Scenario.from_yaml(text + "\n").to_yaml(whole=True)
