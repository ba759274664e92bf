#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/palette.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::cli {

// Kind of an output file, by its extension.
enum class OutputKind { html, svg, png, pdf, json, csv };

// Kind of picture that a .svg, .png or .pdf file shows.
enum class Picture { timeline, memory, tradeoff, bubbles };
Picture parse_picture(const std::string& name);  // throws UsageError

struct Output {
  std::filesystem::path file;
  OutputKind kind;
  Picture picture = Picture::timeline;
};
bool is_picture(const Output& output);
analysis::PictureKind picture_kind(const Output& output);  // of a picture

// Finds the kind of each output file by its extension. Throws UsageError for an unknown extension;
// the message lists all kinds.
std::vector<Output> parse_outputs(std::span<const std::filesystem::path> files);

// Throws UsageError if a file would be written over an input, if its folder is missing, or if two
// outputs have one name.
void check_files(std::span<const std::filesystem::path> read,
                 std::span<const std::filesystem::path> written);

// Returns true if an output is drawn from traces, as pages and most pictures are, and not from
// summaries alone.
bool needs_traces(std::span<const Output> outputs);

void write_output(const Output& output, std::span<const analysis::Summary> summaries,
                  std::span<const trace::Trace> traces);

// Writes the output files of a command that has printed its report. If a file cannot be written,
// the other files still are; the error is printed at the end.
class OutputFiles {
 public:
  // Calls `write_file` to write the file. Keeps the message of a std::runtime_error for status().
  void write(const std::filesystem::path& file, const std::function<void()>& write_file);
  // Prints "wrote   FILE" for each file that was written.
  void print_written() const;
  // Prints the errors on standard error. Returns exit_user_error if there are any, else `status`.
  int status(int status) const;

 private:
  std::vector<std::filesystem::path> written_;
  std::vector<std::string> errors_;
};

}  // namespace pipewright::cli
