#include "sim/cli/run/run_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/run/together_options.hpp"
#include "sim/cli/schedule_options.hpp"
#include "sim/config/text/units.hpp"
#include "sim/sweep/objective_value.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

po::options_description visible_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add_schedule_options(options);
  add_scenario_options(options);
  add_gpus_option(options);
  add_bash_option(options);
  add_failure_words(options);
  add("output,o", several_words("FILE..")->composing(), "write .html .svg .png .pdf .json or .csv");
  add("launch", several_words("F..")->composing(),
      fmt::format("print the launch script for a framework ({}); F:FILE writes it",
                  jobs::writable_frameworks())
          .c_str());
  add("repeat", several_words("N"),
      "run with N seeds; print the median and the range of 90 % of the times");
  add("steady-state",
      "simulate a few periods of each schedule, and extrapolate to all microbatches");
  add("require-fit", "exit with status 3 if a device exceeds its memory");
  add("tokens", several_words("N"),
      "print days, GPU-hours and energy of training on N tokens, such as 300B");
  add("price", several_words("P"),
      "price of a GPU-hour for --tokens, such as 2.5, $2.5 or 2.5 EUR");
  add("power", several_words("W.."),
      "watts of a computing and of an idle GPU for --tokens (default: gpu.power)");
  add_together_options(options);
  add("details", "print all tables and notes: devices, parts of time, collectives, memory");
  add("json", "print the summary as JSON and nothing else");
  add("quiet,q", "print no progress bar and no advice");
  add("help,h", "print this help");
  return options;
}

// Unit of a key's value or, if it has none, the type of the value, as shown in the help.
std::string_view type_of(const config::KeyRow& row) {
  constexpr std::array<std::string_view, 12> names{"text",   "flag", "choice", "count",
                                                   "number", "time", "size",   "rate",
                                                   "path",   "map",  "name",   "name"};
  return row.info.unit.empty() ? names.at(static_cast<std::size_t>(row.value.type)) : row.info.unit;
}

void print_help() {
  fmt::print(
      "usage: pipewright run [SCENARIO] [OPTIONS]\n"
      "       pipewright run SCENARIO SCENARIO.. --together [OPTIONS]\n\n"
      "Simulates training iterations of a pipeline or of a hybrid-parallel model and prints time,\n"
      "throughput, bubbles, exposed communication and memory. SCENARIO is a YAML or JSON file, a\n"
      "name in platforms/scenarios, or - for standard input; options override it. --details "
      "prints\n"
      "all tables. --together runs several jobs at once on one cluster and prints how much each\n"
      "slows down.\n\n"
      "  pipewright run --model llama-3-70b --cluster dgx-h100 --tp 8 -s 4 --dp 1\n"
      "      --global-batch 64 --recompute-activations full --sp\n"
      "  pipewright run gpt-6b-a100 -o gpt.html --trace gpt.h5\n"
      "  pipewright run -s 4 -b 8 -f 1 --backward-times 2 --schedule 1f1b gpipe -o first.png\n"
      "  pipewright run -s 4 -b 8 -f '18 ms' --input-grad-times '18 ms' --weight-grad-times '9 "
      "ms'\n"
      "      --schedule interleaved-1f1b --chunks 2 --p2p-time '0.6 ms' --json\n"
      "  pipewright run gpt.yaml --tokens 300B --price '$2.5'\n"
      "  pipewright run gpt.yaml --set microbatches=128 p2p=blocking schedule.chunks=2\n"
      "  pipewright run pretrain.yaml finetune.yaml --cluster fat-tree.xml --together\n\n"
      "Times and sizes take units (18.5 ms, 24 MiB); plain numbers are seconds and bytes.\n\n"
      "{}\nkeys of a scenario: name, type or unit, meaning, [option]; * is required in its "
      "section:\n",
      describe(visible_options()));
  for (const config::KeyRow& key : config::scenario_keys())
    fmt::print("  {:<36} {:<7} {}{}{}\n", key.name, type_of(key), help_line(key),
               key.info.flag.empty() ? "" : fmt::format(" [{}]", key.info.flag),
               key.info.required && key.name.find('.') != std::string::npos ? " *" : "");
}

std::uint32_t repeat(const po::variables_map& flags) {
  const std::vector<std::string> words = values(flags, "repeat");
  if (words.empty()) return 1;
  const config::Value value = config::make_text(single(words, "--repeat"), {.source = "--repeat"});
  return config::read_count({value, "the number of runs"}, "20");
}

