#include "sim/workload/model/newton_schulz.hpp"

#include <algorithm>

#include "sim/workload/compute/efficiency.hpp"

namespace pipewright::workload {
namespace {

using config::Optimizer;

config::DataType product_type(Optimizer::Products products) {
  switch (products) {
    case Optimizer::Products::bf16:
      break;
    case Optimizer::Products::tf32:
      return config::DataType::tf32;
    case Optimizer::Products::fp32:
      return config::DataType::fp32;
  }
  return config::DataType::bf16;
}

// Product of (rows x inner) and (inner x columns), which is added to `added` tensors of the shape
// of the result.
Kernel product(config::DataType type, double rows, double columns, double inner, double added) {
  const double result = rows * columns;
  return {.name = "product",
          .work = Kernel::Work::product,
          .type = type,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .flops = 2 * result * inner,
          .bytes = config::element_bytes(type) * (inner * (rows + columns) + (1 + added) * result)};
}

// Iterations of one matrix X of m x n elements on a rank, which sums up A over several ranks if
// they share its columns.
void add_iterations(double m, double n, const Optimizer& optimizer, const config::Gpu& gpu,
                    MatrixStep& step) {
  const config::DataType type = product_type(optimizer.ns_precision);
  for (const Kernel& kernel :
       {product(type, m, m, n, 0), product(type, m, m, m, 1), product(type, m, n, m, 1)}) {
    step.seconds += optimizer.ns_steps * kernel_time(kernel, gpu).seconds;
    step.flops += optimizer.ns_steps * kernel.flops;
    step.launches += optimizer.ns_steps;
  }
}

// Bytes that the kernels beside the products read and write per element, and their number:
// decay (8), momentum (12), norm (4) and division (8), cast to bf16 and back (12), two scalings
// (16), update (12) and the copy into the weights (6).
constexpr double elementwise_bytes = 8 + 12 + 4 + 8 + 12 + 16 + 12 + 6;
constexpr double elementwise_kernels = 10;

}  // namespace

MatrixStep matrix_step(const Matrix& matrix, const config::Training& training, std::uint32_t ranks,
                       const config::Gpu& gpu) {
  using Cut = Matrix::Cut;
  using TensorMode = Optimizer::TensorMode;
  constexpr double state = 4;  // bytes of an element of the momentum
  const Optimizer& optimizer = training.optimizer;
  const bool is_cut = ranks > 1 && matrix.cut != Cut::none;
  const TensorMode mode = is_cut ? optimizer.tp_mode : TensorMode::blockwise;
  const Group group = matrix.is_expert ? Group::etp : Group::tp;
  MatrixStep step;
  const auto columns = static_cast<double>(matrix.columns);
  const bool is_split = optimizer.split_qkv && !matrix.fused.empty();
  for (const std::uint64_t part : is_split ? matrix.fused : std::vector{matrix.rows}) {
    const auto rows = static_cast<double>(part);
    const double elements = rows * columns;
    double whole = elements;
    if (mode == TensorMode::duplicated) {
      whole *= ranks;
      const double whole_rows = matrix.cut == Cut::rows ? rows * ranks : rows;
      const double whole_columns = whole / whole_rows;
      add_iterations(std::min(whole_rows, whole_columns), std::max(whole_rows, whole_columns),
                     optimizer, gpu, step);
      step.calls.push_back({.group = group,
                            .collective = Collective::all_gather,
                            .bytes = static_cast<std::uint64_t>(state * whole)});
    } else if (mode == TensorMode::distributed) {
      // The ranks share the columns of X, so that A has the size of the dimension that is not cut.
      const double m = matrix.cut == Cut::rows ? columns : rows;
      add_iterations(m, elements / m, optimizer, gpu, step);
      const double element = config::element_bytes(product_type(optimizer.ns_precision));
      step.calls.push_back({.group = group,
                            .collective = Collective::all_reduce,
                            .bytes = static_cast<std::uint64_t>(element * m * m),
                            .times = optimizer.ns_steps});
    } else {
      add_iterations(std::min(rows, columns), std::max(rows, columns), optimizer, gpu, step);
    }
    const double gathered = mode == TensorMode::duplicated ? 2 * state * whole : 0;
    step.working = std::max(step.working, 3 * state * whole + gathered);
    step.seconds += memory_seconds(gpu, elementwise_bytes * whole) +
                    (elementwise_kernels - 1) * gpu.kernel_overhead;
    step.launches += elementwise_kernels;
  }
  return step;
}

}  // namespace pipewright::workload
