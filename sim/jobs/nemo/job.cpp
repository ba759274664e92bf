#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/model_names.hpp"

namespace pipewright::jobs::nemo {
namespace {

Recipe read_form(Form form, const Source& source, const JobWords& words, Request& request) {
  switch (form) {
    case Form::python:
      return read_python(source, words, request);
    case Form::overrides:
      return read_overrides(source, words, request);
    case Form::yaml:
      break;
  }
  return {.named = read_yaml(source, words), .unread = {}};
}

// Returns whether a file of Python uses the packages of Megatron-Bridge or NeMo.
bool imports_recipes(const SourceText& file) {
  return file.has("megatron.bridge") || file.has("nemo.collections");
}

// Returns whether a command starts a recipe of Megatron-Bridge or NeMo by its name.
bool starts_recipe(const SourceText& file) {
  return (file.has("--recipe") && (file.has("_config") || file.has("run_recipe"))) ||
         (file.has("--factory") && (file.has("llm pretrain") || file.has("llm finetune"))) ||
         file.has("--model_recipe_name");
}

}  // namespace

std::optional<Form> form_of(const SourceText& file) {
  if (file.is_json())
    return file.has("\"tensor_model_parallel_size\"") ? std::optional(Form::yaml) : std::nullopt;
  if (megatron::is_functional_test(file)) return std::nullopt;
  const bool has_names = file.has("tensor_model_parallel_size") || file.has("micro_batch_size") ||
                         file.has("global_batch_size") || file.has("tensor_parallelism");
  if (file.extension() == ".py")
    return has_names || imports_recipes(file) ? std::optional(Form::python) : std::nullopt;
  if (file.is_yaml())
    return has_names || file.has("trainer:") ? std::optional(Form::yaml) : std::nullopt;
  if (!file.may_be_shell()) return std::nullopt;
  if (file.has("model.") && has_names && file.has("=")) return Form::overrides;
  if (starts_recipe(file)) return Form::overrides;
  return std::nullopt;
}

bool recognise(const SourceText& file) { return form_of(file).has_value(); }

void find_model(std::span<const Named> named, Request& request) {
  const bool has_shape = std::ranges::any_of(
      request.settings, [](const Setting& setting) { return setting.name == "hidden_size"; });
  if (has_shape) {
    request.model.clear();
    return;
  }
  const Named* from = nullptr;  // last entry that names a model
  for (const Named& entry : named)
    if (!entry.values.empty() &&
        (entry.path.ends_with("model_name") || entry.path.ends_with("hf_model_id")))
      from = &entry;
  if (from == nullptr)
    for (const Named& entry : named)
      if (entry.path == "recipe" && !entry.values.empty()) from = &entry;
  if (from != nullptr) request.model = model_named(from->values.front());
  if (from == nullptr && request.model.empty()) request.model = model_named(request.name);
  if (request.model.empty() && from != nullptr)
    request.not_followed.push_back(
        {.text = from->written,
         .origin = from->origin,
         .why = fmt::format("the library has no model {}; {}", from->values.front(),
                            model_advice(from->values.front()))});
}

namespace {

// Adds the number of experts of the library's model, on which the meaning of other settings
// depends.
void add_experts(Request& request) {
  const bool has =
      std::ranges::find(request.settings, "num_experts", &Setting::name) != request.settings.end();
  if (request.model.empty() || has) return;
  const config::Value map =
      config::read_yaml_file(config::library_file("models", request.model, ".yaml").string());
  if (const config::Value* const count = config::value_at(map, "experts.count"))
    request.settings.push_back({.name = "num_experts",
                                .values = {count->text},
                                .written = request.model,
                                .origin = count->origin});
}

}  // namespace

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  std::vector<Named> named;
  std::vector<Unread> unread;
  std::vector<Source> flag_files;
  const auto read_source_of = [&](const Source& source, Form form) {
    Recipe recipe = read_form(form, source, input.words, request);
    for (Named& entry : recipe.named) named.push_back(std::move(entry));
    if (recipe.unread) unread.push_back(std::move(*recipe.unread));
  };
  // Overrides come after the recipes that they change.
  for (const bool are_recipes : {true, false})
    for (const Source& source : input.sources) {
      const std::optional<Form> form = form_of(SourceText(source));
      if (!form && are_recipes) flag_files.push_back(source);
      if (form && (*form == Form::python) == are_recipes) read_source_of(source, *form);
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
  translate(named, request);
  find_model(named, request);
  add_experts(request);
  for (const Unread& start : unread) check_is_read(start, named, request);
  apply_gpus(input.words, request);
  Job job = megatron::read(std::move(request));
  if (is_nemo) job.framework = "nemo";
  return job;
}

}  // namespace pipewright::jobs::nemo
