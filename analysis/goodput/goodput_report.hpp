#pragma once

#include <string>
#include <vector>

#include "analysis/goodput/report.hpp"
#include "analysis/text_table.hpp"

// What `pipewright goodput` prints and writes.
namespace pipewright::analysis {

// "12.3 min", "3.1 h", "31.2 d"
std::string format_long_time(double seconds);

std::string goodput_subject(const GoodputReport& report);  // what was trained, in two lines
TextTable goodput_bands(const GoodputReport& report);      // over seeds
TextTable goodput_parts_table(const GoodputReport& report);
TextTable goodput_intervals(const GoodputReport& report);
TextTable goodput_worth(const GoodputReport& report);
// What formulas say to it.
std::string goodput_formulas(const GoodputReport& report);

std::string goodput_text(const GoodputReport& report);  // all of them, for a terminal
std::string goodput_json(const GoodputReport& report);
std::string goodput_csv(const GoodputReport& report);  // a line a seed

}  // namespace pipewright::analysis
