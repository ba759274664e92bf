"""What a run costs from Python beside its simulation: 3 ms at the most for 8 devices and 32
microbatches.

    PYTHONPATH=build/python python3 tests/bench/python_overhead.py
"""

import statistics
import time

import pipewright


def overheads(scenario, rows, runs=100):
    """Of each run, milliseconds of the call that were no simulation; and those that were."""
    beside, inside = [], []
    for _ in range(runs):
        begin = time.perf_counter()
        result = pipewright.run(scenario, rows=rows)
        whole = time.perf_counter() - begin
        beside.append(1e3 * (whole - result.took_s))
        inside.append(1e3 * result.took_s)
    return beside, inside


def main():
    scenario = pipewright.Scenario(
        devices=8, microbatches=32, forward_times="10 ms", backward_times="20 ms", cluster="dgx-h100"
    )
    ideal = scenario.with_(cluster=None)
    pipewright.run(scenario)  # starts the worker
    print("8 devices x 32 microbatches     beside the simulation (ms)   simulation (ms)")
    print("                                median     95 %   most        median")
    for name, one in (("ideal network", ideal), ("dgx-h100", scenario)):
        for rows in (True, False):
            beside, inside = overheads(one, rows)
            print(
                f"{name + ('' if rows else ', no rows'):<30} {statistics.median(beside):7.2f} "
                f"{statistics.quantiles(beside, n=20)[-1]:8.2f} {max(beside):6.2f} "
                f"{statistics.median(inside):13.2f}"
            )


main()
