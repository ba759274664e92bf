#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/cli/gpu/kernel_report.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cli {
namespace {

using analysis::Quantity;

// A row of the table and what the file says of it.
struct CheckedKernel {
  const workload::MeasuredKernel* row = nullptr;
  double predicted = 0;
  double error = 0;
};

po::options_description check_options() {
  po::options_description options("options of 'check'", 100);
  add_kernel_options(options);
  auto add = options.add_options();
  add("worst", one_word("N"), "show so many of the rows that are farthest off (5)");
  add("max-error", one_word("PERCENT"), "exit with status 1 if a median error is above: 5%");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright gpu check TABLE.csv --gpu-file FILE|NAME [OPTIONS]\n"
      "\n"
      "Compares what a GPU file says of single kernels with what was measured: errors of products\n"
      "by data type, of attention, of what moves bytes, and the rows farthest off.\n"
      "Errors are predicted over measured time, less 1; 'bias' is their median with signs. The\n"
      "sustained clock (key 'clock') plays no part: kernels alone run at their own.\n"
      "\n"
      "  pipewright gpu check my-gpu.csv --gpu-file h100-sxm\n"
      "  pipewright gpu check my-gpu.csv --gpu-file my-gpu.yaml --worst 20\n"
      "  pipewright gpu check kernels.csv --system b200_sxm --gpu-file b200 --max-error 5%\n\n{}",
      describe(check_options()));
  return exit_ok;
}

const analysis::ReportColumns<CheckedKernel>& kernel_columns() {
  using Row = CheckedKernel;
  static const analysis::ReportColumns<Row> columns{
      {"kernels",
       {"farthest off"},
       Quantity::name(),
       [](const Row& row) { return workload::group_of(*row.row); }},
      {"shape", {"shape"}, Quantity::name(), [](const Row& row) { return row.row->words; }},
      {"line", {"line"}, Quantity::count(), [](const Row& row) { return row.row->line; }},
      {"measured_s",
       {"measured"},
       Quantity::seconds(4),
       [](const Row& row) { return row.row->seconds; }},
      {"predicted_s", {"predicted"}, Quantity::seconds(4), &Row::predicted},
      {"error", {"error"}, Quantity::percent(), &Row::error}};
  return columns;
}

std::vector<CheckedKernel> checked(const workload::KernelTable& table, const config::Gpu& gpu) {
  std::vector<CheckedKernel> rows;
  for (const workload::MeasuredKernel& row : table.rows)
    if (workload::depends_on_gpu_file(row))
      rows.push_back({&row, workload::predicted_seconds(row, gpu), workload::error_of(row, gpu)});
  return rows;
}

std::vector<GroupErrors> by_group(const std::vector<CheckedKernel>& rows) {
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
  const po::variables_map given = parse(arguments, check_options(), "table");
  if (given.count("help") != 0) return print_help();
  const std::size_t most = given.count("worst") != 0 ? read_count(given, "worst") : 5;
  std::optional<double> bar;
  if (given.count("max-error") != 0)
    bar = config::parse_share(given["max-error"].as<std::string>(), "--max-error",
                              "a median error such as 5%");
  const GpuFile file = read_gpu_file(given, "check");
  const workload::KernelTable table = read_table(given, "check", file.gpu);
  std::vector<CheckedKernel> rows = checked(table, file.gpu);
  const std::vector<GroupErrors> groups = by_group(rows);
  std::ranges::stable_sort(rows, std::greater{},
                           [](const CheckedKernel& row) { return std::abs(row.error); });
  rows.resize(std::min(rows.size(), most));
  if (given.count("json") != 0)
    fmt::print("{}", analysis::json_document({{"gpu", file.gpu.name},
                                              {"table", table.file},
                                              {"groups", json_rows(group_error_columns(), groups)},
                                              {"worst", json_rows(kernel_columns(), rows)}}));
  else
    fmt::print("{} against {}\n\n{}\n{}", analysis::printable(table.file),
               analysis::printable(file.gpu.name), table_text(group_error_columns(), groups),
               table_text(kernel_columns(), rows));
  const auto is_above = [&](const GroupErrors& group) { return bar && group.errors.median > *bar; };
  const auto above = std::ranges::find_if(groups, is_above);
  if (above == groups.end()) return exit_ok;
  fmt::print(stderr, "the median error of {} is {}, above --max-error {}\n", above->name,
             analysis::format_percent(above->errors.median), analysis::format_percent(*bar));
  return exit_findings;
}

}  // namespace pipewright::cli
