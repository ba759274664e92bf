#include "sim/workload/kernel_table/experts_row.hpp"

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using config::DataType;

Kernel grouped_kernel(const ExpertsTiming& timing, double columns, double inner) {
  const double element_bytes = config::element_bytes(timing.type);
  const double local_experts = timing.experts / timing.ep;
  const double rows = timing.tokens * timing.top_k / timing.experts;
  return {.work = Kernel::Work::grouped,
          .type = timing.type,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .count = local_experts,
          .flops = 2 * local_experts * rows * columns * inner,
          .bytes = local_experts * (element_bytes * inner * (rows + columns) + 2 * rows * columns)};
}

}  // namespace

MeasuredKernel experts_row(const ExpertsTiming& timing) {
  const double element_bytes = config::element_bytes(timing.type);
  const double outputs = timing.gated ? 2 : 1;
  const double rows = timing.tokens * timing.top_k / timing.ep;
  const double sorted = rows * timing.hidden;
  const double token_elements = timing.tokens * timing.hidden;
  const auto moving = [](double bytes) { return Kernel{.bytes = bytes}; };
  // Tokens are cast before they are sorted if the whole tensor has one scale, and afterwards if
  // each block has its own.
  const bool cast_first = timing.type == DataType::fp8;
  MeasuredKernel row;
  row.kind = MeasuredKind::experts;
  row.kernel = grouped_kernel(timing, outputs * timing.inter, timing.hidden);
  row.extra_kernels = {grouped_kernel(timing, timing.hidden, timing.inter),
                       moving(2 * sorted * (cast_first ? element_bytes : 2)),
                       moving(rows * timing.inter * (2 * outputs + element_bytes)),  // activation
                       moving(2 * sorted + 2 * token_elements)};
  if (cast_first) row.extra_kernels.push_back(moving(token_elements * (2 + element_bytes)));
  row.casts = config::is_scaled(timing.type) ? sorted : 0;
  row.seconds = timing.seconds;
  row.description =
      fmt::format("{} tokens, {} x {}, {} of {} experts, ep {}", timing.tokens, timing.hidden,
                  timing.inter, timing.top_k, timing.experts, timing.ep);
  return row;
}

}  // namespace pipewright::workload
