#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/text/value.hpp"
#include "sim/workload/kernel_table/fit_gpu.hpp"

// Functions that the verbs of `gpu` share: they read a GPU file and a table, and show errors.
namespace pipewright::cli {

// A GPU file: its YAML tree as written, and the GPU that it describes.
struct GpuFile {
  std::filesystem::path path;
  config::Value tree;
  config::Gpu gpu;
};

// Adds --gpu-file, --system, --json and --help.
void add_kernel_options(po::options_description& options);

// Reads the file of --gpu-file, a path or a library name. Throws UsageError if the option is
// missing.
GpuFile read_gpu_file(const po::variables_map& options, const std::string& verb);
// Reads a table of measured kernels and checks that its rows are possible on the GPU. Throws
// config::Error with the line of a fault.
workload::KernelTable read_table(const po::variables_map& options, const std::string& verb,
                                 const config::Gpu& gpu);

// Returns the GPU file that -o names, if any. Throws UsageError if its name does not end in .yaml,
// or if it is the first of the files that the command reads.
std::optional<std::filesystem::path> output_gpu_file(const po::variables_map& options,
                                                     const std::vector<std::string>& read);

struct GroupErrors {
  std::string name;
  workload::KernelErrors errors;
};
const analysis::ReportColumns<GroupErrors>& group_error_columns();

}  // namespace pipewright::cli
