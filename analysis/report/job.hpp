#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipewright::analysis {

// What was run: what was trained, on what and how cut. Without a model, texts are empty and sizes
// of samples are 0.
struct JobInfo {
  std::string model;
  std::string gpu;  // of the first pipeline device
  std::uint32_t tp = 1;
  std::string tp_by_device;            // "8/8/4/4", where they differ; `tp` is the largest then
  std::vector<std::uint32_t> tp_each;  // the same as numbers
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t etp = 1;  // ranks that share each expert
  std::uint32_t dp = 1;
  std::uint32_t replicate = 1;  // copies of what dp holds in shards
  std::uint32_t pp = 1;
  bool sequence_parallel = false;
  std::uint32_t zero = 0;             // level
  std::uint64_t global_batch = 0;     // samples of an iteration, over all replicas
  std::uint32_t microbatch_size = 0;  // samples
  std::uint64_t sequence = 0;         // tokens of a sample
  std::string precision;              // recipe: bf16, fp8, ..
  std::string cuda_graphs;            // none, layer, iteration
  bool flash_attention = true;        // else scores are kept
  std::string recompute;              // none, selective, full
  std::string offload;                // none, all layers, 4 layers a stage
  std::string partition;              // even, ends_less, by_cost, listed, or a layout
  bool symmetric = false;             // one replica was simulated, for all
  std::string lengths;                // of documents that are not all as long as a sample
  double padding = 0;                 // part of the tokens that passes work on
  std::string dispatch;               // of tokens to experts: alltoall, "deepep fp8 overlapped"
  std::string routing;                // of tokens to experts, where it is not balanced
  double uneven = 0;                  // part of the time that differing microbatches cost
  std::string straddling;             // groups that lie across NVLink domains which could hold them
  std::string untried;  // groups whose calls no measurement was held against: "tp + dp"
};

// "llama-3-70b on h100-sxm, tp 8, pp 4, batch 64 of 8192 tokens, bf16, recompute full", without
// what is as usual; empty without a model. Traces keep it.
std::string describe(const JobInfo& job);

// The jobs of runs, printable: what all of them have, and of each what not all have, "fp8, cuda
// graphs layer".
struct JobParts {
  std::string common;
  std::vector<std::string> own;
};
JobParts split_jobs(const std::vector<std::string>& jobs);

}  // namespace pipewright::analysis
