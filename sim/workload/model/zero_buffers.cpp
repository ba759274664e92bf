#include "sim/workload/model/zero_buffers.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {

std::uint64_t gathered_bytes(const Setting& setting, const StageParts& stage,
                             const ZeroGroups& zero) {
  if (zero.level < 3) return 0;
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  for (const Parameters& part : part_parameters(setting, stage)) {
    most = std::max(most, before + part.all());
    before = part.all();
  }
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(most) * setting.training.bytes.gathered));
}

std::uint32_t gradient_parts(std::uint64_t dense_parameters, const config::Communication& talk,
                             std::uint32_t copies) {
  const std::uint64_t bytes = dense_parameters * talk.gradient_bytes;
  const std::uint64_t bucket = config::bucket_bytes(talk, copies);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + bucket - 1) / bucket));
}

std::uint64_t unsharded_gradient_bytes(const Parameters& stage, const config::Communication& talk,
                                       const ZeroGroups& zero) {
  if (zero.level < 2) return 0;
  // What no other rank has is summed where it is.
  const std::uint64_t cut =
      (zero.dense > 1 ? stage.dense : 0) + (zero.experts > 1 ? stage.experts : 0);
  const std::uint64_t whole = cut * talk.gradient_bytes;
  if (!talk.overlap_grad_reduce) return whole;
  const std::uint32_t parts =
      gradient_parts(stage.dense, talk, static_cast<std::uint32_t>(zero.dense));
  return parts < 2 ? whole : 2 * (whole / parts);
}

}  // namespace pipewright::workload
