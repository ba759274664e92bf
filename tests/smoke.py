"""Runs the models on the clusters of platforms/: exit status 0, a time, and an MFU in (0, 1).

usage: smoke.py ROOT PROGRAM [--all]

Every model runs on a quarter of the clusters, and every cluster runs a quarter of the models, since
the pairs grow faster than the library. With --all, every model runs on every cluster.
"""

import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def number(text, key):
    found = re.search(rf"^ *{key}: (\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def greatest_divisor(whole, allowed):
    return max(part for part in range(1, whole + 1) if whole % part == 0 and allowed(part))


def layout(model, gpus):
    """All GPUs: dense models cut by tp as far as 8, experts over replicas, then a pipeline."""
    heads, layers, experts = (number(model, key) for key in ("heads", "layers", "count"))
    heads = math.gcd(heads, number(model, "kv_heads"))
    if mamba := re.search(r"^mamba:\n(?: .*\n)*? *groups: (\d+)", model, re.MULTILINE):
        heads = math.gcd(heads, int(mamba.group(1)))
    pattern = re.search(r"^pattern: (\S+)", model, re.MULTILINE)
    layers = len(re.sub(r"\(..\)", "L", pattern.group(1))) if pattern else layers
    tp = greatest_divisor(gpus, lambda part: part <= (2 if experts else 8) and heads % part == 0)
    rest = gpus // tp
    pp = greatest_divisor(rest, lambda part: part <= min(8, layers) and (part < rest or rest == 1))
    dp = rest // pp
    return {"tp": tp, "pp": pp, "dp": dp, "ep": math.gcd(dp, experts) if experts else 1,
            "sp": tp > 1, "zero": 1}


def failure(program, folder, model, cluster, gpus):
    """What is wrong with the pair, or None."""
    parallel = layout(model.read_text(), gpus)
    scenario = {"model": str(model), "cluster": str(cluster), "parallel": parallel,
                "microbatches": 2 * parallel["pp"]}
    name = f"{model.stem} on {cluster.stem}"
    path = pathlib.Path(folder) / f"{name}.json"
    path.write_text(json.dumps(scenario))
    ran = subprocess.run([program, "run", str(path), "--json"], text=True, capture_output=True,
                         check=False)
    if ran.returncode != 0:
        return f"{name}, {parallel}: exit status {ran.returncode}: {ran.stderr.strip()}"
    run = json.loads(ran.stdout)
    time, mfu = run["makespan_s"], run["mfu"]
    if not (time > 0 and math.isfinite(time) and 0 < mfu < 1):
        return f"{name}, {parallel}: time {time} s, MFU {mfu}"
    return None


def gpus_of(program, cluster):
    shown = subprocess.run([program, "platform", "show", str(cluster)], text=True,
                           capture_output=True, check=True)
    return int(re.search(r"(\d+) GPUs", shown.stdout).group(1))


def main():
    platforms = pathlib.Path(sys.argv[1]).resolve() / "platforms"
    program = os.path.abspath(sys.argv[2])
    models = sorted((platforms / "models").glob("*.yaml"))
    clusters = [(path, gpus_of(program, path))
                for path in sorted((platforms / "clusters").glob("*.xml"))]
    share = 1 if "--all" in sys.argv[3:] else 4
    pairs = [(model, *cluster) for row, model in enumerate(models)
             for column, cluster in enumerate(clusters) if (row + column) % share == 0]
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [what for what in pool.map(
                lambda pair: failure(program, folder, *pair), pairs) if what]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(pairs) - len(failures)} of {len(pairs)} model x cluster pairs run")
    return 1 if failures or not pairs else 0


sys.exit(main())
