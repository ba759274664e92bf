#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/recognise.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs {
namespace {

constexpr config::Document test_document{"a functional test", "MODEL_ARGS", "--micro-batch-size: 4",
                                         true};

Framework framework_of(Kind kind) {
  switch (kind) {
    case Kind::yaml:
    case Kind::python:
    case Kind::overrides:
      return Framework::bridge;
    case Kind::mlperf:
      return Framework::mlperf;
    case Kind::torchtitan:
      return Framework::torchtitan;
    case Kind::deepspeed:
      return Framework::deepspeed;
    default:
      return Framework::megatron;
  }
}

// MODEL_ARGS of a functional test: flags as keys.
void read_functional_test(const Source& source, Request& request) {
  const config::Value tree = config::read_yaml_text(source.text, source.name, test_document);
  const config::Value* const arguments = config::find(tree, "MODEL_ARGS");
  if (arguments == nullptr || arguments->kind != config::Value::Kind::map)
    throw config::Error(fmt::format("{}: MODEL_ARGS is no map of flags", source.name));
  for (const config::Entry& entry : arguments->entries) {
    Setting setting{.name = flag_name(entry.key), .origin = entry.origin};
    const config::Value& value = entry.value;
    if (value.kind == config::Value::Kind::text) setting.values = {value.text};
    for (const config::Value& item : value.items) setting.values.push_back(item.text);
    // "[a b]" is a list of words.
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

std::vector<nemo::Named> read_named(Kind kind, const Source& source, const JobWords& words,
                                    Request& request) {
  switch (kind) {
    case Kind::python:
      return nemo::read_python(source, words, request);
    case Kind::overrides:
      return nemo::read_overrides(source, words, request);
    default:
      return nemo::read_yaml(source, words);
  }
}

// The name of a job: that of its file, of a model_config.yaml that of its folder.
std::string name_of(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  return stem == "model_config" && path.has_parent_path() ? path.parent_path().filename().string()
                                                          : stem;
}

// A configuration of DeepSpeed that a script writes, whose lines are the script's.
void read_inside(const Source& inside, int line, Request& request) {
  const std::size_t before = request.settings.size();
  deepspeed::read_config(inside, request);
  for (std::size_t i = before; i < request.settings.size(); ++i)
    request.settings[i].origin.line += line - 1;
}

Request read_request(const std::vector<Source>& sources, const std::vector<Kind>& kinds,
                     const JobWords& words) {
  Request request{.framework = framework_of(kinds.back()), .name = name_of(sources.back().name)};
  std::vector<Source> scripts;
  std::vector<nemo::Named> named;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (kinds[i] == Kind::deepspeed) continue;  // after the flags
    if (kinds[i] == Kind::script || kinds[i] == Kind::mlperf) {
      scripts.push_back(sources[i]);
    } else if (kinds[i] == Kind::torchtitan) {
      for (Setting& one : torchtitan::settings_of(sources[i]))
        request.settings.push_back(std::move(one));
    } else if (kinds[i] == Kind::functional_test) {
      read_functional_test(sources[i], request);
    } else {
      for (nemo::Named& one : read_named(kinds[i], sources[i], words, request))
        named.push_back(std::move(one));
    }
  }
  if (!scripts.empty()) {
    const Script script = run_scripts(scripts, words);
    if (request.framework == Framework::mlperf) {
      named = nemo::read_mlperf(script, request);
    } else {
      Request launched = read_launch(script, scripts.back().name);
      launched.framework = request.framework;
      const bool by_deepspeed = std::ranges::any_of(
          launched.settings, [](const Setting& one) { return one.name == "deepspeed"; });
      if (by_deepspeed) launched.framework = Framework::deepspeed;
      for (const Word& document : script.documents) {
        const Source inside{document.origin.source, document.text};
        if (by_deepspeed && kind_of(inside) == Kind::deepspeed && !unknown_in(document.text))
          read_inside(inside, document.origin.line, launched);
      }
      for (Setting& one : request.settings) launched.settings.push_back(std::move(one));
      launched.name = request.name;
      if (request.framework == Framework::torchtitan) launched.settings = request.settings;
      request = std::move(launched);
    }
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (kinds[i] == Kind::deepspeed) {
      request.framework = Framework::deepspeed;
      deepspeed::read_config(sources[i], request);
    }
  if (!named.empty()) {
    const bool trainer = std::ranges::any_of(
        named, [](const nemo::Named& one) { return one.path.starts_with("trainer."); });
    if (trainer && request.framework == Framework::bridge) request.framework = Framework::nemo;
    nemo::translate(named, request);
  }
  const bool shaped = std::ranges::any_of(
      request.settings, [](const Setting& one) { return one.name == "hidden_size"; });
  if (request.framework == Framework::megatron || request.framework == Framework::torchtitan ||
      request.framework == Framework::deepspeed || shaped) {
    request.model.clear();
  } else if (request.model.empty()) {
    request.model = nemo::model_in(request.name);
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (request.model.empty() && kinds[i] == Kind::overrides)
        request.model = nemo::model_in(sources[i].text);
    if (request.model.empty())
      for (const nemo::Named& one : named)
        if (request.model.empty() && (one.path == "recipe" || one.path.ends_with("model_name") ||
                                      one.path.ends_with("hf_model_id")))
          request.model = nemo::model_in(one.values.empty() ? "" : one.values.front());
  }
  request.single = sources.size() == 1;
  return request;
}

}  // namespace

std::optional<Framework> recognise(const std::string& file) {
  const std::optional<Kind> kind = kind_of(read_source(file));
  if (!kind) return std::nullopt;
  return framework_of(*kind);
}

Job import_job(std::span<const std::string> files, const JobWords& words) {
  std::vector<Source> sources;
  std::vector<Kind> kinds;
  std::string gpu;
  for (const std::string& file : files) {
    sources.push_back(read_source(file));
    const std::optional<Kind> kind = kind_of(sources.back());
    // A file that only others make sense of, such as one that sets variables.
    kinds.push_back(kind.value_or(Kind::script));
    if (!kind && files.size() == 1)
      throw config::Error(fmt::format(
          "{}: is no job that is known: a script with flags of Megatron-LM, a configuration of "
          "NeMo, Megatron-Bridge, MLPerf, torchtitan or DeepSpeed",
          file));
    if (gpu.empty()) gpu = gpu_in(std::filesystem::path(file).filename().string());
  }
  Request request = read_request(sources, kinds, words);
  if (words.gpus) {
    request.gpus = words.gpus;
    request.gpus_from = fmt::format("--gpus {}", *words.gpus);
    request.gpus_origin = {.source = "--gpus"};
  }
  if (request.framework == Framework::deepspeed) deepspeed::settle(request);
  if (gpu.empty()) gpu = gpu_in(request.name);
  Job job = request.framework == Framework::torchtitan ? torchtitan::read(std::move(request))
                                                       : megatron::read(std::move(request));
  if (job.gpu.empty()) job.gpu = gpu;
  for (const auto& [name, value] : words.variables)
    if (name != "RECIPE" && std::ranges::none_of(sources, [&](const Source& source) {
          return source.text.find(name) != std::string::npos;
        }))
      job.not_understood.push_back(
          {.text = fmt::format("{}={}, as no file has the name", name, value), .origin = {}});
  return job;
}

}  // namespace pipewright::jobs
