#include "sim/rl/reshard.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace pipewright::rl {
namespace {

// Returns the share of a matrix that two parts of it have in common: part `index` of `parts` equal
// parts, and part `other_index` of `other_parts`.
double common_part(std::uint32_t index, std::uint32_t parts, std::uint32_t other_index,
                   std::uint32_t other_parts) {
  const double begin = std::max(double(index) / parts, double(other_index) / other_parts);
  const double end = std::min((index + 1.0) / parts, (other_index + 1.0) / other_parts);
  return std::max(0.0, end - begin);
}

class Flows {
 public:
  explicit Flows(const Layouts& layouts) : layouts_(layouts) {}

  std::vector<WeightFlow> take() {
    const config::Parallel& training = layouts_.training;
    // Ranks of dp and cp have the same weights; with ZeRO-3, `sharers_` of them divide a copy.
    const std::uint32_t holders = training.dp.value * training.cp.value;
    sharers_ = training.zero == 3 ? holders / training.replicates() : 1;
    const std::uint32_t copies = holders / sharers_;
    for (std::uint32_t engine = 0; engine < layouts_.engines; ++engine)
      if (engine < copies)
        from_training(engine, engine);
      else
        from_engine(engine, engine - copies);
    std::vector<WeightFlow> flows;
    for (const auto& [ends, bytes] : bytes_)
      if (bytes > 0) flows.push_back({ends.first, ends.second, bytes});
    return flows;
  }

 private:
  std::uint32_t gpu(std::uint32_t engine, std::uint32_t member) const {
    return layouts_.first_engine + engine * layouts_.tp + member;
  }
  void send(std::uint32_t sender, std::uint32_t receiver, double bytes) {
    if (sender != receiver) bytes_[{sender, receiver}] += bytes;
  }

  void from_engine(std::uint32_t engine, std::uint32_t source) {
    double bytes = 0;
    for (const DeviceWeights& weights : layouts_.weights) bytes += weights.dense + weights.experts;
    for (std::uint32_t member = 0; member < layouts_.tp; ++member)
      send(gpu(source, member), gpu(engine, member), bytes / layouts_.tp);
  }

  // Each rank of the copy sends its weights to the GPUs of the engine that need them.
  void from_training(std::uint32_t engine, std::uint32_t copy) {
    const config::Parallel& training = layouts_.training;
    for (std::uint32_t rank = 0; rank < layouts_.ranks.size(); ++rank) {
      const workload::Coordinates coordinates = layouts_.ranks.of(rank);
      const DeviceWeights& weights = layouts_.weights[coordinates.pp];
      if ((coordinates.dp * training.cp.value + coordinates.cp) / sharers_ == copy)
        for (std::uint32_t member = 0; member < layouts_.tp; ++member)
          send(rank, gpu(engine, member),
               weights.dense / sharers_ *
                   common_part(coordinates.tp, training.tp.value, member, layouts_.tp));
      send_experts(engine, copy, rank, coordinates);
    }
  }

  void send_experts(std::uint32_t engine, std::uint32_t copy, std::uint32_t rank,
                    const workload::Coordinates& coordinates) {
    const config::Parallel& training = layouts_.training;
    const double experts = layouts_.weights[coordinates.pp].experts;
    if (experts == 0) return;
    const auto replicas = static_cast<std::uint32_t>(training.expert_replicas());
    const std::uint32_t sharers = training.zero == 3 ? replicas / training.replicates() : 1;
    if (coordinates.edp / sharers != copy % (replicas / sharers)) return;
    for (std::uint32_t member = 0; member < layouts_.tp; ++member)
      send(rank, gpu(engine, member),
           experts / training.ep.value / sharers *
               common_part(coordinates.etp, training.expert_tp(), member, layouts_.tp));
  }

  const Layouts& layouts_;
  std::uint32_t sharers_ = 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes_;
};

}  // namespace

std::vector<WeightFlow> weight_flows(const Layouts& layouts) { return Flows(layouts).take(); }

double transfer_seconds(comm::Paths& paths, std::span<const WeightFlow> flows) {
  constexpr double rounding = 1 + 1e-9;  // flows whose ends differ by less end together
  struct Active {
    const execution::FlowPath* path;
    double bytes;
  };
  std::vector<Active> active;
  for (const WeightFlow& flow : flows)
    active.push_back({&paths.path(flow.sender, flow.receiver), flow.bytes});
  execution::FairSharing sharing(paths.bandwidth());
  std::vector<const execution::FlowPath*> shared;
  double seconds = 0;
  while (!active.empty()) {
    shared.clear();
    for (const Active& flow : active) shared.push_back(flow.path);
    const std::vector<execution::FairShare>& shares = sharing.share(shared);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < active.size(); ++i)
      step = std::min(step, active[i].bytes / shares[i].rate);
    seconds += step;
    std::vector<Active> unfinished;
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i].bytes > step * rounding * shares[i].rate)
        unfinished.push_back({active[i].path, active[i].bytes - step * shares[i].rate});
    active = std::move(unfinished);
  }
  return seconds;
}

}  // namespace pipewright::rl
