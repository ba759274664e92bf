#include "sim/comm/bench.hpp"

#include "sim/comm/alpha_beta.hpp"

namespace pipewright::comm {

Setting several_groups(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                       std::uint32_t groups, bool strided, Algorithm algorithm) {
  Setting setting{.operation = operation,
                  .algorithm = algorithm,
                  .places = place_ranks(cluster, ranks * groups),
                  .groups = std::vector<std::vector<std::uint32_t>>(groups)};
  for (std::uint32_t rank = 0; rank < ranks * groups; ++rank)
    setting.groups[strided ? rank % groups : rank / ranks].push_back(rank);
  return setting;
}

std::vector<analysis::BenchRow> bench(cluster::Cluster& cluster, const Setting& setting,
                                      std::span<const std::uint64_t> sizes,
                                      const std::function<void(std::size_t)>& report) {
  std::vector<analysis::BenchRow> rows;
  for (const std::uint64_t bytes : sizes) {
    const Prediction prediction = simulate(cluster, setting, bytes);
    rows.push_back({.bytes = bytes,
                    .seconds = prediction.seconds,
                    .formula = alpha_beta(setting, bytes),
                    .by = prediction.by});
    if (report) report(rows.size());
  }
  return rows;
}

}  // namespace pipewright::comm
