#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"

namespace pipewright::analysis {

class Canvas;

// What stands above the timeline of a run.
struct RunTitle {
  std::string name;     // "interleaved-1f1b"
  std::string details;  // "8 devices x 64 microbatches, 4 chunks a device, 2.274 s, bubble 10.9 %"
};

// What all runs of a picture or a page are of: "llama-3-70b on 32 h100-sxm", and the rest of their
// jobs with the cluster, "dgx-h100, tp 8, pp 4, batch 64 of 8192 tokens, bf16". Without a model the
// first is empty.
struct Subject {
  std::string name;
  std::string details;
};
Subject subject_of(std::span<const Summary> runs);
void draw_subject(Canvas& canvas, double left, double right, double baseline,
                  const Subject& subject);

// Network, engine and point-to-point mode are named where they differ between the runs.
std::vector<RunTitle> run_titles(std::span<const Summary> runs);

// "1f1b", "interleaved-1f1b x5": what tells the runs of a picture apart, and no more than that.
// Runs that are equal in all of it are numbered.
std::vector<std::string> run_names(std::span<const Summary> runs);

}  // namespace pipewright::analysis
