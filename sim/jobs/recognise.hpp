#pragma once

#include <cstdint>
#include <optional>

#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// What a file of a job is, in which form.
enum class Kind : std::uint8_t {
  script,           // of Megatron-LM, or a command line
  functional_test,  // YAML with MODEL_ARGS
  yaml,             // a configuration of NeMo or Megatron-Bridge
  python,           // a recipe
  overrides,        // model.tensor_model_parallel_size=8
  mlperf,           // config_*.sh
  torchtitan,
  deepspeed,
};

// By what it holds; none of what is no job, such as a scenario of this program.
std::optional<Kind> kind_of(const Source& source);

}  // namespace pipewright::jobs
