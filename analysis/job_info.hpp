#pragma once

#include <cstdint>
#include <string>

namespace pipewright::analysis {

// What was run: what was trained, on what and how cut. Without a model, texts are empty and sizes
// of samples are 0.
struct JobInfo {
  std::string model;
  std::string gpu;  // of the first pipeline device
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t dp = 1;
  std::uint32_t pp = 1;
  bool sequence_parallel = false;
  std::uint32_t zero = 0;             // level
  std::uint64_t global_batch = 0;     // samples of an iteration, over all replicas
  std::uint32_t microbatch_size = 0;  // samples
  std::uint64_t sequence = 0;         // tokens of a sample
  std::string recompute;              // none, selective, full
  std::string partition;              // even, ends_less, by_cost, listed
  bool symmetric = false;             // one replica was simulated, for all
};

// "llama-3-70b on h100-sxm, tp 8, pp 4, batch 64 of 8192 tokens, recompute full", without what is
// as usual; empty without a model.
std::string describe(const JobInfo& job);

}  // namespace pipewright::analysis
