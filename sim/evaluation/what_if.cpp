#include "sim/evaluation/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/summary.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/units_text.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/trial.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {
namespace {

using nlohmann::json;

// A folder that goes with all that is in it.
class ShortLivedFolder {
 public:
  ShortLivedFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(fmt::format("{}: cannot make a folder for the cluster", name));
    path_ = name;
  }
  ~ShortLivedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ShortLivedFolder(const ShortLivedFolder&) = delete;
  ShortLivedFolder& operator=(const ShortLivedFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// What a simulation comes to.
struct Rerun {
  double makespan_s = 0;
  std::optional<analysis::Overflow> overflow;
  trace::Assumed assumed;  // what that rests on
};

std::string to_line(const Rerun& rerun) {
  json line{{"makespan_s", rerun.makespan_s},
            {"gpu", rerun.assumed.gpu},
            {"assumed", rerun.assumed.keys}};
  if (const auto& over = rerun.overflow)
    line["overflow"] = {{"device", over->device},
                        {"peak_bytes", over->peak_bytes},
                        {"capacity_bytes", over->capacity_bytes}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Rerun read_rerun(const std::string& line) {
  const json value = json::parse(line);
  Rerun rerun{.makespan_s = value.at("makespan_s"),
              .overflow = {},
              .assumed = {value.at("gpu").get<std::string>(),
                          value.at("assumed").get<std::vector<std::string>>()}};
  if (const auto over = value.find("overflow"); over != value.end())
    rerun.overflow = analysis::Overflow{.device = over->at("device"),
                                        .peak_bytes = over->at("peak_bytes"),
                                        .capacity_bytes = over->at("capacity_bytes")};
  return rerun;
}

// Loads the cluster, and is therefore called in a process of its own.
Rerun simulate(config::Value tree, const Change& change) {
  if (change.edit) change.edit(tree);
  const config::Scenario scenario = config::read_scenario(tree);
  Hardware hardware = open_hardware(scenario);
  workload::Plan plan = plan_on(scenario, scenario.schedules.front(), hardware);
  const execution::Job job = make_job(scenario, hardware, plan);
  if (change.speed) change.speed(plan.costs);
  analysis::SummarySink summary;
  execution::run(job, engine_of(scenario), {}, summary);
  return {summary.summary().makespan_s, analysis::overflow_of(summary.summary()), job.assumed};
}

[[noreturn]] void cannot_run(const std::string& file, const std::string& reason) {
  throw trace::TraceError(fmt::format("{}: its scenario cannot run again: {}", file, reason));
}

// The scenario of a trace, on the cluster that the trace holds, which `platform` is to hold.
config::Value stored_scenario(const trace::Trace& trace, const std::string& file,
                              const std::filesystem::path& platform) {
  if (trace.run.scenario.empty())
    throw trace::TraceError(file +
                            ": holds no scenario to run again: it was made by hand, or measured");
  config::Value tree = config::read_yaml_text(trace.run.scenario, file + " (its scenario)");
  if (config::find(tree, "cluster") == nullptr) return tree;
  if (trace.run.cluster.empty()) cannot_run(file, "it is on a cluster, which the trace lacks");
  trace::write_file(platform, trace.run.cluster);
  config::set_key(tree, "cluster", config::make_text(platform.string(), {file}));
  return tree;
}

// What of the hardware can be changed, in JSON: the classes of the links on the ways from the job's
// first GPU to its others, and the recipes whose data types all GPUs multiply.
std::string choices_of(const config::Value& tree) {
  const config::Scenario scenario = config::read_scenario(tree);
  const Hardware hardware = open_hardware(scenario);
  std::vector<std::string> names;
  for (const LinkClass& one : link_classes(hardware)) names.push_back(one.name);
  std::vector<std::string_view> recipes;
  for (std::size_t recipe = 0; recipe < config::recipes.size(); ++recipe) {
    const auto has_type = [&](const config::Gpu& gpu) {
      return config::has_type(gpu, static_cast<config::DataType>(recipe));
    };
    if (std::ranges::all_of(hardware.gpus, has_type)) recipes.push_back(config::recipes[recipe]);
  }
  return json{{"link_classes", names}, {"recipes", recipes}}.dump(-1, ' ', false,
                                                                  json::error_handler_t::replace);
}

// The first line of a message, in which the platform goes by the name of the trace that holds it.
std::string message(std::string text, const std::filesystem::path& platform,
                    const std::string& file) {
  const std::string path = platform.string();
  for (std::size_t at = 0; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), fmt::format("the cluster of {}", file));
  return text.substr(0, text.find('\n'));
}

// A row, and whether it is one of many stages'.
struct Tried {
  analysis::WhatIfRow row;
  bool of_stage = false;
};

void sort_by_gain(std::vector<Tried>& all) {
  std::ranges::stable_sort(all, {}, [](const Tried& one) {
    return one.row.makespan_s.value_or(std::numeric_limits<double>::infinity());
  });
}

// Of stages that gain nothing to speak of only the first few are shown.
void keep_rows(const std::vector<Tried>& sorted, analysis::WhatIf& result) {
  constexpr std::size_t most_without_gain = 8;
  constexpr double to_speak_of = 5e-4;  // of the time; less is printed as 0.0 %
  std::size_t stages = 0;
  std::size_t left_out = 0;
  for (const Tried& one : sorted) {
    const bool gains = analysis::gain_s(result, one.row) >= to_speak_of * result.rerun_s;
    if (one.of_stage && one.row.makespan_s && ++stages > most_without_gain && !gains)
      ++left_out;
    else
      result.rows.push_back(one.row);
  }
  if (left_out > 0)
    result.notes.push_back(fmt::format(
        "{} more stages, left out, gain less than 0.05 % each when 10 % faster", left_out));
}

}  // namespace

analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options) {
  const ShortLivedFolder folder;
  const std::filesystem::path platform = folder.path() / "cluster.xml";
  const auto say = [&](const std::string& text) { return message(text, platform, options.file); };
  config::Value tree;
  config::Scenario scenario;
  try {
    tree = stored_scenario(trace, options.file, platform);
    scenario = config::read_scenario(tree);
  } catch (const config::Error& error) {
    cannot_run(options.file, say(error.what()));
  }
  const process::Result probed =
      process::run_all({[&] { return choices_of(tree); }}, 1, [&](std::size_t) {
        options.look(0, 1);
      }).front();
  if (probed.failed) cannot_run(options.file, say(probed.text));
  const json choices = json::parse(probed.text);
  analysis::WhatIf result;
  const std::vector<Change> changes =
      what_if_changes(scenario, report,
                      {.link_classes = choices["link_classes"].get<std::vector<std::string>>(),
                       .recipes = choices["recipes"].get<std::vector<std::string>>()},
                      result.notes);

  if (scenario.engine == config::Engine::simgrid) execution::load_simulator();
  std::vector<process::Body> bodies{[&] { return to_line(simulate(tree, {})); }};
  for (const Change& change : changes)
    bodies.emplace_back([&] { return to_line(simulate(tree, change)); });
  const auto look = [&](std::size_t done) { options.look(done, bodies.size()); };
  const auto row_of = [&](std::size_t change, const process::Result& one) {
    analysis::WhatIfRow row{.change = changes[change].words};
    if (one.failed) {
      row.why_not = say(one.text);
      return row;
    }
    Rerun rerun = read_rerun(one.text);
    row.makespan_s = rerun.makespan_s;
    row.overflow = rerun.overflow;
    row.assumed = std::move(rerun.assumed);
    return row;
  };
  std::optional<double> rerun_s;
  const auto each = [&](std::size_t body, const process::Result& one) {
    if (body == 0 && !one.failed) rerun_s = read_rerun(one.text).makespan_s;
    if (body > 0 && options.found) options.found(row_of(body - 1, one), rerun_s);
  };
  const std::vector<process::Result> results = process::run_all(bodies, options.jobs, look, each);
  if (results.front().failed) cannot_run(options.file, say(results.front().text));
  result.rerun_s = read_rerun(results.front().text).makespan_s;
  if (std::abs(result.rerun_s - report.makespan_s) > 1e-9 * report.makespan_s)
    result.notes.push_back(fmt::format(
        "run again without a change, the scenario takes {} rather than {}: this program, or a file "
        "that the scenario names, is another than when the trace was made ({}); gains are against "
        "the new time",
        analysis::format_seconds(result.rerun_s), analysis::format_seconds(report.makespan_s),
        trace.run.versions));
  std::vector<Tried> tried;
  for (std::size_t i = 0; i < changes.size(); ++i)
    tried.push_back({row_of(i, results[i + 1]), changes[i].of_stage});
  sort_by_gain(tried);
  keep_rows(tried, result);
  return result;
}

}  // namespace pipewright::evaluation
