#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/gpu/kernel_report.hpp"
#include "sim/config/derived_gpu.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/library.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

using analysis::Quantity;
using config::Value;

po::options_description gpu_derive_options() {
  po::options_description options("options of 'derive'", 100);
  auto add = options.add_options();
  add("like", one_word("NAME|FILE"),
      "measured GPU whose numbers to take; default: 'like' of the sheet, or else the nearest GPU");
  add("out,o", one_word("FILE.yaml"), "GPU file to write");
  add("json", "print the result as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

int print_derive_help() {
  fmt::print(
      "usage: pipewright gpu derive SHEET.yaml [--like NAME|FILE] [-o FILE.yaml] [OPTIONS]\n"
      "\n"
      "Writes the file of a GPU that nobody has measured. SHEET.yaml has the numbers of its data\n"
      "sheet: flops, memory, memory_bandwidth, processors, power and products.TYPE.flops. The\n"
      "other numbers come from the measured GPU of --like: the parts of the peak and of the\n"
      "bandwidth that kernels reach, and fixed times. Clocks follow the power for each FLOP/s.\n"
      "The key 'derived' of the file lists these numbers, and times that depend on them are\n"
      "marked like those of assumed numbers.\n"
      "\n"
      "  pipewright gpu derive sheet.yaml --like b200\n"
      "  pipewright gpu derive sheet.yaml --like b200 -o my-gpu.yaml\n"
      "  pipewright run -c scenario.yaml --set gpu=my-gpu.yaml\n"
      "\n"
      "A sheet for Blackwell:\n"
      "\n"
      "  flops: 2250 TFLOP/s             # dense, bf16\n"
      "  memory: 180 GiB\n"
      "  memory_bandwidth: 7700 GB/s\n"
      "  processors: 148\n"
      "  power: {{compute: 1000 W}}\n"
      "  products: {{fp8: {{flops: 4500 TFLOP/s}}, nvfp4: {{flops: 9000 TFLOP/s}}}}\n"
      "\n"
      "A scenario can name a sheet directly. Its numbers are then derived each time it is read.\n"
      "\n{}",
      describe(gpu_derive_options()));
  return exit_ok;
}

// A number of the written file that comes from another GPU.
struct DerivedRow {
  std::string key;
  std::string value;
  std::string source;
  bool is_assumed = false;  // in the file of that GPU
};

const analysis::ReportColumns<DerivedRow>& derived_columns() {
  using Row = DerivedRow;
  static const analysis::ReportColumns<Row> columns{
      {"key", {"key"}, Quantity::name(), &Row::key},
      {"value", {"value"}, Quantity::count(), &Row::value},
      {"source", {"from"}, Quantity::name(), &Row::source},
      {"assumed",
       {"assumed there"},
       Quantity::name(),
       [](const Row& row) { return std::string(row.is_assumed ? "yes" : ""); }},
  };
  return columns;
}

bool has_key(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::any_of(
      keys, [&](const std::string& each) { return key == each || key.starts_with(each + "."); });
}

// Returns the derived numbers one by one: a map such as `attention` counts as its numbers.
std::vector<DerivedRow> derived_rows(const Value& tree, const config::Gpu& gpu) {
  std::vector<DerivedRow> rows;
  for (const config::DerivedNumber& number : gpu.derived)
    for (auto& [key, text] : texts_by_key(*value_at(tree, number.key), number.key))
      rows.push_back({key, text, number.source, has_key(gpu.assumed, key)});
  return rows;
}

// Returns the map of the sheet with its key `like`. Throws config::Error if the sheet lacks a
// number that no other GPU can give.
Value read_sheet(const po::variables_map& options) {
  const std::vector<std::string> words = values(options, "sheet");
  const Value file = config::make_text(single(words, "the data sheet of gpu derive"),
                                       {.source = "the command line"});
  Value tree = config::gpu_tree({file, "the data sheet"});
  if (options.count("like") != 0) {
    std::erase_if(tree.entries, [](const config::Entry& entry) { return entry.key == "like"; });
    tree.entries.push_back(
        {"like", tree.origin,
         config::make_text(options["like"].as<std::string>(), {.source = "--like"})});
  }
  for (const config::KeyRow& row : config::gpu_keys())
    if (row.info.required && row.name.find('.') == std::string::npos && row.name != "processors" &&
        find(tree, row.name) == nullptr)
      throw config::Error(tree.origin, fmt::format("{} is missing: {}", row.name, row.info.help),
                          row.name)
          .suggest("give the number of the data sheet");
  if (find(tree, "like") == nullptr)
    throw UsageError("gpu derive needs --like, since the sheet has measured numbers of its own")
        .suggest("name the measured GPU for its other numbers, such as b200");
  return config::with_name(std::move(tree), {file, "the data sheet"},
                           config::label_of_file(file.text));
}

std::string derived_gpu_file(const Value& sheet, const Value& tree) {
  return fmt::format(
             "# Derived by {} from a data sheet and the GPU {}.\n"
             "# The key derived lists the numbers that are not of the data sheet, by the GPU "
             "whose\n"
             "# file states them.\n",
             evaluation::versions(), analysis::printable(find(sheet, "like")->text)) +
         config::to_yaml(tree);
}

}  // namespace

int derive_gpu(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, gpu_derive_options(), "sheet");
  if (options.count("help") != 0) return print_derive_help();
  const std::optional<std::filesystem::path> output =
      output_gpu_file(options, values(options, "sheet"));
  const Value sheet = read_sheet(options);
  const Value tree = config::derived_gpu_tree({sheet, "gpu"});
  const config::Gpu gpu = config::read_gpu({tree, "gpu"});
  const std::vector<DerivedRow> rows = derived_rows(tree, gpu);
  const bool json = options.count("json") != 0;
  if (json)
    fmt::print("{}", analysis::json_document({{"gpu", gpu.name},
                                              {"like", find(sheet, "like")->text},
                                              {"derived", json_rows(derived_columns(), rows)}}));
  else
    fmt::print("{}", table_text(derived_columns(), rows));
  if (!output) return exit_ok;
  trace::write_file(*output, derived_gpu_file(sheet, tree));
  if (!json) fmt::print("\nwrote   {}\n", output->string());
  return exit_ok;
}

}  // namespace pipewright::cli
