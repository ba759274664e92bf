#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

// Configurations of NeMo, Megatron-Bridge and MLPerf: mostly Megatron-LM's names, joined by _ and
// in sections.
namespace pipewright::jobs::nemo {

// Form of a configuration.
enum class Form : std::uint8_t {
  yaml,       // YAML or JSON
  python,     // recipes
  overrides,  // model.tensor_model_parallel_size=8
};
std::optional<Form> form_of(const SourceText& file);

// Megatron-Bridge's files, and NeMo's: keys in the section `trainer` tell NeMo's when they are
// read.
bool recognise(const SourceText& file);
bool recognise_mlperf(const SourceText& file);  // config_*.sh

Job read_job(const JobInput& input);
Job read_mlperf_job(const JobInput& input);
Launch write_bridge(const LaunchInput& input);
Launch write_nemo(const LaunchInput& input);

// Dotted name and values of a configuration: "model.tensor_model_parallel_size" and "8".
struct Named {
  std::string path;
  std::vector<std::string> values;
  std::string written;
  config::Origin origin;
};

// Reads a YAML configuration, and resolves its references ${..} to keys and variables.
std::vector<Named> read_yaml(const Source& source, const JobWords& words);
// Reads `cfg.model.x = y` of a Python recipe: of the function that the variable RECIPE names.
std::vector<Named> read_python(const Source& source, const JobWords& words, Request& request);
// Reads words such as model.tensor_model_parallel_size=8 of a text or of a script's command.
std::vector<Named> read_overrides(const Source& source, const JobWords& words, Request& request);
// Reads the variables of MLPerf's config_*.sh: export TENSOR_MODEL_PARALLEL=8.
std::vector<Named> read_mlperf(const Script& script, Request& request);

// Adds names and values to a request, as settings with Megatron-LM's names.
void translate(std::span<const Named> named, Request& request);

// Model of the library whose name is part of a recipe's or file's name; empty if there is none.
std::string model_in(std::string_view text);

// Removes the model of a request that sets the shape of one; else finds it by the names of the job,
// of overrides and of the configuration.
void find_model(const JobInput& input, std::span<const Named> named, Request& request);

// Settings with Megatron-LM's names as overrides of Megatron-Bridge or NeMo:
// "model.num_moe_experts=8".
std::vector<std::string> overrides_of(std::span<const Setting> settings, bool for_nemo);

}  // namespace pipewright::jobs::nemo
