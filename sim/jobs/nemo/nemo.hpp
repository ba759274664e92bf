#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

// NeMo, Megatron-Bridge and MLPerf's configurations: mostly Megatron-LM's names, joined by _ and in
// sections.
namespace pipewright::jobs::nemo {

// A dotted name and its value, "model.tensor_model_parallel_size" and "8".
struct Named {
  std::string path;
  std::vector<std::string> values;
  std::string written;
  config::Origin origin;
};

// A YAML configuration; ${..} that refer to other keys or to variables are put in.
std::vector<Named> read_yaml(const Source& source, const JobWords& words);
// `cfg.model.x = y` of a recipe in Python, of the function that the variable RECIPE names.
std::vector<Named> read_python(const Source& source, const JobWords& words, Request& request);
// Words such as model.tensor_model_parallel_size=8, in a text or in a script's command.
std::vector<Named> read_overrides(const Source& source, const JobWords& words, Request& request);
// config_*.sh of MLPerf: export TENSOR_MODEL_PARALLEL=8.
std::vector<Named> read_variables(const Script& script);
std::vector<Named> read_mlperf(const Script& script, Request& request);

// The same as settings by Megatron-LM's names.
void translate(std::span<const Named> named, Request& request);

// The model of the library that a recipe's or file's name has in it; empty if none.
std::string model_in(std::string_view text);

// How Megatron-Bridge, or NeMo, writes settings of Megatron-LM: "model.num_moe_experts=8", ...
std::vector<std::string> overrides_of(std::span<const Setting> settings, bool for_nemo);

}  // namespace pipewright::jobs::nemo
