#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <list>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/export/exports.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"

namespace fs = std::filesystem;

namespace pipewright::cli {
namespace {

enum class Format : std::uint8_t { chrome, csv, json, paje };
constexpr std::array<const char*, 4> format_names{"chrome", "csv", "json", "paje"};

constexpr const char* table_mark = "{table}";

struct ExportRequest {
  fs::path trace;
  std::string output;  // "-": standard output
  Format format = Format::chrome;
  std::string table;  // of CSV; empty: all tables

  bool to_standard_output() const { return output == "-"; }
};

po::options_description export_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("output,o", one_word("FILE"), "output file; - is standard output");
  add("as", one_word("chrome|csv|json|paje"), "output format (default: by the file name)");
  add("table", one_word("NAME"), "single table to write as csv");
  add("help,h", "print this help");
  return options;
}

void print_export_help() {
  fmt::print(
      "usage: pipewright export TRACE.h5 -o FILE [--as FORMAT] [--table NAME]\n\n"
      "Converts a trace of any size for other programs.\n\n"
      "  pipewright export gpt.h5 -o gpt.json             # chrome: open it in ui.perfetto.dev\n"
      "  pipewright export gpt.h5 -o gpt.paje             # paje: for ViTE and PajeNG\n"
      "  pipewright export gpt.h5 -o tables/              # csv: a file for each table\n"
      "  pipewright export gpt.h5 -o 'gpt-{{table}}.csv'    # csv: files named after the tables\n"
      "  pipewright export gpt.h5 -o - --as csv --table passes | head\n"
      "  pipewright export gpt.h5 -o summary.json --as json   # the summary, as show writes it\n\n"
      "Tables: {}.\n\n{}",
      fmt::join(analysis::csv_table_names(), ", "), describe(export_options()));
}

bool is_folder(const std::string& output) {
  return output.ends_with('/') || fs::is_directory(output);
}

Format format_of(const po::variables_map& flags, const std::string& output) {
  if (flags.count("as") != 0) {
    const auto& word = flags["as"].as<std::string>();
    const auto* const match = std::ranges::find(format_names, word);
    if (match == format_names.end())
      throw UsageError(fmt::format("--as is '{}'", word)).allow("chrome, csv, json, paje");
    return static_cast<Format>(match - format_names.begin());
  }
  const std::string extension = fs::path(output).extension().string();
  if (extension == ".json") return Format::chrome;
  if (extension == ".paje") return Format::paje;
  if (extension == ".csv" || flags.count("table") != 0 || is_folder(output)) return Format::csv;
  throw UsageError(
      fmt::format("{}: the format is unknown", output == "-" ? "standard output" : output))
      .suggest(
          "give --as chrome, csv, json or paje, or a name that ends in .json (chrome), .paje, .csv "
          "or / (a folder of csv)");
}

void check_table(const ExportRequest& request) {
  const std::vector<std::string> tables = analysis::csv_table_names();
  if (request.format != Format::csv) {
    if (!request.table.empty())
      throw UsageError("--table needs the format csv: other formats have all tables");
    return;
  }
  if (!request.table.empty()) {
    if (std::ranges::find(tables, request.table) == tables.end())
      throw UsageError(fmt::format("--table is '{}'", request.table))
          .allow(fmt::format("{}", fmt::join(tables, ", ")));
  } else if (!is_folder(request.output) && request.output.find(table_mark) == std::string::npos) {
    throw UsageError(fmt::format("{}: csv has one table",
                                 request.to_standard_output() ? "standard output" : request.output))
        .suggest(fmt::format(
            "give --table, or for all tables a folder, which ends in /, or a file name with {}",
            table_mark));
  }
}

ExportRequest parse_request(const po::variables_map& flags) {
  const std::vector<std::string> traces = values(flags, "trace");
  if (traces.size() != 1)
    throw UsageError(traces.empty()
                         ? "export needs a trace, as in 'pipewright export FILE.h5 -o FILE.json'"
                         : fmt::format("export takes one trace at a time, not {}", traces.size()));
  if (flags.count("output") == 0)
    throw UsageError("export needs an output file").suggest("give -o FILE, or -o -");
  ExportRequest request{traces.front(), flags["output"].as<std::string>(), {}, {}};
  request.format = format_of(flags, request.output);
  if (flags.count("table") != 0) request.table = flags["table"].as<std::string>();
  check_table(request);
  return request;
}

void export_to(std::ostream& stream, const ExportRequest& request) {
  const auto run = [&](trace::Sink& sink) { replay_with_progress("export", request.trace, sink); };
  switch (request.format) {
    case Format::chrome:
      return run(*analysis::chrome_export(stream));
    case Format::paje:
      return run(*analysis::paje_export(stream));
    case Format::csv:
      return run(*analysis::csv_export(
          [&](const std::string& table) { return table == request.table ? &stream : nullptr; }));
    case Format::json: {
      analysis::SummarySink sink;
      run(sink);
      stream << analysis::json_summary({&sink.summary(), 1});
    }
  }
}

fs::path file_of(const ExportRequest& request, const std::string& table) {
  if (is_folder(request.output)) return fs::path(request.output) / (table + ".csv");
  std::string name = request.output;
  if (const std::size_t mark = name.find(table_mark); mark != std::string::npos)
    name.replace(mark, std::string_view(table_mark).size(), table);
  return name;
}

// Returns whether the folder is new.
bool create_folder(const fs::path& folder) {
  std::error_code error;
  const bool is_new = fs::create_directory(folder, error);
  if (error)
    throw trace::TraceError(
        fmt::format("{}: cannot create the folder: {}", folder.string(), error.message()));
  return is_new;
}

// Writes all tables, one file each. Either all files appear or none.
std::vector<fs::path> export_tables(const ExportRequest& request) {
  struct File {
    explicit File(const fs::path& path) : partial(path) {
      stream.open(partial.temporary(), std::ios::binary);
    }
    trace::PartialFile partial;
    std::ofstream stream;
  };
  std::vector<fs::path> table_files;
  for (const std::string& table : analysis::csv_table_names())
    table_files.push_back(file_of(request, table));
  const bool is_new_folder = is_folder(request.output) && create_folder(request.output);
  std::list<File> files;
  try {
    check_files(std::array{request.trace}, table_files);
    const auto sink = analysis::csv_export([&](const std::string& table) {
      return &files.emplace_back(file_of(request, table)).stream;
    });
    replay_with_progress("export", request.trace, *sink);
    for (File& file : files) {
      file.stream.close();
      if (!file.stream)
        throw trace::TraceError(fmt::format("{}: cannot write: {}", file.partial.path().string(),
                                            std::generic_category().message(errno)));
    }
    std::vector<fs::path> written;
    for (File& file : files) {
      file.partial.commit();
      written.push_back(file.partial.path());
    }
    return written;
  } catch (...) {
    files.clear();
    std::error_code ignored;
    if (is_new_folder) fs::remove(request.output, ignored);
    throw;
  }
}

}  // namespace

int export_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, export_options(), "trace");
  if (flags.count("help") != 0) {
    print_export_help();
    return exit_ok;
  }
  const ExportRequest request = parse_request(flags);
  watch_for_interrupts();
  if (request.to_standard_output()) {
    std::ios::sync_with_stdio(false);
    export_to(std::cout, request);
    if (!std::cout.flush()) throw trace::TraceError("standard output: cannot write");
    return exit_ok;
  }
  std::vector<fs::path> written;
  if (request.format == Format::csv && request.table.empty()) {
    written = export_tables(request);
  } else {
    const fs::path file = file_of(request, request.table);
    check_files(std::array{request.trace}, std::array{file});
    trace::write_file(file, [&](std::ostream& stream) { export_to(stream, request); });
    written.push_back(file);
  }
  for (const fs::path& file : written) fmt::print("wrote   {}\n", file.string());
  return exit_ok;
}

}  // namespace pipewright::cli
