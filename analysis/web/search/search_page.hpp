#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// Returns the scenario of a candidate in YAML, as `pipewright run` reads it.
using ScenarioOf = std::function<std::string(std::uint64_t candidate)>;

// Returns launch scripts of a candidate for other programs, as pairs of a program's name and a
// text.
using LaunchesOf =
    std::function<std::vector<std::pair<std::string, std::string>>(std::uint64_t candidate)>;

// Answers to questions about the best candidate, and error bands of candidates. A band
// contains 90 % of the random draws, as factors of the candidate's time.
struct WinnerWords {
  struct Band {
    std::size_t row = 0;
    double low = 1;
    double high = 1;
  };
  std::vector<AnswerReport> answers;
  std::vector<Band> bands;
  std::optional<AnswerReport> decision = {};  // opens the page
};

// Writes a self-contained HTML file. It shows the best candidate and the runner-up, throughput
// against memory with the Pareto front, all axes side by side, the best candidate for each pair of
// values, and for the selected candidate its figures, its scenario and a command. Candidates on a
// front and the best `max_scenarios` candidates have scenarios. The file appears under its name
// once it is complete. Throws trace::TraceError if the file cannot be written.
void write_search_page(const std::filesystem::path& path, const SearchRun& run,
                       const ScenarioOf& scenario_of, const LaunchesOf& launches_of = {},
                       const WinnerWords& winner = {});

inline constexpr std::size_t max_scenarios = 5000;
inline constexpr std::size_t max_launches = 50;  // candidates with launches

// The functions below make the parts of the page.

// The rows of a search as columns of little-endian numbers. Columns of wider numbers come first, so
// that every column is aligned for a typed array.
//
//   f64: the columns in `names`, then the parts of the time in the order of time_part_names
//   u32: note, as an index in `notes`
//   u16: group; evidence, as an index in `evidence`; then each axis
//   u8:  outcome
//
// Seconds of an iteration are simulated, or their lower bound. Cost, throughput and MFU follow from
// them. Unknown numbers are 0.
struct PageColumns {
  std::string bytes;
  std::vector<std::string> names;         // names of columns in the scripts of the page
  std::vector<std::string> notes;         // distinct notes
  std::vector<trace::Evidence> evidence;  // what candidates rest on, each once
};
PageColumns page_columns(const SearchRun& run);

// Returns the data of the page besides its columns, as JSON that is safe in a script element.
std::string page_head(const SearchRun& run, const Findings& findings, const PageColumns& columns,
                      const WinnerWords& winner = {});

// Returns the row numbers of the candidates on a Pareto front and of the best `max_ranked` ones.
std::set<std::size_t> rows_with_scenarios(const Findings& findings, std::size_t max_ranked);

}  // namespace pipewright::analysis
