#include "sim/rl/decode.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::rl {
namespace {

// Returns the seconds of a decode step from measured points: linear in the batch between points,
// and at the tokens/s of the last point beyond it.
double interpolated(const std::vector<DecodePoint>& table, double batch) {
  const auto seconds = [](const DecodePoint& point) { return point.batch / point.tokens_per_s; };
  const auto next = std::ranges::lower_bound(table, batch, {}, &DecodePoint::batch);
  if (next == table.end()) return batch / table.back().tokens_per_s;
  if (next == table.begin()) return seconds(*next);
  const DecodePoint& last = *(next - 1);
  const double share = (batch - last.batch) / static_cast<double>(next->batch - last.batch);
  return seconds(last) + share * (seconds(*next) - seconds(last));
}

}  // namespace

double DecodeCost::step(std::uint64_t batch, double context) const {
  return steps(batch, context, 1);
}

double DecodeCost::steps(std::uint64_t batch, double context, std::uint64_t steps) const {
  if (batch == 0 || steps == 0) return 0;
  const auto sequences = static_cast<double>(batch);
  const auto count = static_cast<double>(steps);
  if (!table.empty()) return count * interpolated(table, sequences);
  // Share of the experts that no sequence chooses, if each chooses top_k of them independently.
  const double unread =
      experts == 0 ? 1 : std::pow(1 - static_cast<double>(top_k) / experts, sequences);
  const double read = weight_bytes + expert_bytes * (1 - unread) + bytes_per_sequence * sequences +
                      bytes_per_token * context;
  const double first = read / bandwidth;
  const double growth = bytes_per_token * sequences / bandwidth;
  const double compute = flop_per_token * sequences / flops;
  // Number of steps that compute limits. After them memory limits, since the context grows.
  double compute_bound = 0;
  if (first < compute)
    compute_bound = growth > 0 ? std::min(count, std::ceil((compute - first) / growth)) : count;
  const double memory_bound = count - compute_bound;
  return compute_bound * compute + memory_bound * first +
         growth * (compute_bound * memory_bound + memory_bound * (memory_bound - 1) / 2) +
         count * overhead;
}

std::uint64_t DecodeCost::steps_within(std::uint64_t batch, double context, std::uint64_t max_steps,
                                       double seconds) const {
  std::uint64_t low = 0;
  std::uint64_t high = max_steps;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (steps(batch, context, middle) <= seconds)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

}  // namespace pipewright::rl
