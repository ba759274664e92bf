#include "sim/cli/search/sweep_outputs.hpp"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/results.hpp"
#include "analysis/report/search/search_export.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {
namespace {

using analysis::SearchRun;
using std::filesystem::path;

void write_page(const path& file, const SearchRun& run, const OutputTexts& output_texts) {
  analysis::write_search_page(file, run, output_texts.scenario_of, output_texts.launches_of,
                              winner_words(run, output_texts.answers));
}

void write_scenario(const path& file, const SearchRun& run, const OutputTexts& output_texts) {
  if (output_texts.candidate) {
    trace::write_file(file, output_texts.scenario_of(*output_texts.candidate));
    return;
  }
  const analysis::Findings findings = analysis::find(run);
  if (!findings.best)
    throw trace::TraceError(fmt::format(
        "{}: the search found no candidate, so there is no best scenario to write", file.string()));
  trace::write_file(file, output_texts.scenario_of(run.rows[*findings.best].candidate));
}

void write_csv(const path& file, const SearchRun& run, const OutputTexts&) {
  trace::write_file(file, [&](std::ostream& stream) { analysis::write_search_csv(stream, run); });
}

void write_json(const path& file, const SearchRun& run, const OutputTexts& output_texts) {
  trace::write_file(file, [&](std::ostream& stream) {
    analysis::write_search_json(stream, run, winner_json(run, output_texts.answers));
  });
}

void write_hdf5(const path& file, const SearchRun& run, const OutputTexts&) {
  analysis::write_results(file, run);
}

struct OutputKind {
  const char* extension;
  void (*write)(const path&, const SearchRun&, const OutputTexts&);
};
constexpr std::array output_kinds{
    OutputKind{".html", write_page}, OutputKind{".yaml", write_scenario},
    OutputKind{".csv", write_csv},   OutputKind{".json", write_json},
    OutputKind{".h5", write_hdf5},
};

const OutputKind* output_kind_of(const path& file) {
  const auto* const kind = std::ranges::find_if(
      output_kinds, [&](const OutputKind& row) { return file.extension() == row.extension; });
  return kind == output_kinds.end() ? nullptr : kind;
}

}  // namespace

void check_sweep_outputs(std::span<const path> files) {
  for (const path& file : files) {
    if (output_kind_of(file) == nullptr)
      throw UsageError(fmt::format("{}: unknown extension", file.string()))
          .allow(
              ".html (page), .yaml (the best as a scenario), .csv, .json and .h5 (all candidates)");
  }
}

void write_sweep_output(const path& file, const SearchRun& run, const OutputTexts& output_texts) {
  output_kind_of(file)->write(file, run, output_texts);
}

}  // namespace pipewright::cli
