#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letters.hpp"
#include "sim/jobs/automodel/automodel.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nanotron/nanotron.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/neox/neox.hpp"
#include "sim/jobs/primus/primus.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/swift/swift.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"
#include "sim/jobs/trainer/trainer.hpp"
#include "sim/jobs/unsupported.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::array<std::string_view, 6> megatron_stacks{
    "megatron-core", "megatron-local", "megatron-bridge", "nemo-2", "megatron-lm-2022", "primus"};
constexpr std::array<std::string_view, 2> torchtitan_stacks{"torchtitan", "torchtitan-eager"};
constexpr std::array<std::string_view, 1> deepspeed_stacks{megatron::older_stack};

constexpr std::array framework_rows{
    Framework{.name = "megatron",
              .title = "Megatron-LM",
              .files = "a script or a command line; YAML of its functional tests",
              .stack = "megatron-core",
              .stacks = megatron_stacks,
              .recognise = megatron::recognise,
              .read = megatron::read_job,
              .settings = megatron::setting_names,
              .write = megatron::write_script,
              .check = megatron::check_layout,
              .on_search_page = true},
    Framework{.name = "bridge",
              .title = "Megatron-Bridge",
              .files = "overrides (model.tensor_model_parallel_size=8), YAML or Python recipes",
              .stack = "megatron-bridge",
              .stacks = megatron_stacks,
              .recognise = nemo::recognise,
              .read = nemo::read_job,
              .settings = nemo::setting_names,
              .write = nemo::write_bridge,
              .check = megatron::check_recipe,
              .writes_adapters = true,
              .on_search_page = true},
    Framework{.name = "nemo",
              .title = "NeMo",
              .files = "YAML with the sections trainer and model",
              .stack = "nemo-2",
              .stacks = megatron_stacks,
              .read = nemo::read_job,
              .settings = nemo::setting_names,
              .write = nemo::write_nemo,
              .check = megatron::check_recipe},
    Framework{.name = "primus",
              .title = "Primus",
              .files = "YAML with the section modules.pre_trainer",
              .stack = "primus",
              .stacks = megatron_stacks,
              .recognise = primus::recognise,
              .read = primus::read_job,
              .settings = nemo::setting_names,
              .check = megatron::check_stages},
    Framework{.name = "mlperf",
              .title = "MLPerf",
              .files = "config_*.sh",
              .stack = "nemo-2",
              .stacks = megatron_stacks,
              .recognise = nemo::recognise_mlperf,
              .read = nemo::read_mlperf_job,
              .settings = nemo::setting_names,
              .check = megatron::check_recipe},
    Framework{.name = "torchtitan",
              .title = "torchtitan",
              .files = "TOML, or its configuration as JSON",
              .stack = "torchtitan",
              .stacks = torchtitan_stacks,
              .recognise = torchtitan::recognise,
              .read = torchtitan::read_job,
              .settings = torchtitan::setting_names,
              .write = torchtitan::write,
              .on_search_page = true},
    Framework{.name = "deepspeed",
              .title = "DeepSpeed",
              .files = "its JSON, with the script that names it",
              .stack = "deepspeed",
              .stacks = deepspeed_stacks,
              .recognise = deepspeed::recognise,
              .read = deepspeed::read_job,
              .settings = deepspeed::setting_names,
              .write = deepspeed::write,
              .on_search_page = true},
    Framework{.name = "trainer",
              .title = "Transformers",
              .files = "scripts with the Trainer's arguments, with DeepSpeed's JSON",
              .stack = "pytorch-fsdp",
              .recognise = trainer::starts_program,
              .read = trainer::read_program,
              .settings = trainer::setting_names,
              .takes_deepspeed_json = true},
    Framework{.name = "swift",
              .title = "ms-swift",
              .files = "scripts with megatron sft, megatron pt, swift sft or swift pt",
              .stack = "megatron-core",
              .stacks = megatron_stacks,
              .recognise = swift::recognise,
              .read = swift::read_job,
              .settings = trainer::setting_names,
              .check = megatron::check_layout,
              .takes_deepspeed_json = true},
    Framework{.name = "llamafactory",
              .title = "LLaMA-Factory",
              .files = "YAML of full training or LoRA, with DeepSpeed's JSON",
              .stack = "pytorch-fsdp",
              .recognise = trainer::recognise,
              .read = trainer::read_job,
              .settings = trainer::setting_names,
              .takes_deepspeed_json = true},
    Framework{.name = "automodel",
              .title = "Automodel",
              .files = "YAML of full training or LoRA",
              .stack = "automodel",
              .recognise = automodel::recognise,
              .read = automodel::read_job,
              .settings = automodel::setting_names},
    Framework{.name = "nanotron",
              .title = "nanotron",
              .files = "YAML with the sections parallelism and tokens",
              .stack = "nanotron",
              .recognise = nanotron::recognise,
              .read = nanotron::read_job,
              .settings = nanotron::setting_names},
    Framework{.name = "neox",
              .title = "GPT-NeoX",
              .files = "YAML of a model, and of a machine",
              .stack = "deepspeed",
              .recognise = neox::recognise,
              .read = neox::read_job,
              .settings = neox::setting_names},
};

