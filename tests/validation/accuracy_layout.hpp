#pragma once

#include <cstdint>
#include <string>

namespace pipewright::accuracy {

// A run of Megatron-LM as tables publish it: what is cut how, in samples and GPUs.
struct Layout {
  std::string model;       // of platforms/models, or a map
  std::string node;        // of `pipewright platform make`
  std::string stack = {};  // of platforms/stacks, or a map; empty: the default
  std::uint32_t tp = 1, cp = 1, pp = 1, dp = 1;
  std::uint32_t ep = 0;      // of experts; 0: there are none
  std::uint32_t etp = 1;     // and what each is cut in
  std::uint32_t chunks = 1;  // of interleaved 1F1B
  std::uint32_t microbatch = 1, microbatches = 1;
  std::uint32_t sequence = 0;      // tokens; 0: the model's
  bool sequence_parallel = true;   // where tp > 1
  std::uint32_t zero = 1;          // the distributed optimizer
  bool fsdp = false;               // instead: weights in shards over dp, layer by layer
  std::string partition = "even";  // or ends_less, as account_for_embedding_in_pipeline_split
  std::string training = {};       // ", key: value" of it
  std::string communication = {};  // "key: value" of it
  std::string modules = {};        // the same
  std::uint32_t gpus() const { return tp * cp * pp * dp; }
};

// Of NVIDIA's tables: "FP8-MX" is mxfp8, "DGX-GB200" gb200-nvl72. Empty: not known here.
std::string recipe_of(const std::string& published);
std::string node_named(const std::string& published);

// As YAML, one replica for all.
std::string scenario_of(const Layout& layout);

}  // namespace pipewright::accuracy
