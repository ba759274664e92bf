#include "sim/execution/pass_work.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/mix.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::execution {
namespace {

using schedules::Pass;
using workload::normal;
using workload::PassRatios;
using workload::uniform;
using Distribution = config::Variation::Distribution;

// Clamps a duration factor to [0, 2]: a pass cannot take negative time, and the symmetric clamp
// keeps the mean of symmetric distributions.
double clamp_factor(double factor) { return std::clamp(factor, 0.0, 2.0); }

double random_factor(const config::Variation& variation, std::uint64_t bits) {
  const double deviation = variation.jitter;
  switch (variation.distribution) {
    case Distribution::normal:
      return clamp_factor(1 + deviation * normal(bits));
    case Distribution::uniform:
      return clamp_factor(1 + deviation * std::sqrt(3.0) * (2 * uniform(bits) - 1));
    case Distribution::lognormal:
      break;
  }
  const double variance = std::log1p(deviation * deviation);
  return std::exp(std::sqrt(variance) * normal(bits) - variance / 2);
}

PassRatios ratios_on(const Job& job, std::uint32_t replica, const Pass& pass) {
  return job.uneven ? workload::ratios_of(*job.uneven, job.costs, replica, pass) : PassRatios{};
}

// Calls visit(replica) for every replica that shares a collective with the pass; a replica may be
// visited more than once.
template <class Visit>
void for_each_synchronized_replica(const Job& job, const ReplicaGroups& replica_groups,
                                   ReplicaDevice copy, const Pass& pass, const Visit& visit) {
  if (job.costs.traffic.empty()) return;
  for (const workload::Call& call : job.costs.traffic[pass.stage][pass.kind])
    for (const std::uint32_t replica : replica_groups.all_replicas_with(call.group, copy))
      visit(replica);
}

// Factors by which the planned durations of a pass or a fused pair are multiplied: for its kernel
// launches, and for the kernels of each pass.
struct Pace {
  double host = 1;
  std::array<double, 2> kernels{1, 1};

