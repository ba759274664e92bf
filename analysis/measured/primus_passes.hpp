#pragma once

#include <filesystem>
#include <vector>

#include "analysis/measured/annotations.hpp"

namespace pipewright::analysis {

// Reads the files that Primus (AMD) writes with --dump_pp_data, pp_rank_N.json: for each iteration
// when passes began and ended on the GPU, in milliseconds from the iteration's start on that rank.
// Iterations follow one another here as long as the slowest rank's. Of several chunks a device,
// `config.json` beside the files says how many; where passes name neither microbatch nor chunk,
// they come in Megatron-LM's interleaved order. Throws trace::TraceError.
std::vector<Annotations> read_primus_passes(const std::vector<std::filesystem::path>& files);

}  // namespace pipewright::analysis
