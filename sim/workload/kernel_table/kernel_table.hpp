#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/kernel_table/measured_kernel.hpp"

// Tables of kernels that were measured alone on one GPU: CSV with a line of column names. Lines
// that begin with # are comments, and columns of other names are ignored. docs/gpus.md describes
// the columns, and examples/measure_gpu.py writes such tables.
namespace pipewright::workload {

// Returns whether the numbers of a GPU file determine the time of the measured kernel. They
// determine neither all-reduces nor single launches: the key `launch` is the host's time per kernel
// of a layer.
bool depends_on_gpu_file(const MeasuredKernel& row);

// Returns the name of the group of rows to which a row belongs, such as "product bf16", "attention
// forward" or "memory". The rows of a group are fitted, and their errors reported, together.
std::string group_of(const MeasuredKernel& row);

struct KernelTable {
  std::string file;
  std::vector<MeasuredKernel> rows;
};

// Reads a table, or only its rows of `system` if the table has a column of that name. Throws
// config::Error with the line of the fault.
KernelTable read_kernel_table(const std::filesystem::path& file,
                              const std::optional<std::string>& system = {});

// Returns the seconds that kernel_time() predicts for a row, at the clock that a kernel gets if it
// runs alone. Throws config::Error if the GPU lacks the data type.
double predicted_seconds(const MeasuredKernel& row, const config::Gpu& gpu);

}  // namespace pipewright::workload
