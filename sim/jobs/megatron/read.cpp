#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/frozen.hpp"
#include "sim/jobs/request/lora.hpp"
#include "sim/jobs/request/zero_offload.hpp"
#include "sim/jobs/shell/script.hpp"
#include "sim/jobs/shell/split.hpp"

namespace pipewright::jobs::megatron {
namespace {

constexpr config::Document functional_test{"a functional test", "MODEL_ARGS",
                                           "--micro-batch-size: 4", true};

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Counts the flags of a text that are known. YAML's "---" is not a flag.
int count_known_flags(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    if (at > 0 && is_word_character(text[at - 1])) continue;
    std::size_t end = at + 2;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (end > at + 4 && is_known_flag(flag_name(text.substr(at, end - at)))) ++count;
  }
  return count;
}

void read_functional_test(const Source& source, const JobWords& words, Request& request) {
  config::Value tree = read_yaml(source, functional_test, words);
  const config::Value* const arguments = config::find(tree, "MODEL_ARGS");
  if (arguments == nullptr || arguments->kind != config::Value::Kind::map)
    throw config::Error(fmt::format("{}: MODEL_ARGS is not a map of flags", source.name));
  for (const config::Entry& entry : arguments->entries) {
    Setting setting{.name = flag_name(entry.key), .origin = entry.origin};
    const config::Value& value = entry.value;
    if (value.kind == config::Value::Kind::text) setting.values = {value.text};
    for (const config::Value& item : value.items) setting.values.push_back(item.text);
    // Values such as "[a b]" are lists of words.
    if (setting.values.size() == 1 && setting.values.front().starts_with('[') &&
        setting.values.front().ends_with(']') &&
        setting.values.front().find('*') == std::string::npos) {
      const std::string inside =
          setting.values.front().substr(1, setting.values.front().size() - 2);
      if (inside.find(',') == std::string::npos) {
        setting.values.clear();
        for (const Word& word : split_words({inside, entry.origin}))
          setting.values.push_back(word.text);
      }
    }
    setting.written = fmt::format("{} {}", entry.key, fmt::join(setting.values, " "));
    if (setting.values.size() == 1 && setting.values.front() == "true") {
      setting.values.clear();
      setting.written = entry.key;
    } else if (setting.values.size() == 1 && setting.values.front() == "false") {
      continue;  // the test's launcher leaves the flag out
    }
    request.settings.push_back(std::move(setting));
  }
}

}  // namespace

bool is_functional_test(const SourceText& file) {
  return !file.is_json() && file.has("MODEL_ARGS:");
}

bool is_script(const SourceText& file) {
  constexpr int min_flags = 2;
  return file.may_be_shell() && count_known_flags(file.text()) >= min_flags;
}

bool recognise(const SourceText& file) {
  return is_functional_test(file) || is_script(file) || has_printed_arguments(file.text());
}

namespace {

// Returns whether layers are of Transformer Engine, which Megatron-LM has run since December 2022.
// Only these layers compute in FP8.
bool has_transformer_engine(const Request& request) {
  return std::ranges::any_of(request.settings, [](const Setting& setting) {
    return setting.name.starts_with("fp8_") ||
           (setting.name == "transformer_impl" && !setting.values.empty() &&
            setting.values.front() == "transformer_engine");
  });
}

}  // namespace

bool is_older(const Request& request) {
  constexpr std::array<std::string_view, 9> older{"activations_checkpoint_method",
                                                  "activations_checkpoint_num_layers",
                                                  "checkpoint_activations",
                                                  "checkpoint_num_layers",
                                                  "distribute_checkpointed_activations",
                                                  "DDP_impl",
                                                  "model_parallel_size",
                                                  "no_contiguous_buffers_in_local_ddp",
                                                  "use_contiguous_buffers_in_ddp"};
  const auto has = [&](std::string_view name) {
    return std::ranges::find(request.settings, name, &Setting::name) != request.settings.end();
  };
  if (request.dialect == Dialect::deepspeed) return has("num_layers") && has("hidden_size");
  return request.dialect == Dialect::megatron && std::ranges::any_of(older, has) &&
         !has_transformer_engine(request);
}

bool has_argument_defaults(const Draft& draft) {
  return draft.request().dialect != Dialect::recipe;
}

FileSettings read_files(const JobInput& input) {
  FileSettings result{.request = empty_request(input), .script = {}};
  std::vector<Source> scripts;
  std::vector<Source> tests;
  std::vector<Source> logs;
  for (const Source& source : input.sources) {
    const SourceText text(source);
    if (is_functional_test(text))
      tests.push_back(source);
    else
      (has_printed_arguments(text.text()) ? logs : scripts).push_back(source);
  }
  if (!scripts.empty()) {
    result.script = run_scripts(scripts, input.words);
    Request launched = read_launch(result.script, scripts.back().name);
    launched.name = result.request.name;
    launched.single = result.request.single;
    result.request = std::move(launched);
  }
  for (const Source& log : logs) read_printed_arguments(log, result.request);
  for (const Source& test : tests) read_functional_test(test, input.words, result.request);
  return result;
}

Job read_job(const JobInput& input) {
  Request request = read_files(input).request;
  apply_gpus(input.words, request);
  const bool was_older = is_older(request);
  Job job = read(std::move(request));
  if (was_older) name_stack(job, older_stack);
  return job;
}

namespace {

// Names of frozen parts in Megatron-LM's examples/multimodal.
constexpr std::array frozen_names{FrozenName{"freeze_LM", "freeze_language_model"},
                                  FrozenName{"freeze_ViT", "freeze_vision_model"}};

// Throws config::Error if a job freezes weights of some layers.
void check_no_layers_frozen(const Request& request) {
  for (const std::string_view name : {"freeze_all_layers", "freeze_base_model"}) {
    const Setting* last = nullptr;
    for (const Setting& setting : request.settings)
      if (setting.name == name) last = &setting;
    if (last != nullptr && (last->values.empty() || !is_off(last->values.front())))
      throw refusal(*last, frozen_is_not_modelled);
  }
}

}  // namespace

Job read(Request request) {
  check_no_layers_frozen(request);
  rename_frozen(frozen_names, {}, request);
  const bool has_shape = request.model.empty();
  Draft draft(std::move(request));
  const Request& job = draft.request();
  const bool is_named = draft.find("hidden_size") != nullptr || job.dialect == Dialect::megatron;
  if (!has_shape)
    draft.set("model", config::make_text(job.model, {.source = job.name}), "by its name");
  else if (is_named)
    draft.set("model.name", job.name, "the file's");
  else
    draft.lacks("model");
  read_flags(flags(), draft, has_argument_defaults(draft) && (is_named || !has_shape));
  if (draft.request().dialect == Dialect::deepspeed) read_flags(zero_offload_flags, draft, false);
  if (draft.request().dialect == Dialect::recipe) read_flags(lora_flags, draft, false);
  read_flags(frozen_flags, draft, false);
  draft.sort_rest(known_settings(), names_of(flags()));
  // Hybrids without attention have no heads.
  const config::Value* const pattern = draft.at("model.pattern");
  const bool has_heads =
      pattern == nullptr || pattern->text.find_first_of("*S+") != std::string::npos;
  if (has_shape && is_named)
    for (const std::string_view key : {"model.hidden", "model.heads", "model.sequence"})
      if (draft.at(key) == nullptr && (has_heads || key != "model.heads"))
        draft.lacks(std::string(key));
  return draft.take();
}

}  // namespace pipewright::jobs::megatron
