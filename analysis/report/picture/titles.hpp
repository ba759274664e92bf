#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"

namespace pipewright::analysis {

class Canvas;

// Title above the timeline of a run: its name in bold, then details.
struct RunTitle {
  std::string name;     // "interleaved-1f1b"
  std::string details;  // "8 devices x 64 microbatches, 4 chunks a device, 2.274 s, bubble 10.9 %"
};

// Heading of a picture or page, which describes what its runs have in common. The name is the model
// and its GPUs, "llama-3-70b on 32 h100-sxm", or empty without a model. The details are the cluster
// and the rest of the job, "dgx-h100, tp 8, pp 4, batch 64 of 8192 tokens, bf16".
struct Subject {
  std::string name;
  std::string details;
};
Subject common_subject(std::span<const Summary> runs);
void draw_subject(Canvas& canvas, double left, double right, double baseline,
                  const Subject& subject);

// Titles name the network, the engine and the point-to-point mode only if they differ between the
// runs.
std::vector<RunTitle> run_titles(std::span<const Summary> runs);

// Returns the shortest names that tell the runs of a picture apart: "1f1b", "interleaved-1f1b x5".
// Runs with equal descriptions are numbered.
std::vector<std::string> run_names(std::span<const Summary> runs);

}  // namespace pipewright::analysis
