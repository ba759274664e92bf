#include "sim/workload/batch/document_lengths.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/mix.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::workload {

using config::Lengths;

DocumentLengths::DocumentLengths(const Lengths& lengths, std::uint32_t longest)
    : lengths_(lengths), longest_(lengths.longest.value_or(longest)) {
  if (lengths.mean && lengths.p95) {
    deviation_ = config::lognormal_deviation(*lengths.mean, *lengths.p95);
    middle_ = std::log(*lengths.mean) - deviation_ * deviation_ / 2;
  }
  double sum = 0;
  for (const Lengths::Bin& bin : lengths.histogram) sums_.push_back(sum += bin.weight);
}

std::uint32_t DocumentLengths::next() {
  const std::uint64_t index = count_++;
  if (!lengths_.documents.empty()) return lengths_.documents[index % lengths_.documents.size()];
  const std::uint64_t bits = base::mix(base::mix(lengths_.seed) ^ index);
  if (!sums_.empty()) {
    const double target = uniform(bits) * sums_.back();
    const auto bin = std::ranges::upper_bound(sums_, target) - sums_.begin();
    return lengths_.histogram[std::min<std::size_t>(bin, sums_.size() - 1)].tokens;
  }
  const double shortest = lengths_.shortest.value_or(1);
  if (!lengths_.mean)
    return static_cast<std::uint32_t>(shortest + uniform(bits) * (longest_ - shortest + 1));
  const double drawn = std::exp(middle_ + deviation_ * normal(bits));
  return static_cast<std::uint32_t>(
      std::llround(std::clamp(drawn, shortest, std::max<double>(shortest, longest_))));
}

}  // namespace pipewright::workload
