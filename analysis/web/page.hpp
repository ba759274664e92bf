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

// Writes a self-contained HTML file about one run, or about several runs and their differences.
// Each run has a timeline, the memory of its devices and the use of its links on a common time
// axis, followed by an explanation of its duration and tables. The file appears under its name only
// once it is complete; a file that cannot be written throws trace::TraceError.
void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file);

// Describes runs that happen at the same time: jobs that share a cluster. Their page shows no
// differences between them.
struct AtOnce {
  std::vector<std::string> names;
  std::vector<double> starts_s;  // on the common time axis
  std::string words;             // subtitle
};
void write_page(std::span<const trace::Trace> runs, const AtOnce& at_once,
                const std::filesystem::path& file);

// Returns the number of decimal digits of the page's unit of time: a tick is 10^-digits seconds.
// The longest run takes 10^10 to 10^11 ticks, which JavaScript numbers hold exactly; rounding
// errors are below 10^-10 of the run.
int tick_digits(double longest_s);

// Returns the page's data except for its tables, as JSON that is safe inside a script element.
std::string page_json(std::span<const trace::Trace> runs, std::span<const Summary> summaries,
                      int tick_digits, const AtOnce* at_once = nullptr);

// Traffic of one link, summed over a whole run.
struct LinkTotals {
  std::array<std::uint64_t, trace::traffic_classes> bytes{};
  double mean_use = 0;             // bytes / (bandwidth * makespan)
  std::optional<double> peak_use;  // use in the busiest piece of time, if the trace has pieces
  double waited_s = 0;             // flow seconds lost to sharing the link
};

// Returns the traffic of each link of the trace.
std::vector<LinkTotals> link_totals(const trace::Trace& trace, double makespan_s);

}  // namespace pipewright::analysis
