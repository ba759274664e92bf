#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/nemo.hpp"

namespace pipewright::jobs::nemo {
namespace {

std::vector<Named> read_form(Form form, const Source& source, const JobWords& words,
                             Request& request) {
  switch (form) {
    case Form::python:
      return read_python(source, words, request);
    case Form::overrides:
      return read_overrides(source, words, request);
    case Form::yaml:
      break;
  }
  return read_yaml(source, words);
}

// Returns whether a file with similar keys belongs to a framework whose jobs are not read: NeMo
// Automodel or nanotron.
bool is_of_others(const SourceText& file) {
  return file.has("nemo_automodel.") || file.has("pp_engine:");
}

// Settings in which a configuration of Primus names the framework below it, and the file of the
// model.
constexpr std::string_view primus_framework = "modules.pre_trainer.framework";
constexpr std::string_view primus_model = "modules.pre_trainer.model";

bool is_primus(std::span<const Named> named) {
  return std::ranges::any_of(named, [](const Named& entry) {
    return entry.path == primus_framework && entry.values == std::vector<std::string>{"megatron"};
  });
}

// Reads the settings of Primus itself, and removes them from those of Megatron-LM.
void read_primus(std::vector<Named>& named, Request& request) {
  std::erase_if(named, [&](const Named& entry) {
    if (entry.path == primus_framework) return true;
    if (entry.path != primus_model || entry.values.empty()) return false;
    request.model = model_in(entry.values.front());
    return !request.model.empty();
  });
}

}  // namespace

std::optional<Form> form_of(const SourceText& file) {
  if (is_of_others(file)) return std::nullopt;
  if (file.is_json())
    return file.has("\"tensor_model_parallel_size\"") ? std::optional(Form::yaml) : std::nullopt;
  if (megatron::is_functional_test(file)) return std::nullopt;
  const bool has_names = file.has("tensor_model_parallel_size") || file.has("micro_batch_size") ||
                         file.has("global_batch_size") || file.has("tensor_parallelism");
  if (file.extension() == ".py") return has_names ? std::optional(Form::python) : std::nullopt;
  if (file.is_yaml())
    return has_names || file.has("trainer:") ? std::optional(Form::yaml) : std::nullopt;
  if (file.may_be_shell() && file.has("model.") && has_names && file.has("="))
    return Form::overrides;
  return std::nullopt;
}

bool recognise(const SourceText& file) { return form_of(file).has_value(); }

void find_model(const JobInput& input, std::span<const Named> named, Request& request) {
  const bool has_shape = std::ranges::any_of(
      request.settings, [](const Setting& setting) { return setting.name == "hidden_size"; });
  if (has_shape) {
    request.model.clear();
    return;
  }
  if (request.model.empty()) request.model = model_in(request.name);
  for (const Source& source : input.sources)
    if (request.model.empty() && form_of(SourceText(source)) == Form::overrides)
      request.model = model_in(source.text);
  for (const Named& entry : named)
    if (request.model.empty() && (entry.path == "recipe" || entry.path.ends_with("model_name") ||
                                  entry.path.ends_with("hf_model_id")))
      request.model = model_in(entry.values.empty() ? "" : entry.values.front());
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  std::vector<Named> named;
  std::vector<Source> flag_files;
  for (const Source& source : input.sources) {
    const std::optional<Form> form = form_of(SourceText(source));
    if (!form) {
      flag_files.push_back(source);
      continue;
    }
    for (Named& entry : read_form(*form, source, input.words, request))
      named.push_back(std::move(entry));
  }
  if (!flag_files.empty()) {
    Request flags = megatron::read_files({flag_files, input.words}).request;
    flags.name = request.name;
    flags.single = false;
    request = std::move(flags);
  }
  request.dialect = Dialect::recipe;
  const bool is_nemo = std::ranges::any_of(
      named, [](const Named& entry) { return entry.path.starts_with("trainer."); });
  const bool of_primus = is_primus(named);
  if (of_primus) read_primus(named, request);
  translate(named, request);
  find_model(input, named, request);
  apply_gpus(input.words, request);
  Job job = megatron::read(std::move(request));
  if (is_nemo) job.framework = "nemo";
  if (of_primus) job.framework = "primus";
  return job;
}

}  // namespace pipewright::jobs::nemo
