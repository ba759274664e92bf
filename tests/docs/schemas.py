"""Checks the JSON schemas of docs/schemas against what the program prints.

usage: schemas.py ROOT PROGRAM [--write]

Each schema describes the output of a command with --json. It is inferred from several runs of the
command: a key is required if every run has it. Without --write, a schema that differs fails. With
--write, a new schema that accepts less than the old one, or demands more, gets the next version.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SCENARIO = """\
cluster: dgx-h100-8
model: llama-3-8b
parallel: {tp: 2, pp: 2, dp: 2, zero: 1}
global_batch: 16
"""
SWEEP = """\
cluster: dgx-h100-8
model: llama-3-8b
parallel: {tp: [1, 2], pp: auto, dp: 4}
schedule: [1f1b, zb-h1]
global_batch: 32
"""
# A model without a sequence length of its training, which a search assumes.
CONFIG = """\
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
 "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16,
 "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072}
"""
LOOP = SCENARIO.replace("global_batch: 16", "training: {sequence: 4096}") + """\
rl: {prompts: 8, responses: 4, prompt_tokens: 100, lengths: {mean: 400, p95: 900}}
"""
FILES = {
    "job.yaml": SCENARIO,
    "experts.yaml": SCENARIO.replace("llama-3-8b", "mixtral-8x7b").replace("dp: 2", "dp: 8, ep: 2, sp: true"),
    "times.yaml": "devices: 4\nmicrobatches: 8\nforward_times: 10 ms\nbackward_times: 20 ms\nschedule: [1f1b, gpipe]\n",
    "sweep.yaml": SWEEP,
    "config.json": CONFIG,
    "loop.yaml": LOOP,
    "sites.yaml": SCENARIO + "sites: {count: 3, bandwidth: 10 Gbit/s}\n",
    "goodput.yaml": SCENARIO + "goodput: {duration: 5 d, failures: {kind: node, rate: 100}}\n",
}
# By name of the schema: runs of the command, each a list of words.
COMMANDS = {
    "run": ["run job.yaml --json", "run job.yaml --symmetric --json", "run experts.yaml --json", "run times.yaml --schedule 1f1b --json",
            "run job.yaml --tokens 1T --price 2 --json"],
    "runs": ["run times.yaml --json", "run job.yaml --schedule 1f1b gpipe --json"],
    "why": ["why job.h5 --json", "why experts.h5 --json"],
    "compare": ["compare job.h5 experts.h5 --json"],
    "search": ["search sweep.yaml --quiet --jobs 1 --json",
               "search sweep.yaml --quiet --jobs 1 --json --decide --under draws=2 top=2 turns=false "
               "--costs tokens=1T price=2",
               "search sweep.yaml --quiet --jobs 1 --json --costs tokens=1T",
               "search sweep.yaml --quiet --jobs 1 --json --set model=config.json"],
    "goodput": ["goodput goodput.yaml --seeds 5 --json",
                "goodput goodput.yaml --seeds 5 --tokens 10B --price 2 --json"],
    "rl": ["rl loop.yaml --json",
           "rl loop.yaml --json --set rl.mode=one-off rl.rollout.gpus=8 --split 16"],
    "sites": ["sites sites.yaml --json"],
    "model": ["model llama-3-8b --gpu h100-sxm --json", "model mixtral-8x7b --gpu h100-sxm --json"],
    "comm-bench": ["comm bench --cluster dgx-h100-8 --op all-reduce --ranks 16 --json"],
    "platform-show": ["platform show dgx-h100-8 --json"],
    "schedule-list": ["schedule list --json"],
    "stack-list": ["stack list --json"],
    "stack-show": ["stack show torchtitan --json"],
}
# Traces that some of the commands read.
PREPARATION = ["run job.yaml --quiet --trace job.h5", "run experts.yaml --quiet --trace experts.h5"]
# Objects with more members than these are maps whose keys are data, such as the names of stacks.
MOST_PROPERTIES = 120
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def schema_of(values):
    """The schema of all of these values."""
    kinds = {TYPES.get(type(value), "array" if isinstance(value, list) else "object")
             for value in values}
    if "number" in kinds:
        kinds.discard("integer")
    schema = {"type": sorted(kinds)[0] if len(kinds) == 1 else sorted(kinds)}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        names = list(dict.fromkeys(name for value in objects for name in value))
        if len(names) > MOST_PROPERTIES:
            schema["additionalProperties"] = schema_of(
                [item for value in objects for item in value.values()])
        else:
            schema["properties"] = {
                name: schema_of([value[name] for value in objects if name in value])
                for name in names}
            schema["required"] = [name for name in names if all(name in value for value in objects)]
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = schema_of(items)
    return schema


def accepts_all_of(new, old):
    """Whether whatever reads outputs of the old schema can read those of the new one."""
    def types(schema):
        kinds = schema["type"]
        return set([kinds] if isinstance(kinds, str) else kinds)
    if not types(new) <= types(old) | ({"integer"} if "number" in types(old) else set()):
        return False
    for name in old.get("required", []):
        if name not in new.get("required", []):
            return False
    for name, part in old.get("properties", {}).items():
        if name in new.get("properties", {}) and not accepts_all_of(new["properties"][name], part):
            return False
    return "items" not in old or "items" not in new or accepts_all_of(new["items"], old["items"])


def main(root, program, writes):
    folder = pathlib.Path(root) / "docs" / "schemas"
    folder.mkdir(exist_ok=True)
    failures = []
    with tempfile.TemporaryDirectory() as place:
        for name, text in FILES.items():
            (pathlib.Path(place) / name).write_text(text)

        def output(words):
            ran = subprocess.run([program, *words.split()], cwd=place, capture_output=True, text=True)
            if ran.returncode != 0:
                sys.exit(f"pipewright {words}: {ran.stderr.strip()}")
            return ran.stdout

        for words in PREPARATION:
            output(words)
        for name, commands in COMMANDS.items():
            body = schema_of([json.loads(output(words)) for words in commands])
            file = folder / f"{name}.json"
            old = json.loads(file.read_text()) if file.exists() else None
            version = 1
            if old:
                version = int(old["$id"].rsplit("/", 1)[1])
                if not accepts_all_of(body, old):
                    version += 1
            text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema",
                               "$id": f"pipewright/{name}/{version}",
                               "title": f"output of pipewright {commands[0]}", **body},
                              indent=1) + "\n"
            if old and file.read_text() == text:
                continue
            if writes:
                file.write_text(text)
                print(f"wrote docs/schemas/{name}.json")
            else:
                failures.append(f"docs/schemas/{name}.json is not what the program prints; "
                                "schemas.py --write updates it")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], "--write" in sys.argv))
