#include "sim/workload/kernel_table/experts_row.hpp"

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using config::DataType;

Kernel grouped(const ExpertsTiming& timing, double columns, double inner) {
  const double each = config::element_bytes(timing.type);
  const double here = timing.experts / timing.ep;
  const double rows = timing.tokens * timing.top_k / timing.experts;
  return {.work = Kernel::Work::grouped,
          .type = timing.type,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .count = here,
          .flops = 2 * here * rows * columns * inner,
          .bytes = here * (each * inner * (rows + columns) + 2 * rows * columns)};
}

}  // namespace

MeasuredKernel experts_row(const ExpertsTiming& timing) {
  const double each = config::element_bytes(timing.type);
  const double made = timing.gated ? 2 : 1;
  const double rows = timing.tokens * timing.top_k / timing.ep;
  const double sorted = rows * timing.hidden;
  const double all = timing.tokens * timing.hidden;
  const auto moving = [](double bytes) { return Kernel{.bytes = bytes}; };
  // One scale for a whole tensor is applied to tokens before they are sorted, one a block after.
  const bool cast_first = timing.type == DataType::fp8;
  MeasuredKernel row;
  row.kind = Measured::experts;
  row.kernel = grouped(timing, made * timing.inter, timing.hidden);
  row.others = {grouped(timing, timing.hidden, timing.inter),
                moving(2 * sorted * (cast_first ? each : 2)),
                moving(rows * timing.inter * (2 * made + each)),  // the activation
                moving(2 * sorted + 2 * all)};
  if (cast_first) row.others.push_back(moving(all * (2 + each)));
  row.casts = config::is_scaled(timing.type) ? sorted : 0;
  row.seconds = timing.seconds;
  row.words = fmt::format("{} tokens, {} x {}, {} of {} experts, ep {}", timing.tokens,
                          timing.hidden, timing.inter, timing.top_k, timing.experts, timing.ep);
  return row;
}

}  // namespace pipewright::workload
