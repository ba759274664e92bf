#pragma once

#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"

namespace pipewright::tests {

struct MadeSearch {
  std::vector<std::string> groups{"gpt-175b on dgx-a100"};
  std::vector<std::string> schedules{"1f1b",  "interleaved-1f1b", "zb-1p", "zb-2p",
                                     "v-min", "v-half",           "v-zb",  "gpipe"};
  std::uint32_t microbatch_sizes = 4;  // 1, 2, 4, ...
  double slack = 1.15;  // candidates whose bound is within it of the best are simulated
  double memory_gib = 80;
};

// Returns an invented search over layouts of a large model on 1,024 GPUs. A few formulas determine
// the rows, among which every outcome occurs.
analysis::SearchRun made_search(const MadeSearch& made = {});

}  // namespace pipewright::tests