  // Factor for the kernels of both passes together, weighted by their planned durations `first` and
  // `second` in seconds.
  double mean(double first, double second) const {
    if (kernels[0] == kernels[1]) return kernels[0];
    const double sum = first + second;
    return sum > 0 ? (kernels[0] * first + kernels[1] * second) / sum : kernels[0];
  }
};

Pace copy_pace(const Job& job, ReplicaDevice copy, const Pass& pass, const Pass* partner) {
  const double noise_factor = noise(job, copy, pass);
  Pace pace{.host = noise_factor, .kernels = {noise_factor, noise_factor}};
  if (!job.uneven) return pace;
  pace.kernels[0] *= ratios_on(job, copy.replica, pass).kernels;
  if (partner != nullptr) pace.kernels[1] *= ratios_on(job, copy.replica, *partner).kernels;
  return pace;
}

// Pace of a pass. Passes that communicate with other replicas run at the pace of the slowest one.
// In full detail the simulated collectives have that effect.
Pace slowest_pace(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice copy,
                  const Pass& pass, const Pass* partner) {
  Pace slowest = copy_pace(job, copy, pass, partner);
  if (job.has_full_detail() || !job.passes_vary()) return slowest;
  for (const Pass* member : {&pass, partner})
    if (member != nullptr)
      for_each_synchronized_replica(job, replica_groups, copy, *member, [&](std::uint32_t replica) {
        const Pace replica_pace = copy_pace(job, {replica, copy.device}, pass, partner);
        slowest.host = std::max(slowest.host, replica_pace.host);
        for (const std::size_t i : {0U, 1U})
          slowest.kernels[i] = std::max(slowest.kernels[i], replica_pace.kernels[i]);
      });
  return slowest;
}

// Sizes of the pass's microbatch relative to the mean. Collectives that replicas share carry the
// bytes of the largest of their microbatches.
PassRatios synchronized_ratios(const Job& job, const ReplicaGroups& replica_groups,
                               ReplicaDevice copy, const Pass& pass) {
  PassRatios ratios = ratios_on(job, copy.replica, pass);
  if (!job.uneven->replicas_differ()) return ratios;
  for_each_synchronized_replica(job, replica_groups, copy, pass, [&](std::uint32_t replica) {
    const PassRatios replica_ratios = ratios_on(job, replica, pass);
    ratios.dispatch = std::max(ratios.dispatch, replica_ratios.dispatch);
    ratios.exchange = std::max(ratios.exchange, replica_ratios.exchange);
    ratios.collectives = std::max(ratios.collectives, replica_ratios.collectives);
  });
  return ratios;
}

// Relative increase of compute time while collectives run beside it; for a fused pair, the mean
// over both passes.
double overlap_excess(const Job& job, const Pass& pass, const Pass* partner) {
  const auto excess = [&](const Pass& member) {
    return job.overlap_slowdown(member.kind, member.stage) - 1;
  };
  if (partner == nullptr) return excess(pass);
  const double first = job.costs.times(pass);
  const double second = job.costs.times(*partner);
  const double sum = first + second;
  return sum > 0 ? (first * excess(pass) + second * excess(*partner)) / sum : excess(pass);
}

// Seconds of a pass's kernels, or of their launches where these take longer.
double kernel_seconds(const Job& job, const Pass& pass) {
  const workload::StageCosts& costs = job.costs;
  const double host = costs.of(costs.host_waits, pass);
  const double waits = costs.of(costs.collective_waits, pass);
  return std::max(0.0, costs.times(pass) - (job.has_full_detail() ? host : std::max(host, waits)));
}
double host_seconds(const Job& job, const Pass& pass) {
  return kernel_seconds(job, pass) + job.costs.of(job.costs.host_waits, pass);
}

// Seconds in which the host launches a pass's kernels. If all microbatches are the same size, the
// time of the kernels where that is longer.
double launch_seconds(const Job& job, const Pass& pass) {
  return job.uneven ? job.costs.of(job.costs.launch_seconds, pass) : host_seconds(job, pass);
}

// Seconds of the collectives inside one pass, with the durations that they have on an idle cluster.
struct PassCollectives {
  // Seconds by which the collectives lengthen the pass, as compute does not hide them.
  double waits = 0;
  // Seconds of the collectives on the second stream of a pair, in each half (attention, experts) of
  // the layers.
  std::array<double, 2> dispatch{};
  // Seconds of `waits` that are due to these collectives, in each half of the layers.
  std::array<double, 2> exposed{};
};

PassCollectives planned_collectives(const workload::StageCosts& costs, const Pass& pass) {
  PassCollectives sums{.waits = costs.of(costs.collective_waits, pass)};
  for (const std::size_t half : {0U, 1U}) {
    sums.dispatch[half] = costs.of(costs.dispatch[half], pass);
    sums.exposed[half] = costs.of(costs.dispatch_waits[half], pass);
  }
  return sums;
}

// Collectives inside a pass whose sizes relative to those of the mean microbatch are `ratios`.
PassCollectives scaled_collectives(const Job& job, const PassRatios& ratios, const Pass& pass) {
  PassCollectives sums;
  for (const workload::StageCosts::TimedCall& call :
       job.costs.timed_calls[static_cast<std::size_t>(pass.kind)][pass.stage]) {
    const double slowdown = call.is_dispatch() ? job.dispatch_slowdown(pass.kind, pass.stage)
                                               : job.overlap_slowdown(pass.kind, pass.stage);
    const double seconds = call.seconds * ratios.of(call.group);
    const double waits =
        call.times * hidden(seconds, call.compute * ratios.kernels, slowdown).waits;
    sums.waits += waits;
    if (!call.half) continue;
    sums.dispatch[*call.half] += call.times * seconds;
    sums.exposed[*call.half] += waits;
  }
  return sums;
}

bool scales_collectives(const Job& job, const Pass& pass) {
  return job.uneven && !job.costs.timed_calls[static_cast<std::size_t>(pass.kind)].empty();
}

// Collectives inside a pass, scaled by the tokens of its microbatch.
PassCollectives actual_collectives(const Job& job, const ReplicaGroups& replica_groups,
                                   ReplicaDevice copy, const Pass& pass) {
  if (!scales_collectives(job, pass)) return planned_collectives(job.costs, pass);
  return scaled_collectives(job, synchronized_ratios(job, replica_groups, copy, pass), pass);
}

// Kernels, launches and collectives of one pass of a fused pair, scaled by the pass's pace.
struct PairedPass {
  StreamHalves kernels;
  double host = 0;  // seconds of launches
  PassCollectives collectives;
  double overlapped = 0;
  // Relative increase of compute time while collectives other than those of the second stream run
  // beside it.
  double collective_excess = 0;
  // Relative increase of compute time while collectives of the second stream run beside it.
  double dispatch_excess = 0;

