"""Holds the table of Megatron-LM's flags to a checkout of it.

usage: megatron_flags.py ROOT

The variable MEGATRON_LM names the checkout; without it nothing is looked at. Every flag that is
written must be an argument there, of megatron/training/arguments.py or of the configurations that
it makes arguments of. Names that only forks or DeepSpeed have are listed below.
"""

import ast
import os
import pathlib
import re
import sys

ELSEWHERE = {
    # keys in recipes of NeMo and Megatron-Bridge, for which Megatron-LM has no argument
    "virtual_pipeline_model_parallel_size",
    "activation_func_fp8_input_store",
    # arguments of sail-sg/zero-bubble-pipeline-parallelism and VocabularyParallelism
    "enable_vocab_parallel", "enable_zero_bubble", "zero_bubble_v_schedule",
    "zero_bubble_v_schedule_mem_setup", "zero_bubble_max_pending_backward", "enable_1f1b_v",
    # Megatron-LM before May 2022, and its flags of FP8 before August 2023
    "activations_checkpoint_method", "activations_checkpoint_num_layers", "checkpoint_num_layers",
    "fp8_e4m3", "fp8_hybrid",
    # Megatron-DeepSpeed
    "zero_stage", "ds_sequence_parallel_size", "moe_expert_parallel_size", "no_pipeline_parallel",
    "gradient_accumulation_steps", "num_key_value_heads", "checkpoint_activations",
    "use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton",
}


def arguments_of(checkout):
    """Names with _ of all literal flags, and of all fields of dataclasses."""
    names = set()
    for path in (checkout / "megatron").rglob("*.py"):
        try:
            tree = ast.parse(path.read_text())
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) \
                    and node.value.startswith("--"):
                names.add(node.value[2:].replace("-", "_"))
            if isinstance(node, ast.ClassDef):
                names.update(item.target.id for item in node.body
                             if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name))
    return names


def main():
    checkout = os.environ.get("MEGATRON_LM")
    if not checkout:
        print("skipped: MEGATRON_LM names no checkout of Megatron-LM")
        return 0
    table = (pathlib.Path(sys.argv[1]) / "sim/jobs/megatron/flags.cpp").read_text()
    flags = re.findall(r'Flag\{\s*\.name = "(\w+)"', table)
    known = arguments_of(pathlib.Path(checkout))
    missing = [flag for flag in flags if flag not in known and flag not in ELSEWHERE]
    stale = [flag for flag in ELSEWHERE if flag not in flags]
    for flag in missing:
        print(f"--{flag.replace('_', '-')} is no argument of {checkout}")
    for flag in stale:
        print(f"{flag} is not in the table")
    print(f"{len(flags)} flags, {len(known)} names in {checkout}")
    return 1 if missing or stale or len(flags) < 50 else 0


sys.exit(main())
