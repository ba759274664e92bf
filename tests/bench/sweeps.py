"""Whole searches of large sweeps: when a first layout stands, when the best is proven, and memory.

usage: sweeps.py PIPEWRIGHT [NAME..]

Runs the sweeps beside this file (sweeps/NAME.yaml) on clusters that it makes, with two workers, first
for the best alone and then with the front of throughput against memory. `memory` is the proportional
set size of all processes together at its peak. A sweep that is too large to be listed runs for 5 and
for 20 seconds instead.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SWEEPS = pathlib.Path(__file__).parent / "sweeps"
NODES = re.compile(r"^# .*?([\d,]+) GPUs of DGX (\w+)", re.M)
GPUS_PER_NODE = 8
BUDGETS = (5, 20)  # seconds


def descendants(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid] + [one for child in children for one in descendants(int(child))]


def memory(pid):
    """Bytes of a process and all below it, each page counted once."""
    total = 0
    for one in descendants(pid):
        try:
            rollup = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue  # it has just ended
        total += 1024 * int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1))
    return total


def first_simulated(journal):
    """Whether the journal of a search has a layout with a time."""
    try:
        return '"simulated"' in journal.read_text()
    except OSError:
        return False


class Searched:
    def __init__(self, program, sweep, cluster, folder, more):
        results = folder / "sweep.h5"
        results.unlink(missing_ok=True)
        journal = results.with_name("sweep.h5.journal")
        words = [program, "search", sweep, "--set", f"cluster={cluster}", "--jobs", "2", "--quiet",
                 "--json", "--results", results, *more]
        began = time.monotonic()
        self.first_s = None
        self.memory = 0
        with open(folder / "out.json", "w", encoding="utf-8") as out:
            process = subprocess.Popen(words, stdout=out)
            while process.poll() is None:
                self.memory = max(self.memory, memory(process.pid))
                if self.first_s is None and first_simulated(journal):
                    self.first_s = time.monotonic() - began
                time.sleep(0.1)
        self.seconds = time.monotonic() - began
        if process.returncode not in (0, 1):  # 1: nothing was found
            sys.exit(f"{sweep}: exit status {process.returncode}")
        self.result = json.loads((folder / "out.json").read_text(encoding="utf-8"))

    @property
    def is_proven(self):
        return self.result["finished"]

    def row(self, what):
        number = self.result["best"]
        rate = sum(one["tokens_per_s"] for one in self.result["candidates"]
                   if one["candidate"] == number)
        first = f"{self.first_s:.1f}" if self.first_s is not None else "-"
        looked_at = sum(self.result["outcomes"].values())
        gap = "proven" if self.is_proven else f"gap {100 * self.result['gap']:.1f} %"
        return (f"{what:34} {looked_at:9,} {looked_at / self.seconds / 2:9,.0f} {first:>7} "
                f"{self.seconds:8.1f} {self.memory / 2**20:8.0f} {rate / 1e3:10,.0f}  {gap}")


def cluster_for(program, text, folder):
    gpus, node = NODES.search(text).groups()
    nodes = int(gpus.replace(",", "")) // GPUS_PER_NODE
    file = folder / f"dgx-{node.lower()}-{nodes}.xml"
    if not file.exists():
        subprocess.run([program, "platform", "make", "--node", f"dgx-{node.lower()}", "--nodes",
                        str(nodes), "-o", file], check=True, stdout=subprocess.DEVNULL)
    return file


def main():
    program = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or sorted(file.stem for file in SWEEPS.glob("*.yaml"))
    print(f"{'':34} {'looked':>9} {'a second':>9} {'first':>7} {'':>8} {'memory':>8} {'k':>10}")
    print(f"{'sweep':34} {'at':>9} {'and core':>9} {'s':>7} {'s':>8} {'MiB':>8} {'tokens/s':>10}")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name in names:
            sweep = SWEEPS / f"{name}.yaml"
            text = sweep.read_text(encoding="utf-8")
            cluster = cluster_for(program, text, folder)
            if "too many to list" in text:
                for budget in BUDGETS:
                    more = ["--no-front", "--budget", f"{budget} s"]
                    print(Searched(program, sweep, cluster, folder, more).row(name), flush=True)
                continue
            print(Searched(program, sweep, cluster, folder, ["--no-front"]).row(name), flush=True)
            print(Searched(program, sweep, cluster, folder, []).row("  with the front"), flush=True)


if __name__ == "__main__":
    main()