  double compute() const { return kernels[0].compute + kernels[1].compute; }
};

PairedPass paired_pass(const Job& job, const Pass& pass, double pace, double host_pace,
                       const PassCollectives& collectives) {
  const workload::StageCosts& costs = job.costs;
  PairedPass paired{
      .host = host_pace * launch_seconds(job, pass),
      .collectives = collectives,
      .overlapped = costs.of(costs.overlapped, pass),
      .collective_excess = job.overlap_slowdown(pass.kind, pass.stage) - 1,
      .dispatch_excess = (job.schedule.braids ? job.overlap_slowdown(pass.kind, pass.stage)
                                              : job.dispatch_slowdown(pass.kind, pass.stage)) -
                         1};
  const auto set_kernels = [&](const Pass& kernels_of, double StreamWork::*member) {
    const double seconds = pace * kernel_seconds(job, kernels_of);
    const double second = seconds * costs.of(costs.second_half, kernels_of);
    paired.kernels[0].*member = seconds - second;
    paired.kernels[1].*member = second;
  };
  set_kernels(pass, &StreamWork::compute);
  if (pass.kind != schedules::PassKind::backward || !costs.weight_grads_apart) return paired;
  set_kernels({schedules::PassKind::weight_grad, pass.stage}, &StreamWork::apart);
  for (StreamWork& half : paired.kernels) half.apart = std::min(half.apart, half.compute);
  return paired;
}

// Compute of one pass of a pair, and its collectives on the second stream, by half of the layers.
// Waits for its other collectives count as compute of attention, the first half.
StreamHalves streams_of(const PairedPass& paired) {
  StreamHalves halves = paired.kernels;
  double other_waits = paired.collectives.waits;
  for (const std::size_t half : {0U, 1U}) {
    halves[half].dispatch = paired.collectives.dispatch[half];
    halves[half].exposed = paired.collectives.exposed[half];
    other_waits -= paired.collectives.exposed[half];
  }
  halves[0].compute += other_waits;
  return halves;
}

// Work of a fused pair. Collectives other than those of its second stream that run beside the pair
// slow down kernels that the second stream does not slow down already; the pair gets longer by the
// part that exceeds its idle time.
PassWork pair_work(const PairedPass& first, const PairedPass& second, bool simulated) {
  const double kernels = first.compute() + second.compute();
  const auto mean = [&](double PairedPass::*excess) {
    const double longer = first.compute() * first.*excess + second.compute() * second.*excess;
    return kernels > 0 ? longer / kernels : 0;
  };
  const double dispatch_excess = mean(&PairedPass::dispatch_excess);
  const double host = first.host + second.host;
  if (simulated)
    return {.seconds = kernels,
            .excess = dispatch_excess,
            .min_seconds = host,
            .streams = {first.kernels, second.kernels}};
  const StreamHalves first_streams = streams_of(first);
  const StreamHalves second_streams = streams_of(second);
  const auto sum = [&](double StreamWork::*member) {
    return first_streams[0].*member + first_streams[1].*member + second_streams[0].*member +
           second_streams[1].*member;
  };
  const double compute = sum(&StreamWork::compute);
  const double dispatch = sum(&StreamWork::dispatch);
  const double plain = std::max(0.0, kernels - first.overlapped - second.overlapped);
  const double slowdown = compute > 0 ? 1 + dispatch_excess * plain / compute : 1;
  PassWork work{.seconds = std::max(host, paired_seconds(first_streams, second_streams, slowdown))};
  work.min_seconds = work.seconds;
  const double longer =
      mean(&PairedPass::collective_excess) * std::max(0.0, plain - dispatch / slowdown);
  const double spare = work.seconds - compute - dispatch * (1 - 1 / slowdown);
  if (work.seconds > 0) work.excess = std::max(0.0, longer - std::max(0.0, spare)) / work.seconds;
  return work;
}

// Seconds by which launching a pass's kernels takes longer than running them, at the given paces.
// The number of launches is the same for every microbatch.
double host_wait(const Job& job, const Pass& pass, double host_pace, double pace) {
  const double planned = job.costs.of(job.costs.host_waits, pass);
  if (!job.uneven) return host_pace * planned;
  return std::max(0.0, host_pace * launch_seconds(job, pass) - pace * kernel_seconds(job, pass));
}

}  // namespace

double noise(const Job& job, ReplicaDevice copy, const Pass& pass) {
  const std::size_t index = std::size_t{copy.replica} * job.schedule.devices + copy.device;
  const double straggler = job.straggler_factor(copy);
  const config::Variation& variation = job.conditions.variation;
  if (!variation.is_random()) return straggler;
  std::uint64_t bits = base::mix(variation.seed);
  for (const std::uint64_t part :
       {std::uint64_t{index}, std::uint64_t{pass.stage},
        std::uint64_t{pass.microbatch} << 8U | static_cast<std::uint64_t>(pass.kind)})
    bits = base::mix(bits ^ part);
  return straggler * random_factor(variation, bits);
}

