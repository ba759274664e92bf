#pragma once

#include <filesystem>
#include <vector>

#include "analysis/measured/annotations.hpp"

namespace pipewright::analysis {

// Reads the files pp_rank_N.json, which Primus (AMD) writes with --dump_pp_data: starts and ends of
// passes on the GPU for each iteration, in milliseconds since the start of the iteration on that
// rank. Each iteration lasts here as long as on the slowest rank. `config.json` beside the files
// gives the number of chunks per device; passes without a microbatch or chunk are in Megatron-LM's
// interleaved order. Throws trace::TraceError.
std::vector<Annotations> read_primus_passes(const std::vector<std::filesystem::path>& files);

}  // namespace pipewright::analysis
