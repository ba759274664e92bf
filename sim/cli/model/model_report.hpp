#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "sim/workload/figures/model_figures.hpp"

namespace pipewright::cli {

// Content of the report of `pipewright model` on one model: its size, kernels and their times.
struct ModelReport {
  workload::ModelSize size;
  std::vector<std::string> notes;  // notes on its file
  std::string layout;              // "tp 2, sp, microbatches of 1 x 8192 tokens, bf16"
  std::string precision;
  std::string stack;  // name of the software
  workload::Sizes sizes;
  std::vector<workload::PartBytes> parts;
  std::string gpu;        // empty: no GPU, and no times
  std::string attention;  // attention kernel that the stack runs on the GPU
  double peak_flops = 0;  // peak of the GPU in this precision
  std::vector<workload::PartTimes> times;
  std::vector<std::string>
      assumed;  // keys of the GPU's file that the times use and that have no source of their own
  std::string assumed_gpu;  // name of the GPU, with the GPUs from which it has numbers
  std::vector<config::DerivedNumber> derived;  // numbers of other GPUs that the times use
};

std::string models_text(std::span<const workload::ModelSize> models);
analysis::Json models_json(std::span<const workload::ModelSize> models);
std::string model_text(const ModelReport& report);
analysis::Json model_json(const ModelReport& report);

}  // namespace pipewright::cli
