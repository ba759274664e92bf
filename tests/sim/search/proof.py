"""Draws small search spaces at random and compares a search with simulating everything.

Usage: proof.py PROGRAM PLATFORMS [SEED..]. What a search proves from its bounds has to be what
simulating all that fits finds: the best, the runner-up and the fronts; and no bound is above a time.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

MODELS = ["zero-bubble-6.2b", "megatron-7.5b", "megatron-1.7b", "llama-3-8b", "mixtral-8x7b"]
SEEDS = range(39)
FEWEST_SEEDS = 13
ENOUGH_SECONDS = 90
ROUNDING = 1e-9


def draw_layout(draw):
    pp = draw.choice([1, 1, 2, 4])
    dp = draw.choice([1, 2])
    most_tp = 8 // (pp * dp)
    tp = draw.choice([size for size in (1, 2, 4, 8) if size <= most_tp])
    sizes = [tp, tp // 2] if tp > 1 and draw.random() < 0.4 else [tp]
    layout = {
        "tp": sizes,
        "pp": pp,
        "dp": dp,
        "zero": draw.choice([0, 1, [0, 1], [1, 2], [2, 3], 3]),
        "sequence": draw.choice([True, False, [True, False]]),
    }
    if draw.random() < 0.3:
        layout["order"] = draw.choice(["pp-tp-cp-ep-dp", "dp-tp-cp-ep-pp"])
    return layout


def draw_variation(draw, layout):
    """A straggler, which may be faster as well, on all replicas or on one."""
    one = {"device": draw.randrange(layout["pp"]), "factor": draw.choice([0.5, 0.9, 1.2, 2])}
    if draw.random() < 0.5:
        one["replica"] = draw.randrange(layout["dp"])
    return {"stragglers": [one]}


def add_unevenness(draw, space):
    """Documents of different lengths, which the timing engine refuses under ZeRO-2 and 3."""
    if draw.random() < 0.3:
        mean = draw.choice([200, 600])
        space["training"]["lengths"] = {
            "mean": mean,
            "p95": mean * draw.choice([1, 2, 3.5]),
            "packed": draw.choice([True, False, [True, False]]),
            "balance": draw.choice(["none", "length", ["none", "length"]]),
        }


def add_job(draw, space):
    """Keys of the software, of experts, of frozen weights and of the GPU's power, in a few spaces."""
    training = space["training"]
    if draw.random() < 0.25:
        space["stack"] = draw.choice([["megatron-core", "torchtitan"], "pytorch-fsdp", "deepspeed",
                                      ["megatron-local", "nanotron"], "nemo-2"])
    if space["model"] == "mixtral-8x7b" and space["engine"] != "timing":
        space["parallel"]["ep"] = draw.choice([1, [1, 2], 2])
        experts = draw.choice([{}, {"imbalance": [1, 1.5]}, {"power_law": [0.6, 1.2]},
                               {"routing": ["forced", "natural"]}, {"drop_above": 1.2}])
        if experts:
            training["experts"] = experts
    kind = draw.random()
    if kind < 0.15:
        training["lora"] = {"rank": draw.choice([8, [8, 32]]),
                            "base": draw.choice(["recipe", ["recipe", "nf4"]])}
    elif kind < 0.25:
        training["frozen"] = draw.choice([["embedding"], ["attention"], ["mlp", "norms"]])
    if draw.random() < 0.15:
        training["precision"] = {"any_of": ["bf16", {"default": "fp8", "attention": "bf16"}]}
    if draw.random() < 0.15 and space["engine"] != "timing":
        space.setdefault("variation", {})["power_cap"] = ["300 W", "400 W"]


