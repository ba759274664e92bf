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

// Whether a GPU file says how long it takes: not so all-reduces and launches, which
// are not what the key `launch` is: the host's time for each kernel that a layer counts.
bool is_of_gpu_file(const MeasuredKernel& row);

// "product bf16", "attention forward", "memory": what is fitted and judged together.
std::string group_of(const MeasuredKernel& row);

struct KernelTable {
  std::string file;
  std::vector<MeasuredKernel> rows;
};

// Only rows of this `system`, where the table has a column of that name. Throws config::Error with
// the line of what is wrong.
KernelTable read_kernel_table(const std::filesystem::path& file,
                              const std::optional<std::string>& system = {});

// On a GPU at the clock of kernels alone. Throws config::Error where the GPU lacks the type.
double predicted_seconds(const MeasuredKernel& row, const config::Gpu& gpu);

}  // namespace pipewright::workload
