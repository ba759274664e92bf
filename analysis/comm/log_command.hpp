#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// "all_reduce" of "./build/all_reduce_perf -b 8", "osu_bw" of "osu_bw D D".
struct NamedProgram {
  std::string name;
  bool with_options = false;  // which tells a command from a mention
};
std::vector<NamedProgram> named_programs(std::string_view line);

// What a command line says about the places of the ranks.
struct CommandRanks {
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> nodes;
  std::uint32_t gpus_per_process = 1;  // nccl-tests' -g and -t
};
// Understands mpirun, mpiexec, srun, flux run and programs that nothing launches.
CommandRanks read_command(std::string_view line);

}  // namespace pipewright::analysis