def draw_space(seed, clusters, schedules):
    """A few seeds in a row have every cluster and every schedule."""
    draw = random.Random(seed)
    layout = draw_layout(draw)
    some = [schedules[(3 * seed + i) % len(schedules)] for i in range(3)]
    space = {
        "cluster": clusters[seed % len(clusters)],
        "model": draw.choice(MODELS),
        "parallel": layout,
        "schedule": some + (["searched"] if draw.random() < 0.7 else []),
        "global_batch": layout["dp"] * draw.choice([1, 2, 4, 5, 8]),
        "training": {
            "recompute": draw.choice(["none", "full", ["none", "full", "selective"]]),
            "sequence": draw.choice([1024, 2048]),
            "microbatch_size": draw.choice([1, [1, 2]]),
        },
        "p2p": draw.choice(["eager", "blocking", "rendezvous", "steady",
                            ["eager", "blocking", "rendezvous"]]),
        "search": {
            "gpus": [tp * layout["pp"] * layout["dp"] for tp in layout["tp"]],
            "memory": draw.choice(["24 GiB", "40 GiB", "80 GiB", "400 GiB", "400 GiB"]),
            "objective": draw.choice(["throughput", "throughput", "memory", "mfu"]),
        },
    }
    if draw.random() < 0.3:
        space["iterations"] = draw.choice([2, 3])
    communication = {}
    if draw.random() < 0.3:
        communication["overlap_grad_reduce"] = draw.choice([True, False])
    if draw.random() < 0.15:
        communication["detail"] = "full"
    if draw.random() < 0.15:
        communication["overlap_slowdown"] = 1.3
    if communication:
        space["communication"] = communication
    # Only one of these is drawn, as they exclude each other or the timing engine.
    other = draw.random()
    if other < 0.3:
        space["variation"] = draw_variation(draw, layout)
    elif other < 0.45:
        space["engine"] = "timing"
    elif other < 0.6:
        space["symmetric"] = True
    space.setdefault("engine", "simgrid")
    if space["engine"] != "timing":
        add_unevenness(random.Random(f"uneven {seed}"), space)
    add_job(random.Random(f"job {seed}"), space)
    return space


class Program:
    def __init__(self, path, platforms):
        self.path = path
        self.environment = dict(os.environ, PIPEWRIGHT_PLATFORMS=str(platforms))

    def run(self, *words):
        return subprocess.run([self.path, *words], env=self.environment, text=True,
                              capture_output=True, check=False)

    def schedules(self):
        table = self.run("schedule", "list").stdout.splitlines()
        names = [line.split()[0] for line in table if line[:1].isalnum()]
        assert {"1f1b", "zb-v", "dualpipe"} <= set(names), table
        return [name for name in names if name not in ("name", "schedule")]

    def gpus(self, cluster):
        return json.loads(self.run("platform", "show", cluster, "--json").stdout)["gpus"]

    def search(self, sweep, *words):
        """Exit status 1 is that nothing fits."""
        done = self.run("search", sweep, "--json", "--quiet", "--jobs", "1", *words)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def faults(found, everything):
    for row in everything["candidates"]:
        if row["outcome"] != "simulated":
            continue
        above = row["bound_s"] / row["time_s"] - 1
        if above > ROUNDING:
            yield f"the bound of {row['values']} is {100 * above:.3g} % above its time"
    times = {row["candidate"]: row.get("time_s") for row in everything["candidates"]}
    for row in found["candidates"]:
        if row["outcome"] == "simulated" and row["time_s"] != times[row["candidate"]]:
            yield f"{row['values']} takes {row['time_s']} s once, {times[row['candidate']]} s then"
    for what in ("best", "runner_up", "fronts"):
        if found[what] != everything[what]:
            yield f"{what}: {found[what]} where all were simulated: {everything[what]}"


def main():
    program = Program(sys.argv[1], sys.argv[2])
    seeds = [int(seed) for seed in sys.argv[3:]] or SEEDS
    # Every space needs 4 or 8 GPUs, so smaller clusters are left out.
    clusters = sorted(path.stem for path in pathlib.Path(sys.argv[2], "clusters").glob("*.xml")
                      if program.gpus(path.stem) >= 8)
    schedules = program.schedules()
    begin = time.monotonic()
    spaces = simulated = wrong = 0
    for seed in seeds:
        if spaces >= FEWEST_SEEDS and time.monotonic() - begin > ENOUGH_SECONDS:
            break
        space = draw_space(seed, clusters, schedules)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as sweep:
            json.dump(space, sweep)
            sweep.flush()
            try:
                found = program.search(sweep.name)
                everything = program.search(sweep.name, "--exhaustive")
                said = list(faults(found, everything))
            except RuntimeError as error:
                everything = {"outcomes": {"simulated": 0}}
                said = [str(error)]
        spaces += 1
        simulated += everything["outcomes"]["simulated"]
        wrong += bool(said)
        if said:
            print(f"seed {seed}: {json.dumps(space)}", *said[:8], sep="\n  ", flush=True)
    print(f"{spaces} spaces, {simulated} simulations, {wrong} spaces with faults")
    return 1 if wrong or (len(seeds) > FEWEST_SEEDS and simulated < 3 * spaces) else 0


sys.exit(main())
