#!/usr/bin/env python3
"""Reads a trace of pipewright with h5py and pandas and computes metrics of analysis/metrics.md.

usage: read_trace.py TRACE.h5

    pipewright run platforms/scenarios/llama-3-70b-h100.yaml --schedule 1f1b --trace llama.h5
    examples/read_trace.py llama.h5

The tables and their columns are in analysis/trace/format.md. On Debian:
apt install python3-h5py python3-pandas.
"""

import sys

try:
    import h5py
    import pandas
except ModuleNotFoundError as missing:
    sys.exit(f"read_trace.py: {missing}; on Debian: apt install python3-h5py python3-pandas")

GIB = 2**30


def read_table(trace, name):
    """A table as a DataFrame; enumerations become names, texts become str."""
    rows = trace[name][:]
    table = pandas.DataFrame({column: rows[column] for column in rows.dtype.names})
    for column in rows.dtype.names:
        enum = h5py.check_enum_dtype(rows.dtype[column])
        if enum:
            table[column] = table[column].map({value: word for word, value in enum.items()})
        elif rows.dtype[column].kind == "S":
            table[column] = table[column].str.decode("utf-8")
    return table


def bubble_ratio(passes, steps, devices):
    """1 - busy / (devices x makespan). A fused pair of passes counts once."""
    runs = passes.drop_duplicates(["device", "start", "end"])
    makespan = max(passes["end"].max(), steps["end"].max() if len(steps) else 0)
    return 1 - (runs["end"] - runs["start"]).sum() / (devices * makespan), makespan


def mean_times(passes):
    """Mean seconds of a pass, by stage and kind."""
    seconds = passes["end"] - passes["start"]
    return seconds.groupby([passes["stage"], passes["kind"]]).mean().unstack()


def memory_peak(memory):
    """The device with the highest memory peak, its time, and the bytes of each component then."""
    peak = None
    for device, rows in memory.groupby("device", sort=True):
        # A row gives the bytes of one category from its time on, until the next row of that
        # category.
        held = rows.pivot_table(index=rows.index, columns="category", values="bytes",
                                aggfunc="last").ffill().fillna(0)
        total = held.sum(axis=1)
        if peak is None or total.max() > peak[2].sum():
            row = total.idxmax()
            peak = device, rows["time"][row], held.loc[row]
    return peak


def busiest_link(links, use, makespan):
    """The link with the highest utilization over the whole run, and that utilization."""
    carried = use.groupby("link")["bytes"].sum()
    share = carried / (links.set_index("link")["bandwidth"].reindex(carried.index) * makespan)
    return links.set_index("link")["name"][share.idxmax()], share.max()


def main(path):
    with h5py.File(path) as trace:
        passes, steps = read_table(trace, "passes"), read_table(trace, "steps")
        memory = read_table(trace, "memory")
        ratio, makespan = bubble_ratio(passes, steps, trace.attrs["devices"])
        print(f"{trace.attrs['schedule'].decode()}: time {makespan:.6g} s, bubble ratio {ratio:.4f}")
        print("\nmean time of a pass by stage, s")
        print(mean_times(passes).to_string(float_format="%.6g"))
        if len(memory):
            device, time, held = memory_peak(memory)
            print(f"\nmemory peak of device {device} at {time:.6g} s: {held.sum() / GIB:.2f} GiB")
            for category, size in held[held > 0].sort_values(ascending=False).items():
                print(f"  {category:<12} {size / GIB:8.2f} GiB")
        if "links" in trace and len(trace["links"]):
            name, share = busiest_link(read_table(trace, "links"), read_table(trace, "link_use"),
                                       makespan)
            print(f"\nbusiest link {name}: {100 * share:.1f} % of its bandwidth in use")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except OSError as error:
        sys.exit(f"read_trace.py: {sys.argv[1]}: {error}")
