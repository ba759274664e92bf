"""Tests of examples/measure_gpu.py without a GPU: its plan and its output."""

import collections
import csv
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "measure_gpu.py"
spec = importlib.util.spec_from_file_location("measure_gpu", SCRIPT)
measure_gpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(measure_gpu)


class RoundMachine:
    """Multiplies at 100 TFLOP/s and moves 1 TB/s, has no FP4, and is slow in every second
    repetition."""

    def time(self, case):
        if case.get("dtype") == "nvfp4":
            raise measure_gpu.Unsupported("no such type")
        if case["kernel"] == "product":
            seconds = 2 * case["m"] * case["n"] * case["k"] / 100e12
        else:
            seconds = case.get("bytes", 10e6) / 1e12
        return [seconds, 3 * seconds, seconds], "note of the machine"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True,
                          check=False)


class Plan(unittest.TestCase):
    def test_covers_sizes_of_training(self):
        cases = measure_gpu.plan(gpus=8)
        products = [case for case in cases if case["kernel"] == "product"]
        self.assertEqual({case["dtype"] for case in products}, set(measure_gpu.TYPES))
        per_type = [case for case in products if case["dtype"] == "bf16"]
        self.assertGreaterEqual(len(per_type), 60)
        self.assertTrue(any(case["n"] <= 768 for case in per_type), "few columns")
        self.assertTrue(any(case["k"] <= 512 for case in per_type), "a short inner dimension")
        attention = [case for case in cases if case["kernel"] == "attention"]
        self.assertEqual({case["pass"] for case in attention}, {"forward", "backward"})
        self.assertEqual({case["head_dim"] for case in attention}, {64, 128})
        grouped = [case for case in cases if case["kernel"] == "grouped"]
        self.assertEqual({case["dtype"] for case in grouped}, {"bf16", "fp8"})
        self.assertGreaterEqual({case["count"] for case in grouped}, {2, 8, 32})
        self.assertEqual({case["kernel"] for case in cases}, set(measure_gpu.KINDS))

    def test_has_no_all_reduces_on_one_gpu(self):
        self.assertFalse([case for case in measure_gpu.plan(gpus=1)
                          if case["kernel"] == "all-reduce"])

    def test_only_and_quick_leave_cases_out(self):
        quick = measure_gpu.plan(["memory"], quick=True)
        self.assertEqual({case["kernel"] for case in quick}, {"memory"})
        self.assertLess(len(quick), len(measure_gpu.plan(["memory"])))

    def test_has_enough_rows_to_fit_each_kind(self):
        for quick in (False, True):
            groups = collections.Counter(
                (case["kernel"], case.get("dtype"), case.get("pass"))
                for case in measure_gpu.plan(quick=quick) if case["kernel"] != "launch")
            for group, rows in groups.items():
                self.assertGreaterEqual(rows, 6, (quick, group))

    def test_is_printed_without_pytorch(self):
        shown = run("--plan", "--quick", "--only", "attention", "memory")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("memory bytes 16777216 copy\n", shown.stdout)
        self.assertIn("attention bf16 batch 4 heads 32 kv_heads 8 head_dim 128 sequence 2048 "
                      "causal 1 backward\n", shown.stdout)


class Table(unittest.TestCase):
    def setUp(self):
        self.reported = []
        cases = measure_gpu.plan(["product", "memory"], quick=True)
        self.rows = measure_gpu.measure(cases, RoundMachine(), self.reported.append)

    def test_has_medians_in_microseconds(self):
        out = io.StringIO()
        measure_gpu.write_table(self.rows, ["a GPU"], out)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], "# a GPU")
        table = list(csv.DictReader(lines[1:]))
        first = table[0]
        self.assertEqual(first["kernel"], "product")
        # The product has 2 x 2048 x 6144 x 4096 FLOP and takes 1030.792 us at 100 TFLOP/s. The
        # slowest of its repetitions took three times as long.
        self.assertEqual((first["m"], first["n"], first["k"]), ("2048", "6144", "4096"))
        self.assertEqual(first["time_us"], "1030.792")
        self.assertEqual(first["most_us"], "3092.376")
        self.assertEqual(first["repeats"], "3")
        memory = next(row for row in table if row["kernel"] == "memory")
        self.assertEqual(memory["time_us"], "16.777")  # 16 MiB at 1 TB/s

    def test_has_launches_as_comments(self):
        rows = [measure_gpu.row_of({"kernel": "launch", "note": how}, [seconds])
                for how, seconds in (("eager", 6e-6), ("graph", 2e-6))]
        out = io.StringIO()
        measure_gpu.write_table(rows, ["a GPU"], out)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[:3], ["# a GPU", "# a kernel is launched every 6.000 us (eager)",
                                     "# a kernel is launched every 2.000 us (graph)"])
        self.assertEqual(list(csv.DictReader(lines[3:])), [])

    def test_leaves_out_unsupported_cases_with_one_message(self):
        self.assertNotIn("nvfp4", {row.get("dtype") for row in self.rows})
        self.assertEqual([line for line in self.reported if "nvfp4" in line],
                         ["left out: product nvfp4: no such type"])

    def test_writes_the_best_rates_to_a_gpu_file(self):
        text = measure_gpu.gpu_file(self.rows, {"name": "Round 1", "memory": 64 * 2**30,
                                                "processors": 100})
        self.assertIn("# Round 1: peaks", text)
        for line in ("flops: 100 TFLOP/s", "memory: 64.00 GiB", "memory_bandwidth: 1000 GB/s",
                     "processors: 100", "  fp8: {flops: 100 TFLOP/s}",
                     "attention: {fa2: {forward: 0.5, backward: 0.4}}"):
            self.assertIn(f"{line}\n", text)
        self.assertNotIn("nvfp4", text)
        # These keys are marked as assumed: no single kernel determines them, or a later fit does.
        assumed = text.splitlines()[-1]
        self.assertTrue(assumed.startswith("assumed: [products.bf16.efficiency, "), assumed)
        for key in ("clock", "attention.unfused", "attention.fa2.forward", "kernel_overhead"):
            self.assertIn(f", {key}", assumed)
        # Host times belong to a software stack, so the file does not have them.
        self.assertNotIn("launch", text)


class Errors(unittest.TestCase):
    def test_errors_of_options_name_what_is_allowed(self):
        self.assertIn("at least 1, such as 20", run("--repeats", "0").stderr)
        self.assertIn("-o my-gpu.csv", run("--gpu-file", "x.yaml").stderr)
        refused = run("--only", "launch", "-o", "t.csv", "--gpu-file", "x.yaml")
        self.assertIn("or --base", refused.stderr)
        self.assertEqual(refused.returncode, 2)

    def test_reports_missing_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ModuleNotFoundError('torch')")
            shown = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True,
                                   check=False, env={"PYTHONPATH": folder})
        self.assertEqual(shown.returncode, 1)
        self.assertIn("PyTorch is not installed", shown.stderr)

    def test_reports_a_missing_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text(
                "__version__ = '9'\nclass cuda:\n    is_available = staticmethod(lambda: False)\n")
            shown = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True,
                                   check=False, env={"PYTHONPATH": folder})
        self.assertEqual(shown.returncode, 1)
        self.assertIn("PyTorch 9 sees no GPU", shown.stderr)


if __name__ == "__main__":
    unittest.main()
