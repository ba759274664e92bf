#include "analysis/report/picture/titles.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/job.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string run_details(const Summary& summary) {
  const trace::RunInfo& run = summary.run;
  // The character U+00D7 is a multiplication sign.
  std::string text = fmt::format("{} \u00d7 {}", counted(run.devices, "device"),
                                 counted(run.microbatches, "microbatch"));
  if (run.slices > 1) text += fmt::format(", {} slices each", run.slices);
  if (run.chunks > 1) text += fmt::format(", {} chunks a device", run.chunks);
  if (run.iterations > 1) text += fmt::format(", {} iterations", run.iterations);
  return text + fmt::format(", {}, bubble {}", format_seconds(summary.makespan_s),
                            format_percent(summary.bubble_ratio));
}

// Returns the name of a cluster. If this is a platform file, removes the folder and ".xml".
std::string short_name(const std::string& network) {
  const std::filesystem::path file(network);
  return file.extension() == ".xml" ? file.stem().string() : network;
}

// Returns for each run the settings of its job that not all runs have in common.
std::vector<std::string> distinct_jobs(std::span<const Summary> runs) {
  std::vector<std::string> jobs;
  for (const Summary& run : runs) jobs.push_back(run.run.job);
  return split_jobs(jobs).own;
}

}  // namespace

Subject common_subject(std::span<const Summary> runs) {
  std::vector<std::string> jobs;
  for (const Summary& run : runs) jobs.push_back(run.run.job);
  std::string job = split_jobs(jobs).common;
  const auto is_common = [&](const auto& field_of) {
    return std::ranges::all_of(
        runs, [&](const Summary& run) { return field_of(run) == field_of(runs[0]); });
  };
  Subject subject;
  if (!job.empty() &&
      is_common([](const Summary& run) { return run.run.job.substr(0, run.run.job.find(", ")); })) {
    const std::size_t end = std::min(job.find(", "), job.size());
    subject.name = job.substr(0, end);
    job.erase(0, std::min(end + 2, job.size()));
    const std::size_t on = subject.name.rfind(" on ");
    if (on != std::string::npos && is_common([](const Summary& run) { return gpus(run.run); }))
      subject.name.insert(on + 4, fmt::format("{} ", gpus(runs[0].run)));
  }
  if (is_common([](const Summary& run) { return run.run.network; }))
    subject.details = printable(short_name(runs[0].run.network));
  if (!job.empty()) subject.details += (subject.details.empty() ? "" : ", ") + job;
  return subject;
}

void draw_subject(Canvas& canvas, double left, double right, double baseline,
                  const Subject& subject) {
  constexpr double max_name_share = 0.5;
  if (subject.name.empty())
    draw_heading(canvas, left, right, baseline, subject.details, "", 1);
  else
    draw_heading(canvas, left, right, baseline, subject.name, subject.details, max_name_share);
}

std::vector<RunTitle> run_titles(std::span<const Summary> runs) {
  std::vector<RunTitle> titles;
  for (const Summary& run : runs) titles.push_back({run.run.schedule, run_details(run)});

  using Field = std::string trace::RunInfo::*;
  for (const Field field :
       {&trace::RunInfo::network, &trace::RunInfo::p2p, &trace::RunInfo::engine}) {
    const bool is_common = std::all_of(runs.begin(), runs.end(), [&](const Summary& run) {
      return run.run.*field == runs.front().run.*field;
    });
    for (std::size_t i = 0; i < runs.size() && !is_common; ++i)
      titles[i].details += ", " + runs[i].run.*field;
  }
  const std::vector<std::string> job_details = distinct_jobs(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!job_details[i].empty()) titles[i].details += ", " + job_details[i];
  return titles;
}

std::vector<std::string> run_names(std::span<const Summary> runs) {
  using NamePart = std::function<std::string(const trace::RunInfo&)>;
  const std::vector<NamePart> parts{
      [](auto& run) { return counted(run.devices, "device"); },
      [](auto& run) { return counted(run.microbatches, "microbatch"); },
      [](auto& run) { return counted(run.replicas, "replica"); },
      [](auto& run) { return counted(run.ranks_per_stage, "GPU") + " a device"; },
      [](auto& run) { return counted(run.iterations, "iteration"); },
      [](auto& run) { return run.network; },
      [](auto& run) { return run.p2p; },
      [](auto& run) { return run.engine; }};
  std::vector<std::string> names;
  for (const Summary& run : runs)
    names.push_back(run.run.chunks > 1 ? fmt::format("{} x{}", run.run.schedule, run.run.chunks)
                                       : run.run.schedule);
  // Append a setting only where runs that still have the same name differ in it.
  for (const NamePart& part : parts) {
    std::map<std::string, std::set<std::string>> values;
    for (std::size_t i = 0; i < runs.size(); ++i) values[names[i]].insert(part(runs[i].run));
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (values[names[i]].size() > 1) names[i] += ", " + part(runs[i].run);
  }
  // Runs that still have the same name finally get their distinct job settings.
  std::map<std::string, int> count;
  for (const std::string& name : names) ++count[name];
  const std::vector<std::string> job_details = distinct_jobs(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (count[names[i]] > 1 && !job_details[i].empty()) names[i] += ", " + job_details[i];
  count.clear();
  for (const std::string& name : names) ++count[name];
  std::map<std::string, int> number;
  for (std::string& name : names)
    if (count[name] > 1) name += fmt::format(" ({})", ++number[name]);
  return names;
}

}  // namespace pipewright::analysis
