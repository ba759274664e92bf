#include "sim/cli/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "analysis/summary.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/units_text.hpp"
#include "sim/cli/child_pool.hpp"
#include "sim/cli/hosts.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/what_if_changes.hpp"
#include "sim/config/error.hpp"
#include "sim/config/yaml.hpp"
#include "sim/execution/run.hpp"
#include "sim/workload/plan.hpp"

namespace pipewright::cli {
namespace {

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

// Loads the cluster, and is therefore called in a process of its own.
double makespan_with(config::Value tree, const Change& change) {
  if (change.edit) change.edit(tree);
  const config::Scenario scenario = config::read_scenario(tree);
  Hardware hardware = open_hardware(scenario);
  if (change.rewire) change.rewire(hardware.cluster);
  workload::Plan plan = workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus);
  const execution::Job job = make_job(scenario, hardware, plan);
  if (change.speed) change.speed(plan.costs);
  analysis::SummarySink summary;
  execution::run(job,
                 scenario.engine == config::Engine::simgrid ? execution::EngineKind::simgrid
                                                            : execution::EngineKind::timing,
                 {}, summary);
  return summary.summary().makespan_s;
}

std::string exact(double value) { return fmt::format("{:a}", value); }

double read_exact(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

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

// Classes of the links on the ways from the job's first GPU to its others, separated by zero bytes.
std::string link_classes_of(const config::Value& tree) {
  const config::Scenario scenario = config::read_scenario(tree);
  const Hardware hardware = open_hardware(scenario);
  std::set<std::string> names;
  for (const cluster::Host* host : hardware.hosts) {
    try {
      for (const cluster::Link* link : hardware.cluster.route(hardware.hosts.front(), host).links)
        names.insert(hardware.cluster.link_class(link));
    } catch (const cluster::Error&) {
      // no way, or a failed link on it: the run may do without
    }
  }
  std::string text;
  for (const std::string& name : names) text += name + '\0';
  return text;
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size(); at += parts.back().size() + 1)
    parts.push_back(text.substr(at, text.find('\0', at) - at));
  return parts;
}

// The first line of a message, in which the platform goes by the name of the trace that holds it.
std::string message(std::string text, const std::filesystem::path& platform,
                    const std::string& file) {
  const std::string path = platform.string();
  for (std::size_t at = 0; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), fmt::format("the cluster of {}", file));
  return text.substr(0, text.find('\n'));
}

void sort_by_gain(std::vector<analysis::WhatIfRow>& rows) {
  std::ranges::stable_sort(rows, {}, [](const analysis::WhatIfRow& row) {
    return row.makespan_s.value_or(std::numeric_limits<double>::infinity());
  });
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
  watch_for_interrupts();
  const Said links = run_in_children({[&] { return link_classes_of(tree); }}, 1, {}).front();
  if (links.failed) cannot_run(options.file, say(links.text));
  analysis::WhatIf result;
  const std::vector<Change> changes =
      what_if_changes(scenario, report, split_at_zeros(links.text), result.notes);

  std::vector<Body> bodies{[&] { return exact(makespan_with(tree, {})); }};
  for (const Change& change : changes)
    bodies.emplace_back([&] { return exact(makespan_with(tree, change)); });
  ProgressBar bar("what if", options.visible);
  const std::vector<Said> said = run_in_children(bodies, options.jobs, [&](std::size_t done) {
    if (bar.is_due())
      bar.draw(static_cast<double>(done) / static_cast<double>(bodies.size()),
               fmt::format("{} of {} simulations", done, bodies.size()));
  });
  if (said.front().failed) cannot_run(options.file, say(said.front().text));
  result.rerun_s = read_exact(said.front().text);
  if (std::abs(result.rerun_s - report.makespan_s) > 1e-9 * report.makespan_s)
    result.notes.push_back(fmt::format(
        "run again without a change, the scenario takes {} rather than {}: this program, or a file "
        "that the scenario names, is another than when the trace was made ({}); gains are against "
        "the new time",
        analysis::format_seconds(result.rerun_s), analysis::format_seconds(report.makespan_s),
        trace.run.versions));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Said& one = said[i + 1];
    if (one.failed)
      result.rows.push_back({changes[i].words, std::nullopt, say(one.text)});
    else
      result.rows.push_back({changes[i].words, read_exact(one.text), ""});
  }
  sort_by_gain(result.rows);
  return result;
}

}  // namespace pipewright::cli
