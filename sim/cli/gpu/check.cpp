#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/cli/gpu/kernel_report.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cli {
namespace {

using analysis::Quantity;

// A row of the table with the time that the GPU file predicts.
struct CheckedKernel {
  const workload::MeasuredKernel* row = nullptr;
  double predicted = 0;
  double error = 0;
};

po::options_description gpu_check_options() {
  po::options_description options("options of 'check'", 100);
  add_kernel_options(options);
  auto add = options.add_options();
  add("worst", one_word("N"), "number of rows with the largest errors to show (5)");
  add("max-error", one_word("PERCENT"),
      "exit with status 1 if a median error exceeds this limit, such as 5%");
  return options;
}

int print_check_help() {
  fmt::print(
      "usage: pipewright gpu check TABLE.csv --gpu-file FILE|NAME [OPTIONS]\n"
      "\n"
      "Compares the times that a GPU file predicts for single kernels with measured times.\n"
      "Shows errors by kind of kernel (products by data type, attention, kernels bound by\n"
      "memory) and the rows with the largest errors. An error is predicted over measured time,\n"
      "minus 1; 'bias' is the median of signed errors. The sustained clock (key 'clock') has no\n"
      "effect, because kernels that run alone have their own clock.\n"
      "\n"
      "  pipewright gpu check my-gpu.csv --gpu-file h100-sxm\n"
      "  pipewright gpu check my-gpu.csv --gpu-file my-gpu.yaml --worst 20\n"
      "  pipewright gpu check kernels.csv --system b200_sxm --gpu-file b200 --max-error 5%\n\n{}",
      describe(gpu_check_options()));
  return exit_ok;
}

const analysis::ReportColumns<CheckedKernel>& checked_kernel_columns() {
  using Row = CheckedKernel;
  static const analysis::ReportColumns<Row> columns{
      {"kernels",
       {"largest errors"},
       Quantity::name(),
       [](const Row& row) { return workload::group_of(*row.row); }},
      {"shape", {"shape"}, Quantity::name(), [](const Row& row) { return row.row->description; }},
      {"line", {"line"}, Quantity::count(), [](const Row& row) { return row.row->line; }},
      {"measured_s",
       {"measured"},
       Quantity::seconds(4),
       [](const Row& row) { return row.row->seconds; }},
      {"predicted_s", {"predicted"}, Quantity::seconds(4), &Row::predicted},
      {"error", {"error"}, Quantity::percent(), &Row::error}};
  return columns;
}

std::vector<CheckedKernel> check_kernels(const workload::KernelTable& table,
                                         const config::Gpu& gpu) {
  std::vector<CheckedKernel> rows;
  for (const workload::MeasuredKernel& row : table.rows)
    if (workload::depends_on_gpu_file(row))
      rows.push_back({&row, workload::predicted_seconds(row, gpu), workload::error_of(row, gpu)});
  return rows;
}

std::vector<GroupErrors> errors_by_group(const std::vector<CheckedKernel>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> errors;
  for (const CheckedKernel& row : rows) {
    const std::string name = workload::group_of(*row.row);
    if (!errors.contains(name)) order.push_back(name);
    errors[name].push_back(row.error);
  }
  std::vector<GroupErrors> groups;
  for (const std::string& name : order) groups.push_back({name, workload::errors_of(errors[name])});
  return groups;
}

}  // namespace

int check_gpu(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, gpu_check_options(), "table");
  if (options.count("help") != 0) return print_check_help();
  const std::size_t max_rows = options.count("worst") != 0 ? read_count(options, "worst") : 5;
  std::optional<double> limit;
  if (options.count("max-error") != 0)
    limit = config::parse_share(options["max-error"].as<std::string>(), "--max-error",
                                "a median error such as 5%");
  const GpuFile file = read_gpu_file(options, "check");
  const workload::KernelTable table = read_table(options, "check", file.gpu);
  std::vector<CheckedKernel> rows = check_kernels(table, file.gpu);
  const std::vector<GroupErrors> groups = errors_by_group(rows);
  std::ranges::stable_sort(rows, std::greater{},
                           [](const CheckedKernel& row) { return std::abs(row.error); });
  rows.resize(std::min(rows.size(), max_rows));
  if (options.count("json") != 0)
    fmt::print("{}",
               analysis::json_document({{"gpu", file.gpu.name},
                                        {"table", table.file},
                                        {"groups", json_rows(group_error_columns(), groups)},
                                        {"worst", json_rows(checked_kernel_columns(), rows)}}));
  else
    fmt::print("{} against {}\n\n{}\n{}", analysis::printable(table.file),
               analysis::printable(file.gpu.name), table_text(group_error_columns(), groups),
               table_text(checked_kernel_columns(), rows));
  const auto is_above = [&](const GroupErrors& group) {
    return limit && group.errors.median > *limit;
  };
  const auto above = std::ranges::find_if(groups, is_above);
  if (above == groups.end()) return exit_ok;
  fmt::print(stderr, "the median error of {} is {}, above --max-error {}\n", above->name,
             analysis::format_percent(above->errors.median), analysis::format_percent(*limit));
  return exit_findings;
}

}  // namespace pipewright::cli