std::vector<workload::Call> calls_of(const Job& job, const ReplicaGroups& replica_groups,
                                     ReplicaDevice copy, const Pass& pass) {
  std::vector<workload::Call> calls = job.costs.traffic[pass.stage][pass.kind];
  if (!job.uneven) return calls;
  constexpr double steps = 8;
  const PassRatios ratios = synchronized_ratios(job, replica_groups, copy, pass);
  for (workload::Call& call : calls) {
    const double ratio = std::round(steps * ratios.of(call.group)) / steps;
    call.bytes = static_cast<std::uint64_t>(static_cast<double>(call.bytes) * ratio);
    call.overlappable_compute *= ratios.kernels;
  }
  return calls;
}

// The random factor of a pass does not apply to its collectives.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice copy,
                 const Pass& pass, const Pass* partner) {
  const workload::StageCosts& costs = job.costs;
  const bool simulated = job.has_full_detail();
  const Pace pace = slowest_pace(job, replica_groups, copy, pass, partner);
  const auto collectives_of = [&](const Pass& member) {
    return actual_collectives(job, replica_groups, copy, member);
  };
  if (partner != nullptr && !costs.times.has_pair_times())
    return pair_work(
        paired_pass(job, pass, pace.kernels[0], pace.host, collectives_of(pass)),
        paired_pass(job, *partner, pace.kernels[1], pace.host, collectives_of(*partner)),
        simulated);
  // Planned seconds of waits of the pass or pair, in addition to its kernels.
  double planned = 0;
  // Seconds of waits of the pass or pair at the pace of this device copy, in addition to its
  // kernels.
  double waits = 0;
  // Seconds in which neither kernels nor collectives of the pass run.
  double idle = 0;
  // Seconds of kernels that run beside the pass's own collectives.
  double overlapped = 0;
  for (const Pass* member : {&pass, partner}) {
    if (member == nullptr) continue;
    const double kernel_pace = pace.kernels[member == partner ? 1 : 0];
    const double host = host_wait(job, *member, pace.host, kernel_pace);
    const double collectives = collectives_of(*member).waits;
    planned += simulated ? costs.of(costs.host_waits, *member)
                         : std::max(costs.of(costs.host_waits, *member),
                                    costs.of(costs.collective_waits, *member));
    waits += simulated ? host : std::max(host, collectives);
    idle += std::max(0.0, host - collectives);
    if (!simulated) overlapped += costs.of(costs.overlapped, *member);
  }
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  const double kernel_pace =
      partner == nullptr ? pace.kernels[0] : pace.mean(costs.times(pass), costs.times(*partner));
  const double kernels = kernel_pace * std::max(0.0, whole - planned);
  // Time saved by fusing the passes is subtracted from their waits first.
  waits = std::max(0.0, waits - std::max(0.0, planned - whole));
  idle = std::min(idle, waits);
  PassWork work{.seconds = kernels + (simulated ? idle : waits), .min_seconds = kernels + waits};
  const double longer = overlap_excess(job, pass, partner) * std::max(0.0, kernels - overlapped);
  if (work.seconds > 0) work.excess = std::max(0.0, longer - idle) / work.seconds;
  return work;
}

LeastWork least_work(const Job& job, ReplicaDevice copy, const Pass& pass) {
  const Pace pace = copy_pace(job, copy, pass, nullptr);
  const double kernels = pace.kernels[0] * kernel_seconds(job, pass);
  double waits = host_wait(job, pass, pace.host, pace.kernels[0]);
  if (!job.has_full_detail())
    waits = std::max(waits,
                     scales_collectives(job, pass)
                         ? scaled_collectives(job, ratios_on(job, copy.replica, pass), pass).waits
                         : planned_collectives(job.costs, pass).waits);
  return {.alone = kernels + waits, .in_pair = kernels};
}

double exposed_in_pair(const Job& job, const Pass& pass, const Pass& partner) {
  const workload::StageCosts& costs = job.costs;
  const double separate = costs.exposed(pass) + costs.exposed(partner);
  if (!costs.times.fused.empty()) return std::min(separate, costs.times(pass, partner));
  if (costs.times.overlap) return *costs.times.overlap * separate;
  const auto planned = [&](const Pass& member) {
    return paired_pass(job, member, 1, 1, planned_collectives(costs, member));
  };
  constexpr bool simulated = false;
  const double whole = pair_work(planned(pass), planned(partner), simulated).seconds;
  return std::max(0.0, whole - host_seconds(job, pass) - host_seconds(job, partner));
}

}  // namespace pipewright::execution
