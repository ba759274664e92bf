#include "sim/cli/output.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/page.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/letters.hpp"
#include "sim/cli/commands.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array<std::pair<std::string_view, OutputKind>, 6> kinds{{
    {".html", OutputKind::html},
    {".svg", OutputKind::svg},
    {".png", OutputKind::png},
    {".pdf", OutputKind::pdf},
    {".json", OutputKind::json},
    {".csv", OutputKind::csv},
}};

Output parse_output(const std::filesystem::path& file) {
  const std::string extension = base::lowercase(file.extension().string());
  const auto* const kind = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const auto& row) { return row.first == extension; });
  if (kind == kinds.end())
    throw UsageError(
        fmt::format("{}: {}", file.string(),
                    extension.empty()
                        ? "the file needs an extension, which selects the kind of output"
                        : fmt::format("unknown kind of output '{}'", extension)))
        .allow(".html (page), .svg, .png and .pdf (picture), .json and .csv (summary)");
  return {file, kind->second, {}};
}

void draw(const Output& output, analysis::PictureKind kind,
          std::span<const analysis::Summary> summaries, std::span<const trace::Trace> traces) {
  switch (output.picture) {
    case Picture::timeline:
      return analysis::draw_timeline(traces, output.file, kind);
    case Picture::memory:
      return analysis::draw_memory(traces, output.file, kind);
    case Picture::tradeoff:
      return analysis::draw_tradeoff(summaries, output.file, kind);
    case Picture::bubbles:
      return analysis::draw_bubbles(traces, output.file, kind);
  }
}

}  // namespace

Picture parse_picture(const std::string& name) {
  constexpr std::array<std::string_view, 4> names{"timeline", "memory", "tradeoff", "bubbles"};
  const std::optional<Picture> picture = base::value_of<Picture>(names, name);
  if (!picture)
    throw UsageError(fmt::format("--picture is '{}'", name))
        .allow("timeline, memory, tradeoff, bubbles");
  return *picture;
}

analysis::PictureKind picture_kind(const Output& output) {
  if (output.kind == OutputKind::svg) return analysis::PictureKind::svg;
  return output.kind == OutputKind::png ? analysis::PictureKind::png : analysis::PictureKind::pdf;
}

bool is_picture(const Output& output) {
  return output.kind == OutputKind::svg || output.kind == OutputKind::png ||
         output.kind == OutputKind::pdf;
}

std::vector<Output> parse_outputs(std::span<const std::filesystem::path> files) {
  std::vector<Output> outputs;
  for (const std::filesystem::path& file : files) outputs.push_back(parse_output(file));
  return outputs;
}

void check_files(std::span<const std::filesystem::path> read,
                 std::span<const std::filesystem::path> written) {
  using std::filesystem::path;
  // A file without a canonical name, such as a pipe, keeps the name it has.
  const auto canonical = [](const path& file) {
    std::error_code error;
    path name = std::filesystem::weakly_canonical(file, error);
    return error ? file : name;
  };
  std::set<path> inputs;
  for (const path& file : read) inputs.insert(canonical(file));
  std::set<path> taken;
  for (const path& file : written) {
    if (inputs.count(canonical(file)) != 0)
      throw UsageError(
          fmt::format("{}: is an input of this command, so it cannot be an output", file.string()));
    const path folder = file.parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
      throw UsageError(
          fmt::format("{}: the folder {} does not exist", file.string(), folder.string()));
    if (!taken.insert(canonical(file)).second)
      throw UsageError(fmt::format("{}: is given as an output twice", file.string()));
  }
}

bool needs_traces(std::span<const Output> outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const Output& output) {
    return output.kind == OutputKind::html ||
           (is_picture(output) && output.picture != Picture::tradeoff);
  });
}

void write_output(const Output& output, std::span<const analysis::Summary> summaries,
                  std::span<const trace::Trace> traces) {
  switch (output.kind) {
    case OutputKind::html:
      return analysis::write_page(traces, output.file);
    case OutputKind::svg:
      return draw(output, analysis::PictureKind::svg, summaries, traces);
    case OutputKind::png:
      return draw(output, analysis::PictureKind::png, summaries, traces);
    case OutputKind::pdf:
      return draw(output, analysis::PictureKind::pdf, summaries, traces);
    case OutputKind::json:
      return trace::write_file(output.file, analysis::json_summary(summaries));
    case OutputKind::csv:
      return trace::write_file(output.file, analysis::csv_summary(summaries));
  }
}

void OutputFiles::write(const std::filesystem::path& file,
                        const std::function<void()>& write_file) {
  std::fflush(stdout);  // a reader sees the report while files are drawn
  try {
    write_file();
    written_.push_back(file);
  } catch (const std::runtime_error& error) {
    errors_.emplace_back(error.what());
  }
}

void OutputFiles::print_written() const {
  for (const std::filesystem::path& file : written_) fmt::print("wrote   {}\n", file.string());
}

int OutputFiles::status(int status) const {
  std::fflush(stdout);
  for (const std::string& error : errors_) fmt::print(stderr, "pipewright: {}\n", error);
  return errors_.empty() ? status : exit_user_error;
}

}  // namespace pipewright::cli
