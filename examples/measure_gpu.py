#!/usr/bin/env python3
"""Measures kernels on the GPU of this machine, for a GPU file of pipewright.

usage: measure_gpu.py -o TABLE.csv [--gpu-file FILE.yaml] [--quick] [--only KIND..]

    examples/measure_gpu.py -o my-gpu.csv --gpu-file my-gpu.yaml   # everything: about ten minutes
    examples/measure_gpu.py --quick --only product attention -o my-gpu.csv
    examples/measure_gpu.py --plan                                 # list the measurements
    pipewright gpu check my-gpu.csv --gpu-file h100-sxm

The table has one row per kernel: matrix products by data type, casts, grouped products of experts,
fused attention forward and backward, kernels bound by memory, all-reduces within the node. Launches
with and without a CUDA graph are comments above it: the key host.kernel of a software stack is the
host's time per kernel of a layer, with Python and further launches in between, which 'pipewright
profile --calibrate' determines from a real run. Nothing else should run on the GPU during measurements. The
script needs only PyTorch; kernels that an installation or a GPU lacks are left out with a message.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
from time import perf_counter

# Columns of the table. A case is a dict of them, without the measured times. Matrix products
# multiply an m x k by a k x n matrix.
COLUMNS = ("kernel", "dtype", "m", "n", "k", "count", "bytes", "batch", "heads", "kv_heads",
           "head_dim", "sequence", "causal", "pass", "cast", "time_us", "least_us", "most_us",
           "repeats", "note")
KINDS = ("product", "cast", "grouped", "attention", "memory", "launch", "all-reduce")
TYPES = ("bf16", "fp16", "tf32", "fp8", "fp8-block", "mxfp8", "nvfp4")
MIB = 2**20

# Measured cases: at least six rows per kind of kernel, as 'pipewright gpu fit' needs. Sizes are
# those of training: layers of models with 1B to 405B parameters, whole and split by tensor
# parallelism, which leaves few columns or a short inner dimension.


def product_cases(quick):
    tokens = (2048, 8192) if quick else (1024, 2048, 4096, 8192, 16384)
    whole = [(6144, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (57344, 8192),
             (8192, 28672)]  # n, k of Llama's 8B and 70B: QKV, MLP in, MLP out
    cut = [(1280, 8192), (7168, 8192), (8192, 3584), (8192, 1024), (768, 4096), (4096, 1792),
           (2048, 7168), (7168, 2048), (4096, 512)]
    square = [(4096, 4096), (8192, 8192), (16384, 16384)]
    shapes = whole[:3] + cut[:3] + square[:2] if quick else whole + cut + square
    sizes = [(m, n, k) for m in tokens for n, k in shapes]
    # A weight gradient sums over all tokens, so the number of tokens is its inner dimension.
    sizes += [(n, k, m) for n, k in whole[:3] for m in tokens[-2:]]
    return [{"kernel": "product", "dtype": kind, "m": m, "n": n, "k": k, "cast": 0}
            for kind in TYPES for m, n, k in sizes]


def cast_cases(quick):
    sizes = [(1024, 4096), (2048, 4096), (4096, 4096), (4096, 14336), (8192, 8192), (16384, 8192)]
    if not quick:
        sizes += [(2048, 2048), (16384, 28672)]
    return [{"kernel": "cast", "dtype": "fp8", "m": m, "k": k} for m, k in sizes]


def grouped_cases(quick):
    experts = (8,) if quick else (2, 8, 32)
    tokens = (128, 512, 2048) if quick else (128, 512, 2048, 8192)
    shapes = [(4096, 7168), (7168, 2048)] if quick else [
        (4096, 7168), (7168, 2048), (28672, 4096), (1536, 2048)]
    return [{"kernel": "grouped", "dtype": kind, "m": m, "n": n, "k": k, "count": count,
             "cast": 0}
            for kind in ("bf16", "fp8") for count in experts for m in tokens
            for n, k in shapes if count * n * k < 2**32]


def attention_cases(quick):
    lengths = (1024, 2048, 4096, 8192, 16384, 32768)
    heads = [(32, 8, 128)] if quick else [(32, 8, 128), (64, 8, 128), (32, 32, 64), (8, 1, 128)]
    sizes = [(length, *head, 1) for length in lengths for head in heads]
    if not quick:
        sizes.append((8192, 32, 8, 128, 0))
    return [{"kernel": "attention", "dtype": "bf16", "batch": max(1, 8192 // length),
             "heads": query_heads, "kv_heads": kv, "head_dim": dim, "sequence": length,
             "causal": causal, "pass": direction}
            for length, query_heads, kv, dim, causal in sizes
            for direction in ("forward", "backward")]


def plan(only=KINDS, gpus=1, quick=False):
    """All cases in the order of measurement."""
    sizes = (16, 256) if quick else (1, 4, 16, 64, 256, 1024)
    cases = product_cases(quick) + cast_cases(quick) + grouped_cases(quick)
    cases += attention_cases(quick)
    cases += [{"kernel": "memory", "bytes": size * MIB, "note": operation}
              for operation in ("copy", "add", "norm") for size in sizes]
    cases += [{"kernel": "launch", "note": mode} for mode in ("eager", "graph")]
    cases += [{"kernel": "all-reduce", "bytes": size * MIB, "count": gpus}
              for size in sizes if gpus > 1]
    return [case for case in cases if case["kernel"] in only]


def tiny(case):
    """The case with sizes that a CPU runs at once, to try out the script."""
    limits = {"m": 256, "n": 256, "k": 256, "count": 2, "bytes": 4096, "batch": 1, "heads": 4,
            "kv_heads": 2, "head_dim": 32, "sequence": 64}
    return {key: min(value, limits[key]) if key in limits else value for key, value in case.items()}


def text_of(case):
    return " ".join(str(value) if key in ("kernel", "dtype", "pass", "note") else f"{key} {value}"
                    for key, value in case.items())


# Writing the results: the table and the GPU file.

def row_of(case, seconds):
    """Row of the table: median, shortest and longest time of the repetitions."""
    micro = [1e6 * second for second in seconds]
    return {**case, "time_us": f"{statistics.median(micro):.3f}", "least_us": f"{min(micro):.3f}",
            "most_us": f"{max(micro):.3f}", "repeats": len(micro)}


def write_table(rows, about, stream):
    # Measured launch times are written as comments, not as rows. A run launches several kernels for
    # each one that is counted, with Python in between, so the host's time must come from 'profile
    # --calibrate'.
    launches = [row for row in rows if row["kernel"] == "launch"]
    for line in [*about, *(f"a kernel is launched every {row['time_us']} us ({row['note']})"
                           for row in launches)]:
        stream.write(f"# {line}\n")
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if row not in launches)


def best_rates(rows):
    """The highest FLOP/s of products by type, and the highest bytes/s."""
    flops, bandwidth = {}, 0.0
    for row in rows:
        seconds = 1e-6 * float(row["time_us"])
        if row["kernel"] == "product":
            rate = 2.0 * row["m"] * row["n"] * row["k"] / seconds
            flops[row["dtype"]] = max(rate, flops.get(row["dtype"], 0.0))
        if row["kernel"] == "memory":
            bandwidth = max(bandwidth, row["bytes"] / seconds)
    return flops, bandwidth


# Keys of the GPU file that no single kernel determines, and keys that a fit to the table
# determines.
UNKNOWN = ("attention.unfused", "clock")
FITTED = ("attention.fa2.forward", "attention.fa2.backward", "attention.fa2.half_length",
          "memory_efficiency", "kernel_overhead")


def gpu_file(rows, gpu):
    """A GPU file to fit. Without a data sheet, its peaks are the best measured rates. Keys that it
    does not contain keep ideal values, and are listed as assumed. So are the rates of attention,
    which PyTorch computes with FlashAttention 2."""
    flops, bandwidth = best_rates(rows)
    lines = [f"# {gpu['name']}: peaks and bandwidth are the best that examples/measure_gpu.py",
             "# measured; replace them by the maker's numbers if you know them.",
             "source: peaks and bandwidth are the best measured rates",
             f"flops: {flops['bf16'] / 1e12:.4g} TFLOP/s",
             f"memory: {gpu['memory'] / 2**30:.2f} GiB",
             f"free_memory: {gpu['memory'] / 2**30:.2f} GiB",
             f"memory_bandwidth: {bandwidth / 1e9:.4g} GB/s",
             f"processors: {gpu['processors']}", "products:"]
    types = [kind for kind in TYPES if kind in flops]
    lines += [f"  {kind}: {{flops: {flops[kind] / 1e12:.4g} TFLOP/s}}" for kind in types]
    products = [f"products.{kind}.{key}" for kind in types
                for key in ("efficiency", "wave", "overhead")]
    lines.append("attention: {fa2: {forward: 0.5, backward: 0.4}}")
    lines.append(f"assumed: [{', '.join([*products, *FITTED, *UNKNOWN])}]")
    return "\n".join(lines) + "\n"


class Unsupported(Exception):
    """The installation or the GPU does not support a case."""


def measure(cases, machine, report):
    """Times each case; an unsupported kernel and type is reported once."""
    rows, reported = [], set()
    for number, case in enumerate(cases, 1):
        try:
            seconds, note = machine.time(case)
        except Unsupported as reason:
            name = f"{case['kernel']} {case.get('dtype', case.get('note'))}"
            if name not in reported:
                report(f"left out: {name}: {reason}")
            reported.add(name)
            continue
        rows.append(row_of({**case, "note": note or case.get("note", "")}, seconds))
        report(f"{number}/{len(cases)} {text_of(case)}: {rows[-1]['time_us']} us")
    return rows


# Class Machine runs the kernel of a case with PyTorch. Only the code below needs PyTorch.

class Machine:
    """A GPU, or the CPU as a substitute. `time` returns the seconds per repetition and a note."""

    def __init__(self, torch, device, repeats):
        self.torch, self.device, self.repeats = torch, device, repeats
        self.on_gpu = device.startswith("cuda")
        self.wait = torch.cuda.synchronize if self.on_gpu else lambda: None
        # Written between repetitions to evict the input from the L2 cache.
        self.flush = torch.empty(512 * MIB if self.on_gpu else MIB, dtype=torch.int8,
                                 device=device)
        self.makers = {"product": self.product, "cast": self.cast, "grouped": self.grouped,
                       "attention": self.attention, "memory": self.memory}

        self.gpu = {"name": "CPU", "memory": 2**30, "processors": os.cpu_count()}
        if self.on_gpu:
            gpu = torch.cuda.get_device_properties(device)
            self.gpu = {"name": gpu.name, "memory": torch.cuda.mem_get_info(device)[1],
                        "processors": gpu.multi_processor_count}

    def about(self):
        """Comments for the table: the GPU and the versions of the software."""
        version = self.torch.version
        lines = [", ".join(f"{key} {value}" for key, value in self.gpu.items()),
                 f"PyTorch {self.torch.__version__}, CUDA {version.cuda}, HIP {version.hip}"]
        if self.on_gpu and shutil.which("nvidia-smi"):
            query = "power.limit,clocks.max.sm,driver_version"
            result = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                                    capture_output=True, text=True, check=False)
            lines += [f"{query}: {line}" for line in result.stdout.splitlines()[:1]]
        return lines

    def time(self, case):
        try:
            if case["kernel"] == "launch":
                return self.launches(case["note"] == "graph"), ""
            run, note = self.makers[case["kernel"]](case)
            for _ in range(3):
                run()
            return [self.once(run) for _ in range(self.repeats)], note
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            reason = str(error).strip() or type(error).__name__
            raise Unsupported(reason.splitlines()[0][:160]) from error

    def once(self, run):
        """Seconds between two events; the GPU flushes while the host enqueues the kernel."""
        self.flush.zero_()
        if not self.on_gpu:
            start = perf_counter()
            run()
            return perf_counter() - start
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return 1e-3 * start.elapsed_time(end)

    def normal(self, *shape, dtype=None):
        # Random normal numbers resemble weights and activations. With zeros, products would take
        # less power and run faster than in training.
        numbers = self.torch.randn(*shape, device=self.device)
        return numbers.to(dtype or self.torch.bfloat16)

    def ones(self, *shape, dtype=None):
        return self.torch.ones(*shape, device=self.device).to(dtype or self.torch.float32)

    def product(self, case):
        torch, kind, m, n, k = self.torch, case["dtype"], case["m"], case["n"], case["k"]
        plain = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}
        if kind in plain:
            torch.backends.cuda.matmul.allow_tf32 = True
            left, right = (self.normal(rows, k, dtype=plain[kind]) for rows in (m, n))
            return lambda: left @ right.t(), ""
        if kind == "nvfp4":
            left, right = (torch.randint(256, (rows, k // 2), dtype=torch.uint8,
                                         device=self.device).view(torch.float4_e2m1fn_x2)
                           for rows in (m, n))
        else:
            left, right = (self.normal(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
        scales = {"scale_a": self.scales(kind, m, k, 1), "scale_b": self.scales(kind, n, k, 128)}
        return lambda: torch._scaled_mm(left, right.t(), out_dtype=torch.bfloat16,
                                        **scales), "scaled_mm"

    def scales(self, kind, rows, k, block_rows):
        """Scales of a matrix: one; one per 1 x 128 or 128 x 128 elements; or one per 32 or 16, in
        the tiles of 128 x 4 that cuBLAS expects."""
        if kind == "fp8":
            return self.ones()
        if kind == "fp8-block":
            scales = self.ones(k // 128, rows // block_rows).t()
            return scales if block_rows == 1 else scales.t()
        block, name = (32, "float8_e8m0fnu") if kind == "mxfp8" else (16, "float8_e4m3fn")
        tiles = -(-rows // 128) * -(-(k // block) // 4)
        return self.ones(tiles * 128 * 4, dtype=getattr(self.torch, name))

    def cast(self, case):
        """Cast to FP8 with a scale per tensor: finds the maximum, then scales all elements."""
        torch, source = self.torch, self.normal(case["m"], case["k"])

        def run():
            return (source * (448 / source.abs().max())).to(torch.float8_e4m3fn)
        return (torch.compile(run), "compiled") if self.on_gpu else (run, "")

    def grouped(self, case):
        torch, count, m, n, k = (self.torch, *(case[key] for key in ("count", "m", "n", "k")))
        kind = torch.float8_e4m3fn if case["dtype"] == "fp8" else torch.bfloat16
        tokens = self.normal(count * m, k, dtype=kind)
        weights = self.normal(count, n, k, dtype=kind).transpose(1, 2)
        ends = m * torch.arange(1, count + 1, device=self.device, dtype=torch.int32)
        if case["dtype"] == "fp8":
            scales = self.ones(count * m), self.ones(count, n)
            return lambda: torch._scaled_grouped_mm(
                tokens, weights, *scales, offs=ends,
                out_dtype=torch.bfloat16), "scaled_grouped_mm, a scale per row"
        if self.on_gpu and hasattr(torch, "_grouped_mm"):
            return lambda: torch._grouped_mm(tokens, weights, offs=ends), "grouped_mm"
        parts = tokens.split(m)
        return lambda: [part @ weight for part, weight in zip(parts, weights)], "loop"

    def attention(self, case):
        attend = self.torch.nn.functional.scaled_dot_product_attention
        query, keys, values = (
            self.normal(case["batch"], heads, case["sequence"], case["head_dim"]).requires_grad_()
            for heads in (case["heads"], case["kv_heads"], case["kv_heads"]))
        options = {"is_causal": bool(case["causal"])}
        if case["heads"] != case["kv_heads"]:
            options["enable_gqa"] = True
        if case["pass"] == "forward":
            return lambda: attend(query, keys, values, **options), "sdpa"
        result = attend(query, keys, values, **options)
        gradient = self.normal(*result.shape)
        return lambda: self.torch.autograd.grad(result, (query, keys, values), gradient,
                                                retain_graph=True), "sdpa"

    def memory(self, case):
        torch, operation, width = self.torch, case["note"], 64 if case["bytes"] < MIB else 4096
        arrays = 3 if operation == "add" else 2  # read or written
        left, right, target = (self.normal(case["bytes"] // (arrays * 2 * width), width)
                              for _ in range(3))
        if operation == "copy":
            return lambda: target.copy_(left), operation
        if operation == "add":
            return lambda: torch.add(left, right, out=target), operation
        norm = getattr(torch.nn.functional, "rms_norm", torch.nn.functional.layer_norm)
        return lambda: norm(left, (width,)), norm.__name__

    def launches(self, in_graph, count=1000):
        """Seconds per kernel of a sequence of kernels that do almost nothing."""
        number = self.torch.zeros(1, device=self.device)

        def go():
            for _ in range(count):
                number.add_(1)
        go()
        if in_graph:
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph):
                go()
            go = graph.replay
        seconds = []
        for _ in range(self.repeats + 1):
            self.wait()
            start = perf_counter()
            go()
            self.wait()
            seconds.append((perf_counter() - start) / count)
        return seconds[1:]


def all_reduces_of_rank(rank, cases, device, repeats, results):
    """One process of the all-reduces within the node; the first one returns the seconds."""
    import torch
    import torch.distributed as dist
    on_gpu = device == "cuda"
    dist.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=cases[0]["count"])
    if on_gpu:
        torch.cuda.set_device(rank)
    wait, measured = torch.cuda.synchronize if on_gpu else lambda: None, []
    for case in cases:
        buffer = torch.zeros(case["bytes"] // 4, device=f"cuda:{rank}" if on_gpu else "cpu")
        seconds = []
        for _ in range(3 + repeats):
            dist.barrier()
            wait()
            start = perf_counter()
            dist.all_reduce(buffer)
            wait()
            seconds.append(perf_counter() - start)
        measured.append(seconds[3:])
    if rank == 0:
        results.put(measured)
    dist.destroy_process_group()


def measure_all_reduces(torch, cases, device, repeats):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    results = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(all_reduces_of_rank, (cases, device, repeats, results),
                                nprocs=cases[0]["count"])
    return [row_of(case, seconds) for case, seconds in zip(cases, results.get())]


def read_options(words):
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0],
                                     description=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", metavar="TABLE.csv", help="table to write (default: standard output)")
    add("--gpu-file", metavar="FILE.yaml", help="GPU file to write from the measured rates; "
        "'pipewright gpu fit' then fits it to the table, if pipewright is on the PATH")
    add("--base", metavar="GPU", help="GPU file to start from, such as h100-sxm, for the "
        "maker's peaks (default: peaks are the best measured rates)")
    add("--quick", action="store_true", help="measure fewer sizes, in one or two minutes")
    add("--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help=", ".join(KINDS))
    add("--repeats", type=int, default=20, metavar="N",
        help="repetitions per case, of which the median counts (20)")
    add("--device", choices=("cuda", "cpu"), default="cuda",
        help="device to measure; cpu tries out the script on tiny sizes")
    add("--plan", action="store_true", help="print the cases without measuring; needs no PyTorch")
    options = parser.parse_args(words)
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least 1, such as 20")
    if options.gpu_file and not options.output:
        parser.error("--gpu-file needs the table in a file: -o my-gpu.csv")
    if options.gpu_file and not options.base and not {"product", "memory"} <= set(options.only):
        parser.error("--gpu-file needs products and kernels bound by memory, or --base")
    return options


def find_torch(device):
    try:
        import torch
    except ModuleNotFoundError:
        sys.exit(f"measure_gpu.py: PyTorch is not installed for {sys.executable}; "
                 "only --plan works without it")
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit(f"measure_gpu.py: PyTorch {torch.__version__} sees no GPU (nvidia-smi or rocm-smi "
                 "lists them); --device cpu tries out the script")
    return torch


def fit(options, report):
    """Runs pipewright to fit a GPU file to the table."""
    command = ["pipewright", "gpu", "fit", options.output, "--gpu-file",
               options.base or options.gpu_file, "--out", options.gpu_file]
    if shutil.which(command[0]):
        return subprocess.run(command, check=False).returncode
    report(f"pipewright is not on the PATH; run where it is installed: {' '.join(command)}")
    return 0


def main(words=None):
    options = read_options(words)
    if options.plan:
        print("\n".join(text_of(case) for case in plan(options.only, 8, options.quick)))
        return 0

    def report(text):
        print(text, file=sys.stderr, flush=True)
    torch = find_torch(options.device)
    on_gpu = options.device == "cuda"
    gpus = torch.cuda.device_count() if on_gpu else 2
    if "all-reduce" in options.only and gpus == 1:
        report("left out: all-reduce: there is only one GPU")
    cases = plan(options.only, gpus, options.quick)
    if not on_gpu:
        cases = [dict(case) for case in {tuple(tiny(case).items()): 0 for case in cases}]
    machine = Machine(torch, "cuda:0" if on_gpu else "cpu", options.repeats)
    about, device = machine.about(), machine.gpu
    rows = measure([case for case in cases if case["kernel"] != "all-reduce"], machine, report)
    all_reduces = [case for case in cases if case["kernel"] == "all-reduce"]
    if all_reduces:
        report(f"all-reduces over {gpus}")
        try:
            rows += measure_all_reduces(torch, all_reduces, options.device, options.repeats)
        except torch.multiprocessing.ProcessException as error:
            report(f"left out: all-reduce: {str(error).strip().splitlines()[-1]}")
    if not options.output:
        write_table(rows, about, sys.stdout)
        return 0
    with open(options.output, "w", encoding="utf-8") as stream:
        write_table(rows, about, stream)
    report(f"{len(rows)} rows in {options.output}")
    if not options.gpu_file:
        return 0
    if not options.base:
        with open(options.gpu_file, "w", encoding="utf-8") as stream:
            stream.write(gpu_file(rows, device))
    return fit(options, report)


if __name__ == "__main__":
    sys.exit(main())
