#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"

// The first screen of `pipewright run`: what was run, the figures that decide, and what a reader
// has to know before trusting them. console_table() of summary_report.hpp has everything else.
namespace pipewright::analysis {

// Distribution of the makespan of a run over several random seeds, in seconds.
struct SeedSpread {
  std::size_t seeds = 0;
  double median_s = 0;
  double p05_s = 0;  // 5th percentile
  double p95_s = 0;  // 95th percentile
};

// Prints one line that identifies the job, one table with a row for each run, and at most three
// notes:
//
//   Llama 3 70B on 64 H100 SXM (dgx-h100-8): tp 8 + sp, pp 4, dp 2 + ZeRO-1, batch 128 x 8192, bf16
//
//   schedule            iteration   tokens/s      MFU   bubble   exposed comm         peak memory
//   1f1b                  17.67 s     59.3 k   42.1 %    7.6 %         18.4 %   50.9 of 79.1 GiB
//
//   note: h100-sxm: memory_efficiency and kernel_overhead are assumed, not sourced
//
// `spreads` is empty, or has an element for each run. `notes` come after those on memory and on
// assumed numbers, which are made here.
std::string first_screen(std::span<const Summary> runs, std::span<const SeedSpread> spreads = {},
                         const std::vector<std::string>& notes = {});

// Returns a line "note: ..." for each note.
std::string note_lines(const std::vector<std::string>& notes);

}  // namespace pipewright::analysis
