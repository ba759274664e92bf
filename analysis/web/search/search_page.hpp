#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// A candidate as a scenario that `pipewright run` takes, in YAML.
using ScenarioOf = std::function<std::string(std::uint64_t candidate)>;

// What starts a candidate with other programs: their names, and a text each.
using LaunchesOf =
    std::function<std::vector<std::pair<std::string, std::string>>(std::uint64_t candidate)>;

// What was found out about the best: as text, and of rows the part of their time that 90 % of draws
// begin and end at.
struct WinnerWords {
  struct Band {
    std::size_t row = 0;
    double low = 1;
    double high = 1;
  };
  std::string text;
  std::vector<Band> bands;
};

// Writes one HTML file that needs nothing else: the best and why the next one loses, throughput
// against memory with the Pareto front, all axes side by side, the best of each pair of values, and
// for a point that is clicked on its figures, its scenario and a command. `scenario_of` is asked
// for simulated candidates: those on a front and the best `most_scenarios`. The file appears under
// its name once it is whole; one that cannot be written is a trace::TraceError.
void write_search_page(const std::filesystem::path& path, const SearchRun& run,
                       const ScenarioOf& scenario_of, const LaunchesOf& launches_of = {},
                       const WinnerWords& winner = {});

inline constexpr std::size_t most_scenarios = 5000;
inline constexpr std::size_t most_launches = 50;  // candidates with what starts them

// The parts of the page.

// The rows of a search as the page has them: columns of little-endian numbers one after the other,
// those of eight bytes a number first, so that each lies where a typed array can begin.
//
//   f64: the columns called `names`, and the parts of the time in the order of part_words
//   u32: note, as a place in `notes`
//   u16: group, what it rests on, as a place in `assumed`, then each axis
//   u8:  outcome
//
// Seconds are simulated ones, or the bound; cost, throughput and MFU follow from them; 0 where they
// are not known.
struct PageColumns {
  std::string bytes;
  std::vector<std::string> names;       // names in scripts of the columns of f64
  std::vector<std::string> notes;       // distinct ones
  std::vector<trace::Assumed> assumed;  // likewise
};
PageColumns page_columns(const SearchRun& run);

// What it has besides its columns, as JSON that is safe inside a script element.
std::string page_head(const SearchRun& run, const Findings& findings, const PageColumns& columns,
                      const WinnerWords& winner = {});

// Rows whose scenarios a page has.
std::set<std::size_t> rows_with_scenarios(const Findings& findings, std::size_t most);

}  // namespace pipewright::analysis
