#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/setting_table.hpp"

namespace pipewright::jobs {

// Setting of a job, with the framework's name and values.
struct Setting {
  std::string name;                 // words joined by _: "tensor_model_parallel_size"
  std::vector<std::string> values;  // empty for a flag without a value
  std::string written;              // "--tensor-model-parallel-size 8"
  config::Origin origin;
};

// Program whose defaults and checks apply to settings with Megatron-LM's names. Recipes of NeMo,
// Megatron-Bridge and MLPerf have defaults of their own.
enum class Dialect : std::uint8_t { megatron, deepspeed, recipe };

// Settings that only the framework of a job has, beside those of Megatron-LM.
struct OwnSettings {
  const SettingTable* table = nullptr;  // those that are known and not used; null: none
  std::vector<std::string_view> names;  // those that are used, for suggestions
};

// Settings of a job and its number of GPUs, before they are translated into a scenario.
struct Request {
  Dialect dialect = Dialect::megatron;
  std::string name;
  std::vector<Setting> settings;  // in the order read; the last setting of a name holds
  std::optional<std::uint64_t> gpus;
  std::string gpus_from;  // "torchrun --nnodes 2 x --nproc_per_node 8"
  config::Origin gpus_origin;
  std::string model;  // model of the library that a recipe is named after
  std::vector<std::string> assumed;
  std::vector<Note> not_followed;  // constructs of scripts that may change what a program receives
  bool single = true;              // all settings come from one file
  OwnSettings own;
};

// "tensor_model_parallel_size" for "--tensor-model-parallel-size".
std::string flag_name(std::string_view word);
// "--tensor-model-parallel-size" for "tensor_model_parallel_size".
std::string flag_of(std::string_view name);

}  // namespace pipewright::jobs
