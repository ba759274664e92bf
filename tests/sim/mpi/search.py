"""Searches with several ranks on this machine, of which some are killed: the same best as one
process finds, and nothing is lost.

usage: search.py MPIEXEC FOLDER_OF_PROGRAMS CHECK
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
except ImportError:
    h5py = None

from processes import find

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
PATIENCE = 300  # seconds, for what takes a few
SWEEP = """
cluster: dgx-a100
model: zero-bubble-14.6b
parallel: {tp: auto, pp: auto, dp: auto, sp: true, zero: [0, 1]}
schedule: [1f1b, gpipe, {name: interleaved-1f1b, chunks: 2}, zb-1p]
global_batch: 128
training: {microbatch_size: [1, 2, 4]}
search: {gpus: 16}
"""


def expect(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


class Search:
    """One search, from the start of its command."""

    def __init__(self, folder, words):
        self.results = folder / "results.h5"
        self.journal = folder / "results.h5.journal"
        self.process = subprocess.Popen(words, env=ENVIRONMENT, text=True, cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output = ""

    def end(self):
        self.output, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def simulated(self):
        """Lines of candidates that have a time, and are safe."""
        text = self.journal.read_text() if self.journal.exists() else ""
        return [line for line in text.split("\n")[:-1] if '"outcome":"simulated"' in line]

    def wait_until_simulated(self, count):
        end = time.monotonic() + PATIENCE
        while len(self.simulated()) < count:
            if self.process.poll() is not None:
                self.end()
                raise SystemExit(f"FAILED: it ended before {count} rows came:\n{self.output}")
            expect(time.monotonic() < end, f"{count} rows did not come")
            time.sleep(0.01)

    def rank(self, number):
        """The process of a rank."""
        processes = find(self.process.pid, "pipewright-mpi", {"OMPI_COMM_WORLD_RANK": str(number)})
        expect(len(processes) == 1, f"rank {number} does not exist once: {processes}")
        return processes[0]

    def read_results(self):
        with h5py.File(self.results) as file:
            return {"finished": file.attrs["finished"], "rows": file["candidates"][()],
                    "notes": file["notes"][()].tolist()}


class Bench:
    """Starts searches for the same sweep."""

    def __init__(self, mpiexec, programs, folder):
        self.mpiexec, self.programs, self.folder = mpiexec, programs, folder
        self.sweep = folder / "sweep.yaml"
        self.sweep.write_text(SWEEP)
        self.count = 0

    def in_folder(self, words, options, folder):
        if folder is None:
            self.count += 1
            folder = self.folder / str(self.count)
            folder.mkdir()
        return Search(folder, [*words, "search", str(self.sweep), "--exhaustive", "--results",
                               str(folder / "results.h5"), *options])

    def ranks(self, count, *options, launcher=(), own=(), folder=None):
        words = [self.mpiexec, "--oversubscribe", *launcher, "-n", str(count),
                 self.programs / "pipewright-mpi", *own]
        return self.in_folder(words, options, folder)

    def expect_all(self, search):
        """Expects the results that a single process finds, to the last bit."""
        alone = self.in_folder([self.programs / "pipewright"], ["--jobs", "1", "--quiet"], None)
        expect(alone.end() == 0, alone.output)
        expected, actual = alone.read_results(), search.read_results()
        expect(actual["finished"] == 1, "the search is not finished")
        expect(len(expected["rows"]) > 200, "the sweep is too small to say much")
        expect(len(expected["rows"]) == len(actual["rows"]),
               f"{len(actual['rows'])} rows are not {len(expected['rows'])}")
        different = (expected["rows"] != actual["rows"]).sum()
        expect(different == 0 and expected["notes"] == actual["notes"], f"{different} rows differ")


def several_ranks(bench):
    for count in (1, 3):
        search = bench.ranks(count, "--jobs", "2")
        expect(search.end() == 0, search.output)
        bench.expect_all(search)
        has_line = "rank 0 assigns the work, 2 other ranks do it" in search.output
        expect(has_line == (count == 3), f"{count} ranks say: {search.output}")


def rank_killed(bench):
    search = bench.ranks(4, launcher=["--enable-recovery"], own=["--lost-after", "3"])
    search.wait_until_simulated(10)
    os.kill(search.rank(2), signal.SIGKILL)
    search.end()
    bench.expect_all(search)
    # If the output lacks this message, the search ended before it noticed that the rank was lost.
    expect("a rank is dead or hangs" in search.output, search.output)


def worker_killed(bench):
    search = bench.ranks(3)
    search.wait_until_simulated(10)
    os.kill(find(search.rank(2), "pipewright", {})[0], signal.SIGKILL)
    expect(search.end() == 0, search.output)
    bench.expect_all(search)


def end_and_resume(bench, search):
    """Resumes a search that ended too early."""
    expect(search.end() != 0, "mpirun ended with status 0")
    again = bench.ranks(3, "--resume", folder=search.results.parent)
    expect(again.end() == 0, again.output)
    bench.expect_all(again)


def coordinator_killed(bench):
    search = bench.ranks(3)
    search.wait_until_simulated(20)
    os.kill(search.rank(0), signal.SIGKILL)
    end_and_resume(bench, search)


def coordinator_lost(bench):
    """Ranks end by themselves when the coordinator is dead and the launcher does not end them."""
    search = bench.ranks(3, launcher=["--enable-recovery"], own=["--lost-after", "3"])
    search.wait_until_simulated(20)
    os.kill(search.rank(0), signal.SIGKILL)
    killed = time.monotonic()
    search.end()
    took = time.monotonic() - killed
    expect(took < 3 + 10, f"the job ended {took:.0f} s after rank 0")
    expect("rank 0 is silent; this rank ends" in search.output, search.output)
    again = bench.ranks(3, "--resume", folder=search.results.parent)
    expect(again.end() == 0, again.output)
    bench.expect_all(again)


def coordinator_stands_still(bench):
    """Ranks wait for a coordinator that is suspended for less than --lost-after."""
    search = bench.ranks(3, own=["--lost-after", "6"])
    search.wait_until_simulated(10)
    os.kill(search.rank(0), signal.SIGSTOP)
    time.sleep(3)
    os.kill(search.rank(0), signal.SIGCONT)
    expect(search.end() == 0, search.output)
    bench.expect_all(search)


def interrupted(bench):
    # mpirun forwards the signal after a second, in which the search must not end.
    bench.sweep.write_text(SWEEP.replace("[1, 2, 4]}", "[1, 2, 4], recompute: [none, selective, "
                                         "full]}").replace("128", "1024"))
    search = bench.ranks(3)
    search.wait_until_simulated(20)
    search.process.send_signal(signal.SIGTERM)
    search.process.wait()
    expect(search.results.exists(), "no results were written")
    results = search.read_results()
    expect(results["finished"] == 0, "the search was not stopped")
    expect(len(results["rows"]) > 20, "rows are lost")
    end_and_resume(bench, search)


def mistakes(bench):
    for own, options, status, text in (
            (["--lost-after", "soon"], [], 2, "--lost-after is 'soon'"),
            (["--ranks", "3"], [], 2, "option '--ranks'"),
            (["--worker", "/nowhere/pipewright"], [], 2, "No such file"),
            ([], ["--no-such-option"], 2, "no-such-option"),
            (["--help"], [], 0, "--enable-recovery"),
    ):
        search = bench.ranks(3, *options, own=own)
        expect(search.end() == status, f"{own}: not status {status}: {search.output}")
        expect(text in search.output, f"{own}: no '{text}' in: {search.output}")


def lonely_tasks(bench):
    """A process that srun starts without the plugin that MPI needs."""
    alone = subprocess.run([bench.programs / "pipewright-mpi", "search", str(bench.sweep)],
                           env=dict(ENVIRONMENT, SLURM_STEP_NUM_TASKS="64"), text=True,
                           capture_output=True, check=False)
    expect(alone.returncode == 2, f"status {alone.returncode}: {alone.stdout}")
    expect("srun started 64 tasks, but MPI sees one" in alone.stderr, alone.stderr)


def no_simgrid(bench):
    """The program links MPI and not libsimgrid, which exports the names of MPI."""
    linked = subprocess.run(["ldd", bench.programs / "pipewright-mpi"], text=True, check=True,
                            capture_output=True).stdout
    expect("libmpi" in linked, f"it does not link MPI: {linked}")
    expect("simgrid" not in linked, f"it links SimGrid: {linked}")


CHECKS = (several_ranks, rank_killed, worker_killed, coordinator_killed, coordinator_lost,
          coordinator_stands_still, interrupted, mistakes, lonely_tasks, no_simgrid)


def main():
    mpiexec, programs, name = sys.argv[1:]
    if h5py is None:
        print("skipped: h5py is not installed")
        return 77
    check = next(check for check in CHECKS if check.__name__ == name)
    with tempfile.TemporaryDirectory() as folder:
        check(Bench(mpiexec, pathlib.Path(programs), pathlib.Path(folder)))
        expect(not find(os.getpid(), "pipewright", {}), "processes are left")
    print(f"{name}: as it should be")
    return 0


sys.exit(main())
