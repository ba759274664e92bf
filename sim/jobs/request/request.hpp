#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/job.hpp"

namespace pipewright::jobs {

// One thing that a job asks, in the framework's words.
struct Setting {
  std::string name;                 // joined by _, "tensor_model_parallel_size"
  std::vector<std::string> values;  // none of a flag that stands alone
  std::string written;              // "--tensor-model-parallel-size 8"
  config::Origin origin;
};

// What files ask, before anybody knows what it means.
struct Request {
  Framework framework = Framework::megatron;
  std::string name;
  std::vector<Setting> settings;  // in the order read; the last of a name holds
  std::optional<std::uint64_t> gpus;
  std::string gpus_from;  // "torchrun --nnodes 2 x --nproc_per_node 8"
  config::Origin gpus_origin;
  std::string model;  // of the library, that a recipe is named after
  std::vector<std::string> assumed;
  bool single = true;  // whether all comes from one file
};

// "tensor_model_parallel_size" of "--tensor-model-parallel-size".
std::string flag_name(std::string_view word);
// And back.
std::string flag_of(std::string_view name);

}  // namespace pipewright::jobs
