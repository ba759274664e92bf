#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/goodput/report.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/text_table.hpp"

// What `pipewright goodput` prints and writes.
namespace pipewright::analysis {

// "12.3 min", "3.1 h", "31.2 d"
std::string format_long_time(double seconds);

std::string goodput_subject(const GoodputReport& report);  // what was trained, in three lines
TextTable goodput_bands(const GoodputReport& report);      // over seeds
TextTable goodput_parts_table(const GoodputReport& report);
TextTable goodput_intervals(const GoodputReport& report);
TextTable goodput_worth(const GoodputReport& report);
// "How often to checkpoint"; to the storage, where peers have copies as well.
std::string goodput_intervals_heading(const GoodputReport& report);
// What formulas say to it.
std::string goodput_formulas(const GoodputReport& report);

std::string goodput_text(const GoodputReport& report);  // all of them, for a terminal
std::string goodput_json(const GoodputReport& report);
std::string goodput_csv(const GoodputReport& report);  // a line a seed

// The days of one run, a row each, or of several where there are many: what the job did when, and
// how much of the row lasts. The file's bytes.
std::string days_picture(const GoodputReport& report, double width, PictureKind kind);
// Effective training time over the interval between checkpoints, with the formulas' intervals.
std::string interval_picture(const GoodputReport& report, double width, PictureKind kind);

// All figures and both pictures in one file. Throws trace::TraceError if it cannot be written.
void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report);

}  // namespace pipewright::analysis
