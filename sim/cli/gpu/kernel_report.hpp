#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/text/value.hpp"
#include "sim/workload/kernel_table/fit_gpu.hpp"

// What `gpu fit` and `gpu check` share: a GPU file and a table, and how errors are shown.
namespace pipewright::cli {

// A GPU file as it is written, and what it says.
struct GpuFile {
  std::filesystem::path path;
  config::Value tree;
  config::Gpu gpu;
};

void add_kernel_options(po::options_description& options);  // --gpu-file, --system, --json, --help

// The file of --gpu-file: a path, or a name of the library. Throws UsageError where it is missing.
GpuFile read_gpu_file(const po::variables_map& given, const std::string& verb);
// The table, each row of which that GPU may have taken. Throws config::Error with the line.
workload::KernelTable read_table(const po::variables_map& given, const std::string& verb,
                                 const config::Gpu& gpu);

struct GroupErrors {
  std::string name;
  workload::KernelErrors errors;
};
const analysis::ReportColumns<GroupErrors>& group_error_columns();

}  // namespace pipewright::cli