std::optional<analysis::TrainingQuestion> training_question(const po::variables_map& flags,
                                                            const config::Scenario& scenario) {
  const auto field = [&](const char* name, const auto& read) {
    const std::string flag = std::string("--") + name;
    const config::Value value =
        config::make_text(single(values(flags, name), flag), {.source = flag});
    read(config::Field{value, name});
  };
  if (flags.count("tokens") == 0) {
    for (const char* const option : {"price", "power"})
      if (flags.count(option) != 0) throw UsageError(fmt::format("--{} needs --tokens", option));
    return std::nullopt;
  }
  if (!scenario.model && !scenario.tokens_per_microbatch)
    throw UsageError("--tokens needs a model, or tokens_per_microbatch");
  analysis::TrainingQuestion question;
  field("tokens", [&](const config::Field& f) { question.tokens = search::read_tokens(f); });
  if (flags.count("price") != 0) {
    analysis::Objective price;
    field("price", [&](const config::Field& f) { search::read_price(f, price); });
    question.price_per_gpu_hour = price.price_per_gpu_hour;
    question.currency = price.currency;
  }
  const std::vector<std::string> watts = values(flags, "power");
  if (!watts.empty()) {
    if (watts.size() > 2)
      throw UsageError("--power takes the watts of a computing and of an idle GPU");
    const auto watt = [](const std::string& text) {
      return config::parse_power(text, "--power", "a GPU's power");
    };
    question.power = {{watt(watts.front()), watt(watts.back())}};
  }
  return question;
}

// First schedule file of PyTorch among the scenario's schedules; `file` is empty without one.
struct TorchSchedule {
  std::string file;
  bool legacy = false;
};
TorchSchedule torch_schedule(const config::Value& root) {
  const config::Value* const value = config::find(root, "schedule");
  if (value == nullptr) return {};
  const bool is_list = value->kind == config::Value::Kind::list;
  const std::size_t count = is_list ? value->items.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const config::Value& schedule = is_list ? value->items[i] : *value;
    const bool is_map = schedule.kind == config::Value::Kind::map;
    const config::Value* const name = is_map ? config::find(schedule, "name") : &schedule;
    if (name == nullptr ||
        config::schedule_source(name->text) != config::ScheduleSource::torch_file)
      continue;
    const config::Value* const legacy = is_map ? config::find(schedule, "legacy") : nullptr;
    return {(std::filesystem::path(name->origin.folder) / name->text).string(),
            legacy != nullptr && legacy->text == "true"};
  }
  return {};
}

// Takes the numbers of devices and microbatches from a schedule file of PyTorch, if nothing else
// sets them.
void set_sizes_of_file(config::Value& root) {
  const auto has = [&](std::string_view key, std::string_view part = {}) {
    const config::Value* const value = config::find(root, key);
    return value != nullptr && (part.empty() || config::find(*value, part) != nullptr);
  };
  const bool devices = has("devices") || has("parallel", "pp") || has("parallel", "pipeline");
  const bool microbatches = has("microbatches") || has("global_batch");
  if (devices && microbatches) return;
  const TorchSchedule source = torch_schedule(root);
  std::error_code error;
  if (source.file.empty() || !std::filesystem::exists(source.file, error)) return;
  const schedules::Schedule schedule =
      workload::read_torch_file(source.file, source.legacy).schedule;
  const auto set = [&](const char* key, std::uint32_t value) {
    config::set_key(root, key, config::make_text(std::to_string(value), {.source = source.file}));
  };
  if (!devices) set("devices", schedule.devices);
  if (!microbatches) set("microbatches", schedule.microbatches);
}

}  // namespace

std::optional<po::variables_map> parse_run(const Arguments& arguments) {
  po::variables_map flags = parse(arguments, visible_options(), "scenario");
  if (flags.count("help") == 0) return flags;
  print_help();
  return std::nullopt;
}

config::Value run_tree(const po::variables_map& flags) {
  config::Value root = scenario_tree(flags, [&](config::Value& tree) {
    if (const std::vector<std::string> files = values(flags, "output"); !files.empty())
      config::set_key(tree, "output", config::make_list(files, {.source = "--output"}));
    set_schedules(tree, flags);
  });
  check_has_scenario(root);
  set_sizes_of_file(root);
  return root;
}

RunRequest read_run_request(const po::variables_map& flags) {
  check_together_options(flags);
  config::Scenario scenario = config::read_scenario(run_tree(flags));
  auto training = training_question(flags, scenario);
  return RunRequest{.scenario = std::move(scenario),
                    .file = scenario_file(flags),
                    .json = flags.count("json") != 0,
                    .details = flags.count("details") != 0,
                    .quiet = flags.count("quiet") != 0,
                    .require_fit = flags.count("require-fit") != 0,
                    .steady_state = flags.count("steady-state") != 0,
                    .training = std::move(training),
                    .repeat = repeat(flags),
                    .launches = parse_launch(values(flags, "launch"))};
}

}  // namespace pipewright::cli
