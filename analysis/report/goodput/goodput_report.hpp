#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/goodput/report.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/text_table.hpp"

// Outputs of `pipewright goodput`.
namespace pipewright::analysis {

// Formats a duration: "12.3 min", "3.1 h", "31.2 d".
std::string format_long_time(double seconds);

// Main result in one line: the time that is left for training and the best checkpoint interval.
std::string goodput_answer(const GoodputReport& report);
// Model and layout, hardware and checkpoints, in three lines.
std::string goodput_subject(const GoodputReport& report);
// Means and bands over seeds.
TextTable goodput_bands(const GoodputReport& report);
TextTable goodput_parts_table(const GoodputReport& report);
TextTable goodput_intervals(const GoodputReport& report);
TextTable goodput_worth(const GoodputReport& report);
// "How often to checkpoint"; with peers, ".. to the storage".
std::string goodput_intervals_heading(const GoodputReport& report);
// Intervals and ratios by formulas of the literature.
std::string goodput_formulas(const GoodputReport& report);

std::string goodput_text(const GoodputReport& report);  // The whole report for a terminal.
std::string goodput_json(const GoodputReport& report);
std::string goodput_csv(const GoodputReport& report);  // One line per seed.

// Draws the activities of one run with a row per day, or per several days of a long run, and the
// effective training time of each row. Returns the bytes of the file.
std::string days_picture(const GoodputReport& report, double width, PictureKind kind);
// Draws the effective training time over the checkpoint interval, with the intervals of the
// formulas.
std::string interval_picture(const GoodputReport& report, double width, PictureKind kind);

// Writes a page with all figures and both pictures. Throws trace::TraceError if that fails.
void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report);

}  // namespace pipewright::analysis
