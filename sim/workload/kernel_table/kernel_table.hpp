#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// Tables of kernels that were measured alone on one GPU: CSV with a line of column names. Lines
// that begin with # are comments, and columns of other names are ignored. docs/gpus.md describes
// the columns, and examples/measure_gpu.py writes such tables.
namespace pipewright::workload {

enum class Measured : std::uint8_t {
  product,     // [m x k] times [k x n]
  grouped,     // `count` of them in one kernel
  cast,        // of m x k elements from 16 bits to the type
  attention,   // fused, forward or backward
  memory,      // moves bytes
  launch,      // the host's time for a kernel
  all_reduce,  // of which a GPU file says nothing
};

struct MeasuredKernel {
  Measured kind = Measured::product;
  Kernel kernel;          // what kernel_time() takes
  bool in_graph = false;  // of a launch
  double casts = 0;       // elements that are cast within the measured time
  double seconds = 0;
  std::size_t line = 0;
  std::string words;  // "4096 x 2048 x 8192", for a person
};

// Whether a GPU file says how long it takes: not so all-reduces and launches in a graph.
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
