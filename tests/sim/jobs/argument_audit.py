"""Holds the lists of settings to the argument definitions of the frameworks.

usage: argument_audit.py ROOT PROGRAM

The variables MEGATRON_LM, MEGATRON_BRIDGE, TORCHTITAN and DEEPSPEED name checkouts; a framework
without a checkout is not looked at. Every argument of a framework must be used, known to have no
effect, or named as not modelled, by `PROGRAM import --settings FRAMEWORK`. Every flag of
Megatron-LM that the program reads must be an argument there, unless OLDER lists it.
"""

import ast
import collections
import os
import pathlib
import re
import subprocess
import sys

OLDER = {
    # keys in recipes of NeMo and Megatron-Bridge, for which Megatron-LM has no argument
    "virtual_pipeline_model_parallel_size", "activation_func_fp8_input_store",
    "deallocate_pipeline_outputs", "store_param_remainders", "use_custom_fsdp", "cpu_offloading",
    "pin_cpu_grads", "pin_cpu_params",
    "apply_rope_fusion", "bias_activation_fusion", "bias_swiglu_fusion", "bias_gelu_fusion",
    "bias_dropout_fusion", "bias_dropout_add_fusion", "masked_softmax_fusion", "muon_split_qkv",
    "use_layer_wise_distributed_optimizer",
    # variables of the environment
    "omp_num_threads", "pytorch_cuda_alloc_conf",
    # arguments of sail-sg/zero-bubble-pipeline-parallelism and VocabularyParallelism
    "enable_vocab_parallel", "enable_zero_bubble", "zero_bubble_v_schedule",
    "zero_bubble_v_schedule_mem_setup", "zero_bubble_max_pending_backward", "enable_1f1b_v",
    "use_interlaced_schedule", "disable_backward_fusion",
    # Megatron-LM before May 2022, and its flags of FP8 before August 2023
    "activations_checkpoint_method", "activations_checkpoint_num_layers", "checkpoint_num_layers",
    "fp8_e4m3", "fp8_hybrid", "no_scatter_gather_tensors_in_pipeline",
    # Megatron-DeepSpeed
    "zero_stage", "ds_sequence_parallel_size", "moe_expert_parallel_size", "no_pipeline_parallel",
    "gradient_accumulation_steps", "num_key_value_heads", "checkpoint_activations",
    "use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton", "moe_train_capacity_factor",
    "disable_moe_token_dropping",
}


def classes_of(folder):
    """All classes in the Python files of a folder, with their files."""
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text())
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield path, node


def fields_of(node):
    """Names and definitions of the fields of a dataclass or of a pydantic model."""
    for item in node.body:
        is_field = isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        if is_field and not item.target.id.startswith("_"):
            if "ClassVar" not in ast.unparse(item.annotation):
                yield item.target.id, item


