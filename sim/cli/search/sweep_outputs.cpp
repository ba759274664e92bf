#include "sim/cli/search/sweep_outputs.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>

#include "analysis/search/findings.hpp"
#include "analysis/search/results.hpp"
#include "analysis/search/search_export.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"

namespace pipewright::cli {
namespace {

using analysis::ScenarioOf;
using analysis::SearchRun;
using std::filesystem::path;

void write_best(const path& file, const SearchRun& run, const ScenarioOf& scenario_of) {
  const analysis::Findings findings = analysis::find(run);
  if (!findings.best)
    throw trace::TraceError(
        fmt::format("{}: nothing was found, so there is no best scenario to write", file.string()));
  trace::write_file(file, scenario_of(run.rows[*findings.best].candidate));
}

void write_csv(const path& file, const SearchRun& run, const ScenarioOf&) {
  trace::write_file(file, [&](std::ostream& stream) { analysis::write_search_csv(stream, run); });
}

void write_json(const path& file, const SearchRun& run, const ScenarioOf&) {
  trace::write_file(file, [&](std::ostream& stream) { analysis::write_search_json(stream, run); });
}

void write_hdf5(const path& file, const SearchRun& run, const ScenarioOf&) {
  analysis::write_results(file, run);
}

struct Kind {
  const char* extension;
  void (*write)(const path&, const SearchRun&, const ScenarioOf&);
};
constexpr std::array kinds{
    Kind{".html", analysis::write_search_page},
    Kind{".yaml", write_best},
    Kind{".csv", write_csv},
    Kind{".json", write_json},
    Kind{".h5", write_hdf5},
};

const Kind* kind_of(const std::filesystem::path& file) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](const Kind& kind) { return file.extension() == kind.extension; });
  return found == kinds.end() ? nullptr : found;
}

}  // namespace

void check_sweep_outputs(std::span<const std::filesystem::path> files) {
  for (const std::filesystem::path& file : files) {
    if (kind_of(file) == nullptr)
      throw UsageError(
          fmt::format("{}: the extension says what is written; there are .html (page), .yaml (the "
                      "best as a scenario), .csv, .json and .h5 (all candidates)",
                      file.string()));
    const std::filesystem::path folder = file.parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
      throw UsageError(fmt::format("{}: there is no folder {}", file.string(), folder.string()));
  }
}

void write_sweep_output(const std::filesystem::path& file, const analysis::SearchRun& run,
                        const ScenarioOf& scenario_of) {
  kind_of(file)->write(file, run, scenario_of);
}

}  // namespace pipewright::cli