const Framework* recognise_source(const Source& source) {
  // Configurations that are not read may have words of those that are.
  check_supported(source);
  const SourceText text(source);
  const Framework* framework = nullptr;
  for (const Framework& row : framework_rows)
    if (row.recognise != nullptr && row.recognise(text)) framework = &row;
  return framework;
}

// Throws config::Error if a file belongs to another framework than the job. Only scripts with
// Megatron-LM's flags may accompany the files of every framework, and DeepSpeed's JSON those of
// frameworks that run DeepSpeed.
void check_frameworks(std::span<const Source> sources, const Framework& framework) {
  const auto accompanies = [&](const Source& source, const Framework& row) {
    return &row == framework_rows.data() ||
           (framework.takes_deepspeed_json && row.read == deepspeed::read_job &&
            SourceText(source).is_json());
  };
  for (const Source& source : sources)
    if (const Framework* const row = recognise_source(source);
        row != nullptr && row != &framework && !accompanies(source, *row))
      throw config::Error(fmt::format("{}: a file of {}, beside files of {}", source.name,
                                      row->title, framework.title))
          .suggest("give the files of one job");
}

// Framework of a job: of the frameworks of its files, the last in the table. Files that no
// framework recognises, such as scripts that only set variables, are accepted beside others.
const Framework& framework_of(std::span<const Source> sources) {
  const Framework* framework = nullptr;
  for (const Source& source : sources)
    if (const Framework* const row = recognise_source(source))
      framework = framework == nullptr ? row : std::max(framework, row);
  if (framework != nullptr) {
    check_frameworks(sources, *framework);
    return *framework;
  }
  std::vector<std::string_view> titles;
  for (const Framework& row : framework_rows) titles.push_back(row.title);
  throw config::Error(fmt::format("{}: no known job", sources.front().name))
      .allow(fmt::format("files of {}", fmt::join(titles, ", ")));
}

// Sets the stack and the placement that the heading of one of the files states, as launches of
// predictions do. A stack of other software is not one of the job's. Else the job has the stack of
// its framework.
void set_stated(std::span<const Source> sources, const Framework& framework, Job& job) {
  std::string_view stack = framework.stack;
  Stated stated;
  for (const Source& source : sources) {
    Stated of_file = stated_in(source.text);
    if (!of_file.stack.empty()) stated.stack = std::move(of_file.stack);
    if (!of_file.domain.empty()) stated.domain = std::move(of_file.domain);
  }
  if (std::ranges::find(framework.stacks, stated.stack) != framework.stacks.end())
    stack = stated.stack;
  name_stack(job, stack);
  if (stated.domain.empty()) return;
  config::set_value(job.tree, "placement.domain",
                    config::make_text(stated.domain, {.source = job.name}));
  job.comments["placement.domain"] = "the heading of the launch";
}

// Letters and digits of a name: "llamafactory" for "LLaMA-Factory".
std::string plain(std::string_view name) {
  std::string text = base::lowercase(name);
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text;
}

}  // namespace

std::span<const Framework> frameworks() { return framework_rows; }

