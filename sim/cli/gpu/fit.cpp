#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/gpu/kernel_report.hpp"
#include "sim/config/derived_gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

using analysis::Json;
using analysis::Quantity;
using workload::GpuFit;

po::options_description gpu_fit_options() {
  po::options_description options("options of 'fit'", 100);
  add_kernel_options(options);
  options.add_options()("out,o", one_word("FILE.yaml"),
                        "GPU file to write, with the fitted numbers and their errors");
  return options;
}

int print_fit_help() {
  fmt::print(
      "usage: pipewright gpu fit TABLE.csv --gpu-file FILE|NAME [-o FILE.yaml] [OPTIONS]\n"
      "\n"
      "Fits a GPU file to a table of kernels that were measured alone, as\n"
      "examples/measure_gpu.py writes it: efficiency, waves and overhead of products by data\n"
      "type, attention and memory. Peaks, memory and numbers that the table does not determine\n"
      "keep their values in --gpu-file. Errors are shown for the rows that were fitted and, as\n"
      "'left out', for each half of the rows with numbers that are fitted to the other half.\n"
      "\n"
      "  pipewright gpu fit my-gpu.csv --gpu-file h100-sxm -o my-gpu.yaml\n"
      "  pipewright gpu fit kernels.csv --system b200_sxm --gpu-file b200 --json\n"
      "  pipewright run -c scenario.yaml --set gpu=my-gpu.yaml\n\n{}",
      describe(gpu_fit_options()));
  return exit_ok;
}

struct FittedKey {
  std::string key;
  std::string before;
  std::string value;
};

// Text at a dotted path of a file or, if it is absent, the default value of that key.
std::string key_text(const config::Value& tree, std::string_view path) {
  const std::string_view key = path;
  const config::Value* node = &tree;
  while (node != nullptr && node->kind == config::Value::Kind::map) {
    const std::size_t dot = path.find('.');
    node = config::find(*node, path.substr(0, dot));
    if (dot == std::string_view::npos && node != nullptr) return node->text;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  for (const config::KeyRow& row : config::gpu_keys())
    if (row.name == key) return std::string(row.info.default_value);
  return "";
}

std::vector<FittedKey> fitted_keys(const GpuFit& fit, const config::Value& tree) {
  std::vector<FittedKey> keys;
  for (const auto& [key, value] : fit.keys) keys.push_back({key, key_text(tree, key), value});
  return keys;
}

struct FittedErrors {
  GroupErrors fitted;
  GroupErrors left_out;
};

analysis::ReportColumns<FittedErrors> fitted_error_columns() {
  using Row = FittedErrors;
  const auto median = [](const Row& row) { return row.left_out.errors.median; };
  const auto p90 = [](const Row& row) { return row.left_out.errors.p90; };
  auto columns = analysis::of_part<Row>(group_error_columns(), &Row::fitted);
  columns.push_back(
      {"left_out_median_error", {"left out:", "median"}, Quantity::percent(), median});
  columns.push_back({"left_out_p90_error", {"p90"}, Quantity::percent(), p90});
  return columns;
}

const analysis::ReportColumns<FittedKey>& fitted_key_columns() {
  using Row = FittedKey;
  static const analysis::ReportColumns<Row> columns{
      {"key", {"key"}, Quantity::name(), &Row::key},
      {"before",
       {"before"},
       Quantity::count(),
       [](const Row& row) { return row.before.empty() ? Json() : Json(row.before); }},
      {"fitted", {"fitted"}, Quantity::count(), &Row::value}};
  return columns;
}

std::string fitted_gpu_file(const GpuFit& fit, const GpuFile& base, const std::string& table) {
  config::Value tree = base.tree;
  for (const auto& [key, value] : fit.keys) {
    config::set_value(tree, key, config::make_text(value, {}));
    config::mark_measured(tree, key);
  }
  std::string text = fmt::format(
      "# Fitted by {} to {}, from {}.\n# Median error and p90 of fitted rows, "
      "then of rows left out:\n",
      evaluation::versions(), analysis::printable(table),
      analysis::printable(base.path.filename().string()));
  for (const workload::FittedGroup& group : fit.groups)
    text += fmt::format(
        "#   {}, {}: {}, {}; {}, {}\n", group.name, analysis::counted(group.fitted.rows, "row"),
        analysis::format_percent(group.fitted.median), analysis::format_percent(group.fitted.p90),
        analysis::format_percent(group.left_out.median),
        analysis::format_percent(group.left_out.p90));
  return text + config::to_yaml(tree);
}

}  // namespace

int fit_gpu_file(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, gpu_fit_options(), "table");
  if (options.count("help") != 0) return print_fit_help();
  const std::optional<std::filesystem::path> output =
      output_gpu_file(options, values(options, "table"));
  const GpuFile base = read_gpu_file(options, "fit");
  const workload::KernelTable table = read_table(options, "fit", base.gpu);
  const GpuFit fit = workload::fit_gpu(table, base.gpu);
  const std::vector<FittedKey> keys =
      fitted_keys(fit, config::derived_gpu_tree({base.tree, "gpu"}));
  std::vector<FittedErrors> errors;
  for (const workload::FittedGroup& group : fit.groups)
    errors.push_back({{group.name, group.fitted}, {group.name, group.left_out}});
  const bool json = options.count("json") != 0;
  if (json) {
    fmt::print("{}", analysis::json_document({{"table", table.file},
                                              {"gpu", base.gpu.name},
                                              {"keys", json_rows(fitted_key_columns(), keys)},
                                              {"groups", json_rows(fitted_error_columns(), errors)},
                                              {"not_fitted", fit.notes}}));
  } else {
    fmt::print("{}\n{}", table_text(fitted_key_columns(), keys),
               table_text(fitted_error_columns(), errors));
    for (const std::string& note : fit.notes) fmt::print("not fitted: {}\n", note);
  }
  if (!output) return exit_ok;
  trace::write_file(*output, fitted_gpu_file(fit, base, table.file));
  if (!json) fmt::print("\nwrote   {}\n", output->string());
  return exit_ok;
}

}  // namespace pipewright::cli
