#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Writes one HTML file that needs nothing else: the figures of a run, or of several with their
// differences; for each a timeline that zooms and pans, the memory of its devices and the use of
// its links, all on a common time axis; then why it takes its time, and tables. The file appears
// under its name once it is whole; one that cannot be written is a TraceError.
void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file);

// Runs that went on at once: jobs of one cluster. What a page of them says beside; it does not
// compare them.
struct AtOnce {
  std::vector<std::string> names;
  std::vector<double> starts_s;  // on the common time axis
  std::string words;             // under the title
};
void write_page(std::span<const trace::Trace> runs, const AtOnce& at_once,
                const std::filesystem::path& file);

// Ticks are the page's unit of time, 10^-digits seconds: the longest run has 10^10 to 10^11 of
// them, which a JavaScript number holds exactly and which leaves errors of 10^-10 of the run.
int tick_digits(double longest_s);

// All that the page shows apart from the rows, as JSON that may stand within a script element.
std::string page_json(std::span<const trace::Trace> runs, std::span<const Summary> summaries,
                      int tick_digits, const AtOnce* at_once = nullptr);

// What a link carried in a whole run.
struct LinkTotals {
  std::array<std::uint64_t, trace::traffic_classes> bytes{};
  double mean_use = 0;  // bytes / (bandwidth * makespan)
  std::optional<double>
      peak_use;         // the same of the fullest piece of time, where the trace has them
  double waited_s = 0;  // flow seconds by which flows took longer as they shared it
};

// Of each of the trace's links.
std::vector<LinkTotals> link_totals(const trace::Trace& trace, double makespan_s);

}  // namespace pipewright::analysis