def constants_in(node):
    return [item.value for item in ast.walk(node)
            if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def names_of_field(name, item):
    """Arguments that Megatron-LM's ArgumentGroupFactory makes of a field."""
    flags = [text[2:].replace("-", "_") for text in constants_in(item) if text.startswith("--")]
    is_true = isinstance(item.value, ast.Constant) and item.value.value is True
    return flags or [name, *([f"no_{name}", f"disable_{name}"] if is_true else [])]


def megatron(root):
    """Arguments of megatron/training/arguments.py, and of the classes that it makes arguments of."""
    text = (root / "megatron/training/arguments.py").read_text()
    names = set()
    for node in ast.walk(ast.parse(text)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and node.func.attr == "add_argument":
            names.update(argument.value[2:].replace("-", "_") for argument in node.args
                         if isinstance(argument, ast.Constant)
                         and str(argument.value).startswith("--"))
    excluded = set()
    for names_left_out in re.findall(r"exclude ?= ?\[(.*?)\]", text, re.S):
        excluded.update(re.findall(r'"(\w+)"', names_left_out))
    wanted = set(re.findall(r"ArgumentGroupFactory\((\w+)", text)) | {"ModelParallelConfig"}
    for _, node in classes_of(root / "megatron"):
        if node.name in wanted:
            for name, item in fields_of(node):
                if name not in excluded:
                    names.update(names_of_field(name, item))
    return names


def bridge(root, megatron_root):
    """Settings of Megatron-Bridge's ConfigContainer, as section.name, with Megatron-LM's classes."""
    own = {node.name: node for _, node in classes_of(root / "src")}
    core = {node.name: node for _, node in classes_of(megatron_root / "megatron")
            } if megatron_root else {}
    names = set()

    def add(section, class_name, seen):
        # Megatron-Bridge imports Megatron-LM's classes under longer names.
        node = own.get(class_name) or core.get(re.sub(r"^(MCore|MTrain)", "", class_name))
        if node is None or class_name in seen:
            return
        names.update(f"{section}.{name}" for name, _ in fields_of(node))
        for base in node.bases:
            add(section, ast.unparse(base).split(".")[-1].split("[")[0], seen | {class_name})

    for section, item in fields_of(own["ConfigContainer"]):
        for class_name in re.findall(r"\w+", ast.unparse(item.annotation)):
            add(section, class_name, set())
    for provider in ("GPTModelProvider", "MambaModelProvider", "HybridModelProvider",
                     "MLAModelProvider", "T5ModelProvider", "ModelConfig"):
        add("model", provider, set())
    return names


def torchtitan(root):
    """Settings of torchtitan's Trainer.Config, as section.name."""
    folder = root / "torchtitan"
    files = {}
    for path, node in classes_of(folder):
        files.setdefault(node.name, path)
    # Several classes have the name; the one of torchtitan/trainer.py has the sections.
    files["Trainer"] = folder / "trainer.py"
    config = next(node for _, node in classes_of(folder)
                  if node.name == "Config" and any(name == "model_spec" for name, _ in fields_of(node)))
    names = set()
    for section, item in fields_of(config):
        kinds = [kind for kind in re.findall(r"[\w.]+", ast.unparse(item.annotation))
                 if kind.split(".")[0] in files]
        if not kinds:
            names.add(section)
        for kind in kinds:
            first = kind.split(".")[0]
            # A class without a nested Config may be the name of several, in the same file.
            nested = "Config" if kind.endswith(".Config") else first
            nodes = [node for path, node in classes_of(files[first].parent)
                     if path == files[first] and node.name == nested]
            is_alias = not any(list(fields_of(node)) for node in nodes)
            if is_alias and first.endswith("Config"):
                nodes = [node for path, node in classes_of(files[first].parent)
                         if path == files[first] and node.name == "Config"]
            names.update(f"{section}.{name}" for node in nodes for name, _ in fields_of(node))
    names.update(f"activation_checkpoint.{name}"
                 for path, node in classes_of(folder / "distributed")
                 if path.name == "activation_checkpoint.py" and node.name == "Config"
                 for name, _ in fields_of(node))
    # The annotation of the section names a union of classes; their fields are above.
    return {name for name in names - {"activation_checkpoint"} if not name.startswith("model_spec")}


DEEPSPEED_CLASSES = {
    "zero_optimization": ["DeepSpeedZeroConfig"],
    "zero_optimization.offload_param": ["DeepSpeedZeroOffloadParamConfig"],
    "zero_optimization.offload_optimizer": ["DeepSpeedZeroOffloadOptimizerConfig"],
    "zero_optimization.zenflow": ["ZenFlowConfig"],
    "bf16": ["DeepSpeedBF16Config"],
    "fp16": ["DeepSpeedFP16Config"],
    "tensor_parallel": ["TPTrainingConfig"],
    "tensorboard": ["TensorBoardConfig"],
    "wandb": ["WandbConfig"],
    "comet": ["CometConfig"],
    "csv_monitor": ["CSVConfig"],
    "comms_logger": ["CommsLoggerConfig"],
    "compile": ["CompileConfig"],
    "hybrid_engine": ["HybridEngineConfig"],
}


def deepspeed(root):
    """Keys of DeepSpeed's JSON: of its classes, of its readers by constants, and of its manual."""
    folder = root / "deepspeed"
    names = set()
    by_name = {node.name: node for _, node in classes_of(folder)}
    for section, kinds in DEEPSPEED_CLASSES.items():
        for kind in kinds:
            for name, item in fields_of(by_name[kind]):
                names.add(f"{section}.{name}")
                alias = re.search(r"alias=['\"](\w+)", ast.unparse(item))
                if alias:
                    names.add(f"{section}.{alias[1]}")
    constants = dict(re.findall(r"^([A-Z0-9_]+) = ['\"](\w+)['\"]",
                                (folder / "runtime/constants.py").read_text(), re.M))
    config = (folder / "runtime/config.py").read_text()
    for name in re.findall(r"get_scalar_param\(\s*param_dict,\s*([A-Z0-9_]+)", config):
        names.add(constants[name])
    names.update(re.findall(r'param_dict\.get\("(\w+)"', config))
    pipeline = config[config.index("default_pipeline = {"):]
    names.update(f"pipeline.{name}" for name in re.findall(r'"(\w+)":', pipeline[:pipeline.index("}")]))
    checkpointing = (folder / "runtime/activation_checkpointing/config.py").read_text()
    names.update(f"activation_checkpointing.{name}"
                 for name in re.findall(r"^ACT_CHKPT_\w+ = '(\w+)'", checkpointing, re.M))
    manual = (root / "docs/_pages/config-json.md").read_text()
    section = ""
    manual = manual[:manual.index("### Parameter offloading")]
    for inner, outer, kind in re.findall(
            r"^(?:\*\*\*([\w\\.]+)\*\*\*|<i>\*\*([\w\\]+)\*\*</i>): \[(\w+)", manual, re.M):
        if outer and kind == "dictionary":
            section = outer.replace("\\", "")
        elif inner and section == "zero_optimization":
            names.add(f"{section}.{inner}".replace("\\", ""))
    # A section by itself is no setting.
    return {name for name in names if not any(other.startswith(name + ".") for other in names)}


def answers(program, framework, names):
    """List of each setting, by the program."""
    lists = {}
    names = sorted(names)
    for begin in range(0, len(names), 500):
        chunk = names[begin:begin + 500]
        text = subprocess.run([program, "import", "--settings", framework, *chunk], check=True,
                              capture_output=True, text=True).stdout
        for name, line in zip(chunk, text.splitlines(), strict=True):
            lists[name] = line.split(None, 1)[1].split(":")[0]
    return lists


def checkout(variable):
    path = os.environ.get(variable)
    if not path:
        print(f"skipped: {variable} names no checkout")
    return pathlib.Path(path) if path else None


def main():
    tables = sorted((pathlib.Path(sys.argv[1]) / "sim/jobs/megatron").glob("*_flags.hpp"))
    table = "".join(path.read_text() for path in tables)
    flags = re.findall(r'Flag\{\s*\.name = "(\w+)"', table)
    roots = {name: checkout(name)
             for name in ("MEGATRON_LM", "MEGATRON_BRIDGE", "TORCHTITAN", "DEEPSPEED")}
    arguments = {}
    wrong = []
    if roots["MEGATRON_LM"]:
        arguments["megatron"] = megatron(roots["MEGATRON_LM"])
        wrong += [f"--{flag} is no argument of Megatron-LM" for flag in flags
                  if flag not in arguments["megatron"] and flag not in OLDER]
        wrong += [f"{flag} is not in the table" for flag in OLDER if flag not in flags]
    if roots["MEGATRON_BRIDGE"]:
        arguments["bridge"] = bridge(roots["MEGATRON_BRIDGE"], roots["MEGATRON_LM"])
    if roots["TORCHTITAN"]:
        arguments["torchtitan"] = torchtitan(roots["TORCHTITAN"])
    if roots["DEEPSPEED"]:
        arguments["deepspeed"] = deepspeed(roots["DEEPSPEED"])
    for framework, names in arguments.items():
        lists = answers(sys.argv[2], framework, names)
        counts = collections.Counter(lists.values())
        print(f"{framework}: {len(names)} settings, "
              + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        wrong += [f"{framework}: {name} is in no list" for name, answer in lists.items()
                  if answer.startswith("unknown")]
        if len(names) < 50:
            wrong.append(f"{framework}: only {len(names)} settings were found")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
