#include "analysis/timeline/titles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string counted(std::uint32_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string details(const Summary& summary) {
  const trace::RunInfo& run = summary.run;
  // U+00D7, the multiplication sign
  std::string text = fmt::format("{} \u00d7 {}", counted(run.devices, "device", "devices"),
                                 counted(run.microbatches, "microbatch", "microbatches"));
  if (run.chunks > 1) text += fmt::format(", {} chunks a device", run.chunks);
  if (run.iterations > 1) text += fmt::format(", {} iterations", run.iterations);
  return text + fmt::format(", {}, bubble {}", format_seconds(summary.makespan_s),
                            format_percent(summary.bubble_ratio));
}

}  // namespace

std::vector<RunTitle> run_titles(std::span<const Summary> runs) {
  std::vector<RunTitle> titles;
  for (const Summary& run : runs) titles.push_back({run.run.schedule, details(run)});

  using Field = std::string trace::RunInfo::*;
  for (const Field field :
       {&trace::RunInfo::network, &trace::RunInfo::p2p, &trace::RunInfo::engine}) {
    const bool same = std::all_of(runs.begin(), runs.end(), [&](const Summary& run) {
      return run.run.*field == runs.front().run.*field;
    });
    for (std::size_t i = 0; i < runs.size() && !same; ++i)
      titles[i].details += ", " + runs[i].run.*field;
  }
  return titles;
}

}  // namespace pipewright::analysis
