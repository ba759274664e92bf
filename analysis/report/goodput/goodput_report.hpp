#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/goodput/report.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/text_table.hpp"

// Formats the results of `pipewright goodput` as text, JSON, CSV, pictures and a page.
namespace pipewright::analysis {

// Formats a duration: "12.3 min", "3.1 h", "31.2 d".
std::string format_long_time(double seconds);

// Main result in one line: the share of time that remains for training, and the checkpoint interval
// that maximizes it.
std::string goodput_answer(const GoodputReport& report);
// Describes what was simulated in three lines: model and layout, hardware, checkpoints.
std::string goodput_subject(const GoodputReport& report);
// Table with the mean of each quantity over the seeds, the band that holds 90 % of them, and the
// mean with the expected error of an iteration, if one is known.
TextTable goodput_bands(const GoodputReport& report);
// Says what the expected error rests on; empty if none is known.
std::string goodput_error(const GoodputReport& report);
std::vector<std::string> goodput_notes(const GoodputReport& report);
TextTable goodput_parts_table(const GoodputReport& report);
TextTable goodput_intervals(const GoodputReport& report);
TextTable goodput_worth(const GoodputReport& report);
// Heading of the table of checkpoint intervals: "How often to checkpoint", or ".. to the storage"
// if nodes also store checkpoints on each other.
std::string goodput_intervals_heading(const GoodputReport& report);
// Checkpoint intervals and the resulting ratios according to formulas of the literature.
std::string goodput_formulas(const GoodputReport& report);

std::string goodput_text(const GoodputReport& report);  // The whole report for a terminal.
std::string goodput_json(const GoodputReport& report);
std::string goodput_csv(const GoodputReport& report);  // One line per seed.

// Draws the activities of one run with a row per day, or per several days of a long run, and the
// effective training time of each row. Returns the bytes of the file.
std::string days_picture(const GoodputReport& report, double width, PictureKind kind);
// Draws the effective training time as a function of the checkpoint interval, and marks the
// intervals that formulas recommend.
std::string interval_picture(const GoodputReport& report, double width, PictureKind kind);

// Writes a page with all figures and both pictures. Throws trace::TraceError if that fails.
void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report);

}  // namespace pipewright::analysis
