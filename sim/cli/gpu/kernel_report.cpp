#include "sim/cli/gpu/kernel_report.hpp"

#include <array>

#include <fmt/format.h>

#include "sim/cli/output.hpp"
#include "sim/config/nearest_gpu.hpp"
#include "sim/config/text/library.hpp"
#include "sim/workload/kernel_table/table_checks.hpp"

namespace pipewright::cli {

void add_kernel_options(po::options_description& options) {
  auto add = options.add_options();
  add("gpu-file", one_word("FILE|NAME"), "GPU file, or a name in platforms/gpus");
  add("system", one_word("NAME"), "only rows of the table with this value in column 'system'");
  add("json", "print the result as JSON and nothing else");
  add("help,h", "print this help");
}

GpuFile read_gpu_file(const po::variables_map& options, const std::string& verb) {
  if (options.count("gpu-file") == 0)
    throw UsageError(fmt::format("gpu {} needs --gpu-file", verb))
        .suggest("give a file or a library name, such as h100-sxm");
  const std::string file_name = options["gpu-file"].as<std::string>();
  const bool is_name = config::is_library_name(file_name, ".yaml");
  GpuFile file{
      is_name ? config::library_file("gpus", file_name, ".yaml") : std::filesystem::path(file_name),
      {},
      {}};
  file.tree = config::with_nearest_gpu(
      config::read_yaml_file(file.path.string(), config::gpu_document), file.path.stem().string());
  file.gpu = config::read_gpu({file.tree, "gpu"});
  if (file.gpu.name.empty()) file.gpu.name = file.path.stem().string();
  return file;
}

std::optional<std::filesystem::path> output_gpu_file(const po::variables_map& options,
                                                     const std::vector<std::string>& read) {
  if (options.count("out") == 0) return std::nullopt;
  std::filesystem::path output = options["out"].as<std::string>();
  if (output.extension() != ".yaml")
    throw UsageError(fmt::format("-o {}: a GPU file ends in .yaml", output.string()));
  check_files(std::array<std::filesystem::path, 1>{read.empty() ? "" : read.front()},
              std::array{output});
  return output;
}

workload::KernelTable read_table(const po::variables_map& options, const std::string& verb,
                                 const config::Gpu& gpu) {
  const std::vector<std::string> tables = values(options, "table");
  const std::string& file = single(tables, fmt::format("the table of gpu {}", verb));
  std::optional<std::string> system;
  if (options.count("system") != 0) system = options["system"].as<std::string>();
  workload::KernelTable table = workload::read_kernel_table(file, system);
  check_table(table, gpu);
  return table;
}

const analysis::ReportColumns<GroupErrors>& group_error_columns() {
  using analysis::Quantity;
  using Row = GroupErrors;
  const auto part = [](double workload::KernelErrors::*member) {
    return [member](const Row& row) { return row.errors.*member; };
  };
  static const analysis::ReportColumns<Row> columns{
      {"kernels", {"kernels"}, Quantity::name(), &Row::name},
      {"rows", {"rows"}, Quantity::count(), [](const Row& row) { return row.errors.rows; }},
      {"median_error", {"median"}, Quantity::percent(), part(&workload::KernelErrors::median)},
      {"mean_error", {"mean"}, Quantity::percent(), part(&workload::KernelErrors::mean)},
      {"p90_error", {"p90"}, Quantity::percent(), part(&workload::KernelErrors::p90)},
      {"largest_error", {"largest"}, Quantity::percent(), part(&workload::KernelErrors::largest)},
      {"bias", {"bias"}, Quantity::percent(), part(&workload::KernelErrors::bias)}};
  return columns;
}

}  // namespace pipewright::cli