const Framework* find_framework(std::string_view name) {
  const auto row = std::ranges::find_if(framework_rows, [&](const Framework& framework) {
    return plain(framework.name) == plain(name) || plain(framework.title) == plain(name);
  });
  return row == framework_rows.end() ? nullptr : &*row;
}

const Framework* find_writable_framework(std::string_view name) {
  const Framework* const framework = find_framework(name);
  return framework == nullptr || framework->write == nullptr ? nullptr : framework;
}

namespace {

// Throws config::Error if a launch would leave out the adapters that a scenario trains, and train
// all weights instead.
void check_adapters(const config::Scenario& scenario, const Framework& framework) {
  if (!scenario.training.lora || framework.writes_adapters) return;
  std::vector<std::string_view> names;
  for (const Framework& row : framework_rows)
    if (row.writes_adapters) names.push_back(row.name);
  throw config::Error(
      fmt::format("the scenario trains adapters (training.lora), which no launch of {} has",
                  framework.title))
      .suggest(fmt::format("write the launch for {}", fmt::join(names, " or ")));
}

}  // namespace

std::string writable_frameworks() {
  std::vector<std::string_view> names;
  for (const Framework& row : framework_rows)
    if (row.write != nullptr) names.push_back(row.name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

const Framework* recognise(const std::string& file) { return recognise_source(read_source(file)); }

Job import_job(std::span<const std::string> files, const JobWords& words) {
  std::vector<Source> sources;
  std::string gpu;
  for (const std::string& file : files) {
    sources.push_back(read_source(file));
    if (gpu.empty()) gpu = gpu_in(std::filesystem::path(file).filename().string());
  }
  const Framework& framework = framework_of(sources);
  Job job = framework.read({sources, words});
  if (job.framework.empty()) job.framework = framework.name;
  set_stated(sources, *find_framework(job.framework), job);
  check_layout(job, job.tree);
  if (gpu.empty()) gpu = gpu_in(job.name);
  if (job.gpu.empty()) job.gpu = gpu;
  // A variable such as OMP_NUM_THREADS counts although no file names it.
  const auto sets_key = [&job](const std::string& name) {
    return std::ranges::any_of(job.comments, [&](const auto& comment) {
      return comment.second.find(name + "=") != std::string::npos;
    });
  };
  const auto is_of_recipe = [&framework](const std::string& name) {
    return framework.read == nemo::read_job && (name == "RECIPE" || name == "PACKAGE");
  };
  for (const auto& [name, value] : words.variables)
    if (!is_of_recipe(name) && !sets_key(name) &&
        std::ranges::none_of(sources, [&](const Source& source) {
          return source.text.find(name) != std::string::npos;
        }))
      job.not_modelled.push_back({.text = fmt::format("{}={}", name, value),
                                  .origin = {},
                                  .changes = Changes::unknown,
                                  .why = "no file has the name"});
  return job;
}

void check_layout(const Job& job, const config::Value& tree) {
  const Framework* const framework = find_framework(job.framework);
  if (framework != nullptr && framework->check != nullptr) framework->check(tree);
}

Launch export_job(const config::Scenario& scenario, const Framework& framework,
                  const config::LaunchPlan& plan) {
  if (!scenario.model)
    throw config::Error(
        fmt::format("{} needs a model, and the scenario has pass times alone", framework.title))
        .suggest("give --model");
  if (const auto& sizes = scenario.parallel.tp_by_device; !sizes.empty())
    throw config::Error(
        sizes.front().origin,
        fmt::format("parallel.tp_by_device is {}, but a job of {} has one tp for all devices",
                    scenario.parallel.tp_text(), framework.title))
        .allow("parallel.tp, or no --launch");
  if (framework.write == nullptr)
    throw config::Error(fmt::format("launches of {} are not written", framework.title))
        .allow(writable_frameworks());
  check_adapters(scenario, framework);
  const bool is_foreign =
      std::ranges::find(framework.stacks, scenario.training.stack.name) == framework.stacks.end();
  return framework.write({.scenario = scenario,
                          .title = framework.title,
                          .stack = framework.stack,
                          .on_foreign_stack = is_foreign,
                          .plan = plan});
}

}  // namespace pipewright::jobs
