#include "analysis/commlogs/logs/log_run.hpp"

#include <catch2/catch.hpp>

#include "analysis/commlogs/logs/log_lines.hpp"

namespace pipewright::analysis {
namespace {

struct Expected {
  std::string command;
  std::optional<std::uint32_t> processes, nodes;
  std::uint32_t gpus = 1;
};

}  // namespace

TEST_CASE("commands give the number of processes and nodes") {
  const std::vector<Expected> cases{
      {"./build/all_reduce_perf -b 8 -g 8", 1, 1, 8},
      {"$ CUDA_VISIBLE_DEVICES=0,1 ./all_reduce_perf -t 4 -g 2", 1, 1, 8},
      {"mpirun -np 16 ./all_reduce_perf -g 1", 16, {}},
      {"mpirun -np 16 -N 8 ./all_reduce_perf", 16, 2},
      {"mpirun -n 16 --host a:8,b:8 -x N=1 ./all_reduce_perf -n 20", 16, 2},
      {"mpirun -H a:4,b:4,c:4 ./all_reduce_perf", 12, 3},
      {"mpirun -H a,b ./all_reduce_perf", {}, 2},
      {"mpiexec -n 512 --ppn 4 --depth=16 ./all_reduce_perf", 512, 128},
      {"srun -N2 --ntasks-per-node=4 ./osu_alltoall", 8, 2},
      {"srun -N2 ./osu_bw --validation", 2, 2},
      {"srun --nodes=4 --ntasks=16 ./osu_allreduce", 16, 4},
      {"srun -n2 -N1 ./osu_bw D D", 2, 1},
      {"flux run -N 8 -n 64 -o gpu ./osu_allreduce", 64, 8},
      {"mpirun -np 99999999999 ./all_reduce_perf", {}, {}},
      {"mpirun -np -4 ./all_reduce_perf", {}, {}},
  };
  for (const Expected& expected : cases) {
    CAPTURE(expected.command);
    const CommandRanks ranks = read_command(expected.command);
    CHECK(ranks.processes == expected.processes);
    CHECK(ranks.nodes == expected.nodes);
    CHECK(ranks.gpus_per_process == expected.gpus);
  }
}

TEST_CASE("programs are found in paths, with and without options") {
  const auto programs = named_programs("+ /opt/nccl/all_reduce_perf_mpi -b 8; ./sendrecv_perf");
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].name == "all_reduce");
  CHECK(programs[0].has_options);
  CHECK(programs[1].name == "sendrecv");
  CHECK_FALSE(programs[1].has_options);
  CHECK(named_programs("/osu-micro-benchmarks/osu_bw D D").at(0).name == "osu_bw");
  CHECK(named_programs("run_perf_test all_reduce_perf.log_perform").size() == 1);
  CHECK(named_programs("_perf").empty());
}

TEST_CASE("prefixes of lines are removed, and text that looks similar is not") {
  CHECK(without_prefixes("  0: # Size") == "# Size");
  CHECK(without_prefixes("1024  256 float") == "1024  256 float");
  CHECK(without_prefixes("1024 | 256 | float") == "1024 | 256 | float");
  CHECK(without_prefixes("[1,0]: 8 2") == "8 2");
  CHECK(without_prefixes("[unclosed 8 2") == "[unclosed 8 2");
  CHECK(without_prefixes("> > 8 2") == "8 2");
  CHECK(without_prefixes("") == "");
  CHECK(without_prefixes("[]") == "");
}

}  // namespace pipewright::analysis
