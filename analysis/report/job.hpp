#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipewright::analysis {

// Job that a run simulates: what is trained, on which hardware, and in which layout. Without a
// model, texts are empty and sizes of samples are 0.
struct JobInfo {
  std::string model;
  std::string gpu;                // GPU of the first pipeline device
  std::string stack;              // software of the job
  bool is_changed_stack = false;  // keys of the stack differ from those of its file
  std::uint32_t tp = 1;
  std::string tp_by_device;            // "8/8/4/4" if devices differ; `tp` is then the largest
  std::vector<std::uint32_t> tp_each;  // the numbers of tp_by_device
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t etp = 1;  // ranks that share each expert
  std::uint32_t dp = 1;
  std::uint32_t replicate = 1;  // copies of the state that dp ranks hold in shards
  // Generalized tensor parallelism: ranks of dp that divide each weight, and each of an expert.
  std::uint32_t gtp = 1;
  std::uint32_t expert_gtp = 1;
  std::uint32_t pp = 1;
  bool sequence_parallel = false;
  std::uint32_t zero = 0;             // level
  std::uint64_t global_batch = 0;     // samples of an iteration, over all replicas
  std::uint32_t microbatch_size = 0;  // samples
  std::uint64_t sequence = 0;         // tokens of a sample
  std::string precision;              // recipe: bf16, fp8, ..
  std::string cuda_graphs;            // none, layer, iteration, or modules
  bool flash_attention = true;        // false: attention scores are stored
  std::string recompute;              // none, selective, full
  std::string offload;                // none, all layers, 4 layers a stage
  std::string optimizer;              // adam, "muon (layer_wise; 5 Newton-Schulz steps)"
  std::string trained;                // "adapters of rank 16 in linear_qkv"; empty: all weights
  std::string partition;              // even, ends_less, by_cost, by_weights, listed, or a layout
  bool symmetric = false;             // one replica was simulated for all
  std::string lengths;                // distribution of document lengths, if they vary
  double padding = 0;                 // fraction of the computed tokens that is padding
  std::string dispatch;               // how tokens reach experts: alltoall, "deepep fp8 overlapped"
  std::string routing;                // how a router chooses experts, if it is not balanced
  double uneven = 0;                  // fraction of the time that unequal microbatches cost
  std::string straddling;  // groups that span NVLink domains although one domain could hold them
  std::string untried;     // groups whose calls no measurement was compared with: "tp + dp"
};

// Describes a job without its default settings: "llama-3-70b on h100-sxm, stack megatron-core, tp
// 8, pp 4, batch 64 of 8192 tokens, bf16, recompute full". Empty without a model. Traces store this
// text.
std::string describe(const JobInfo& job);

// Describes a job on this many GPUs for a screen that people read: "Llama 3 70B on 64 H100 SXM
// (dgx-h100-8) with megatron-core: tp 8 + sp, pp 4, dp 2 + ZeRO-1, batch 128 x 8192, bf16". The job
// has a model.
std::string job_title(const JobInfo& job, std::uint64_t gpus, const std::string& network);

// Printable descriptions of several jobs, split into the common part and the rest of each job, such
// as "fp8, cuda graphs layer".
struct JobParts {
  std::string common;
  std::vector<std::string> own;
};
JobParts split_jobs(const std::vector<std::string>& jobs);

}  // namespace pipewright::analysis
