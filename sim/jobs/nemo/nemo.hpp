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

// Reads and writes configurations of NeMo, Megatron-Bridge and MLPerf. They use mostly
// Megatron-LM's names, written with _ and in sections.
namespace pipewright::jobs::nemo {

// Format in which a configuration is written.
enum class Form : std::uint8_t {
  yaml,       // YAML or JSON
  python,     // recipes
  overrides,  // model.tensor_model_parallel_size=8
};
std::optional<Form> form_of(const SourceText& file);

// True for files of Megatron-Bridge or NeMo. Reading tells them apart: NeMo's have the section
// `trainer`.
bool recognise(const SourceText& file);
bool recognise_mlperf(const SourceText& file);  // config_*.sh

Job read_job(const JobInput& input);
Job read_mlperf_job(const JobInput& input);
Launch write_bridge(const LaunchInput& input);
Launch write_nemo(const LaunchInput& input);

// Entry of a configuration: dotted name and values, such as "model.tensor_model_parallel_size" and
// "8".
struct Named {
  std::string path;
  std::vector<std::string> values;
  std::string written;
  config::Origin origin;
};

// Reads a YAML configuration, and resolves its references ${..} to keys and variables.
std::vector<Named> read_yaml(const Source& source, const JobWords& words);
// Reads the assignments `cfg.model.x = y` of a Python recipe, from the function that the variable
// RECIPE names.
std::vector<Named> read_python(const Source& source, const JobWords& words, Request& request);
// Reads overrides such as model.tensor_model_parallel_size=8, from a text or from a script's
// command.
std::vector<Named> read_overrides(const Source& source, const JobWords& words, Request& request);
// Reads the variables of MLPerf's config_*.sh: export TENSOR_MODEL_PARALLEL=8.
std::vector<Named> read_mlperf(const Script& script, Request& request);

// Adds the entries of a configuration to a request, as settings with Megatron-LM's names.
void translate(std::span<const Named> named, Request& request);

// Name of the built-in model that occurs in the name of a recipe or file; empty if none does.
std::string model_in(std::string_view text);

// Finds the built-in model that a job uses, by the names of the job, of overrides and of the
// configuration. If the request sets the sizes of a model itself, it gets none.
void find_model(const JobInput& input, std::span<const Named> named, Request& request);

// Formats settings with Megatron-LM's names as overrides of Megatron-Bridge or NeMo:
// "model.num_moe_experts=8".
std::vector<std::string> overrides_of(std::span<const Setting> settings, bool for_nemo);

}  // namespace pipewright::jobs::nemo
