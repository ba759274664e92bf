#include "sim/execution/pass_work.hpp"

#include <algorithm>
#include <cmath>

#include "sim/execution/exposed_time.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::execution {
namespace {

using schedules::Pass;
using workload::normal;
using workload::PassRatios;
using workload::uniform;
using Distribution = config::Variation::Distribution;

// No pass takes less than no time. What is symmetric is cut on both sides, and keeps its mean.
double cut(double factor) { return std::clamp(factor, 0.0, 2.0); }

double factor(const config::Variation& variation, std::uint64_t bits) {
  const double deviation = variation.jitter;
  switch (variation.distribution) {
    case Distribution::normal:
      return cut(1 + deviation * normal(bits));
    case Distribution::uniform:
      return cut(1 + deviation * std::sqrt(3.0) * (2 * uniform(bits) - 1));
    case Distribution::lognormal:
      break;
  }
  const double variance = std::log1p(deviation * deviation);
  return std::exp(std::sqrt(variance) * normal(bits) - variance / 2);
}

PassRatios ratios_on(const Job& job, std::uint32_t replica, const Pass& pass) {
  return job.uneven ? workload::ratios_of(*job.uneven, job.costs, replica, pass) : PassRatios{};
}

// Calls see(replica) with the others whose collectives a pass's are, once or more.
template <class See>
void for_those_met(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                   const Pass& pass, const See& see) {
  if (job.costs.traffic.empty()) return;
  for (const workload::Call& call : job.costs.traffic[pass.stage][pass.kind])
    for (const std::uint32_t replica : replica_groups.all_replicas_with(call.group, who))
      see(replica);
}

// How many times as long as planned what runs as one takes: its launches, and the kernels of either
// pass.
struct Pace {
  double host = 1;
  std::array<double, 2> kernels{1, 1};

  // Of both together, where `seconds` are planned for each.
  double mean(double first, double second) const {
    if (kernels[0] == kernels[1]) return kernels[0];
    const double both = first + second;
    return both > 0 ? (kernels[0] * first + kernels[1] * second) / both : kernels[0];
  }
};

Pace own_pace(const Job& job, ReplicaDevice who, const Pass& pass, const Pass* partner) {
  const double by_noise = noise(job, who, pass);
  Pace pace{.host = by_noise, .kernels = {by_noise, by_noise}};
  if (!job.uneven) return pace;
  pace.kernels[0] *= ratios_on(job, who.replica, pass).kernels;
  if (partner != nullptr) pace.kernels[1] *= ratios_on(job, who.replica, *partner).kernels;
  return pace;
}

// Passes that talk with other replicas go at the pace of the slowest of them; in full detail their
// collectives see to that.
Pace slowest_pace(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                  const Pass& pass, const Pass* partner) {
  Pace slowest = own_pace(job, who, pass, partner);
  if (job.has_full_detail() || !job.passes_vary()) return slowest;
  for (const Pass* one : {&pass, partner})
    if (one != nullptr)
      for_those_met(job, replica_groups, who, *one, [&](std::uint32_t replica) {
        const Pace other = own_pace(job, {replica, who.device}, pass, partner);
        slowest.host = std::max(slowest.host, other.host);
        for (const std::size_t i : {0U, 1U})
          slowest.kernels[i] = std::max(slowest.kernels[i], other.kernels[i]);
      });
  return slowest;
}

// Collectives that replicas share have the bytes of the longest of their microbatches.
PassRatios met_ratios(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                      const Pass& pass) {
  PassRatios ratios = ratios_on(job, who.replica, pass);
  if (!job.uneven->replicas_differ()) return ratios;
  for_those_met(job, replica_groups, who, pass, [&](std::uint32_t replica) {
    const PassRatios other = ratios_on(job, replica, pass);
    ratios.dispatch = std::max(ratios.dispatch, other.dispatch);
    ratios.collectives = std::max(ratios.collectives, other.collectives);
  });
  return ratios;
}

// By how much the compute of what runs as one is longer beside collectives; of a pair, what both
// are longer by.
double overlap_excess(const Job& job, const Pass& pass, const Pass* partner) {
  const auto of = [&](const Pass& one) { return job.overlap_slowdown(one.kind, one.stage) - 1; };
  if (partner == nullptr) return of(pass);
  const double first = job.costs.times(pass);
  const double second = job.costs.times(*partner);
  const double both = first + second;
  return both > 0 ? (first * of(pass) + second * of(*partner)) / both : of(pass);
}

// Seconds of a pass's kernels, and of their launches where these take longer.
double kernel_seconds(const Job& job, const Pass& pass) {
  const workload::StageCosts& costs = job.costs;
  const double host = costs.of(costs.host_waits, pass);
  const double waits = costs.of(costs.collective_waits, pass);
  return std::max(0.0, costs.times(pass) - (job.has_full_detail() ? host : std::max(host, waits)));
}
double host_seconds(const Job& job, const Pass& pass) {
  return kernel_seconds(job, pass) + job.costs.of(job.costs.host_waits, pass);
}

// Seconds of a pass's launches; where all microbatches are alike, of its kernels if these are
// longer.
double launch_seconds(const Job& job, const Pass& pass) {
  return job.uneven ? job.costs.of(job.costs.launch_seconds, pass) : host_seconds(job, pass);
}

// Seconds of the collectives within a pass, as they were timed alone.
struct Collectives {
  double waits = 0;                  // beyond what hides them
  std::array<double, 2> dispatch{};  // of those that send tokens, by half of the layers
  std::array<double, 2> exposed{};   // of the waits, theirs
};

Collectives as_planned(const workload::StageCosts& costs, const Pass& pass) {
  Collectives all{.waits = costs.of(costs.collective_waits, pass)};
  for (const std::size_t half : {0U, 1U}) {
    all.dispatch[half] = costs.of(costs.dispatch[half], pass);
    all.exposed[half] = costs.of(costs.dispatch_waits[half], pass);
  }
  return all;
}

// Of this microbatch, of whose tokens each has its part.
Collectives collectives_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                           const Pass& pass) {
  const auto& of_kind = job.costs.timed_calls[static_cast<std::size_t>(pass.kind)];
  if (!job.uneven || of_kind.empty()) return as_planned(job.costs, pass);
  const PassRatios ratios = met_ratios(job, replica_groups, who, pass);
  Collectives all;
  for (const workload::StageCosts::TimedCall& call : of_kind[pass.stage]) {
    const double slowdown = call.half ? job.dispatch_slowdown(pass.kind, pass.stage)
                                      : job.overlap_slowdown(pass.kind, pass.stage);
    const double seconds = call.seconds * ratios.of(call.group);
    const double waits =
        call.times * hidden(seconds, call.compute * ratios.kernels, slowdown).waits;
    all.waits += waits;
    if (!call.half) continue;
    all.dispatch[*call.half] += call.times * seconds;
    all.exposed[*call.half] += waits;
  }
  return all;
}

// One of a fused pair, at its pace.
struct OfPair {
  StreamHalves kernels;
  double host = 0;  // seconds of launches
  Collectives talk;
  double overlapped = 0;
  double beside_others = 0;    // by how much its kernels are longer beside collectives,
  double beside_dispatch = 0;  // and beside those that send tokens, in parts

  double compute() const { return kernels[0].compute + kernels[1].compute; }
};

OfPair of_pair(const Job& job, const Pass& pass, double pace, double host_pace,
               const Collectives& talk) {
  const workload::StageCosts& costs = job.costs;
  OfPair one{.host = host_pace * launch_seconds(job, pass),
             .talk = talk,
             .overlapped = costs.of(costs.overlapped, pass),
             .beside_others = job.overlap_slowdown(pass.kind, pass.stage) - 1,
             .beside_dispatch = job.dispatch_slowdown(pass.kind, pass.stage) - 1};
  const auto put = [&](const Pass& kernels_of, double StreamWork::*member) {
    const double seconds = pace * kernel_seconds(job, kernels_of);
    const double second = seconds * costs.of(costs.second_half, kernels_of);
    one.kernels[0].*member = seconds - second;
    one.kernels[1].*member = second;
  };
  put(pass, &StreamWork::compute);
  if (pass.kind != schedules::PassKind::backward || !costs.weight_grads_apart) return one;
  put({schedules::PassKind::weight_grad, pass.stage}, &StreamWork::apart);
  for (StreamWork& half : one.kernels) half.apart = std::min(half.apart, half.compute);
  return one;
}

// With the collectives within it, of which those that send no tokens are about attention.
StreamHalves streams_of(const OfPair& one) {
  StreamHalves halves = one.kernels;
  double others = one.talk.waits;
  for (const std::size_t half : {0U, 1U}) {
    halves[half].dispatch = one.talk.dispatch[half];
    halves[half].exposed = one.talk.exposed[half];
    others -= one.talk.exposed[half];
  }
  halves[0].compute += others;
  return halves;
}

// Of a pair by its streams. What runs beside it slows down what kernels nothing slows down yet, and
// it is longer by what these have no time left for.
PassWork pair_work(const OfPair& one, const OfPair& other, bool simulated) {
  const double kernels = one.compute() + other.compute();
  const auto mean = [&](double OfPair::*excess) {
    const double longer = one.compute() * one.*excess + other.compute() * other.*excess;
    return kernels > 0 ? longer / kernels : 0;
  };
  const double beside_dispatch = mean(&OfPair::beside_dispatch);
  const double host = one.host + other.host;
  if (simulated)
    return {.seconds = kernels,
            .excess = beside_dispatch,
            .least = host,
            .streams = {one.kernels, other.kernels}};
  const StreamHalves first = streams_of(one);
  const StreamHalves second = streams_of(other);
  const auto sum = [&](double StreamWork::*member) {
    return first[0].*member + first[1].*member + second[0].*member + second[1].*member;
  };
  const double compute = sum(&StreamWork::compute);
  const double dispatch = sum(&StreamWork::dispatch);
  const double plain = std::max(0.0, kernels - one.overlapped - other.overlapped);
  const double slowdown = compute > 0 ? 1 + beside_dispatch * plain / compute : 1;
  PassWork work{.seconds = std::max(host, paired_seconds(first, second, slowdown))};
  work.least = work.seconds;
  const double longer = mean(&OfPair::beside_others) * std::max(0.0, plain - dispatch / slowdown);
  const double spare = work.seconds - compute - dispatch * (1 - 1 / slowdown);
  if (work.seconds > 0) work.excess = std::max(0.0, longer - std::max(0.0, spare)) / work.seconds;
  return work;
}

// By how much launches take longer than kernels at these paces: there are as many in every
// microbatch.
double host_wait(const Job& job, const Pass& pass, double host_pace, double pace) {
  const double planned = job.costs.of(job.costs.host_waits, pass);
  if (!job.uneven) return host_pace * planned;
  return std::max(0.0, host_pace * launch_seconds(job, pass) - pace * kernel_seconds(job, pass));
}

}  // namespace

double noise(const Job& job, ReplicaDevice who, const Pass& pass) {
  const std::size_t place = std::size_t{who.replica} * job.schedule.devices + who.device;
  const double slow = job.straggler_factor(who);
  const config::Variation& variation = job.conditions.variation;
  if (!variation.is_random()) return slow;
  std::uint64_t bits = mix(variation.seed);
  for (const std::uint64_t part :
       {std::uint64_t{place}, std::uint64_t{pass.stage},
        std::uint64_t{pass.microbatch} << 8U | static_cast<std::uint64_t>(pass.kind)})
    bits = mix(bits ^ part);
  return slow * factor(variation, bits);
}

std::vector<workload::Call> calls_of(const Job& job, const ReplicaGroups& replica_groups,
                                     ReplicaDevice who, const Pass& pass) {
  std::vector<workload::Call> calls = job.costs.traffic[pass.stage][pass.kind];
  if (!job.uneven) return calls;
  constexpr double steps = 8;
  const PassRatios ratios = met_ratios(job, replica_groups, who, pass);
  for (workload::Call& call : calls) {
    const double ratio = std::round(steps * ratios.of(call.group)) / steps;
    call.bytes = static_cast<std::uint64_t>(static_cast<double>(call.bytes) * ratio);
    call.overlappable_compute *= ratios.kernels;
  }
  return calls;
}

// What collectives take is others' time, and no noise of its own.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                 const Pass& pass, const Pass* partner) {
  const workload::StageCosts& costs = job.costs;
  const bool simulated = job.has_full_detail();
  const Pace pace = slowest_pace(job, replica_groups, who, pass, partner);
  const auto talk = [&](const Pass& one) { return collectives_of(job, replica_groups, who, one); };
  if (partner != nullptr && !costs.times.says_pairs())
    return pair_work(of_pair(job, pass, pace.kernels[0], pace.host, talk(pass)),
                     of_pair(job, *partner, pace.kernels[1], pace.host, talk(*partner)), simulated);
  double planned = 0;     // what passes take beyond their kernels
  double waits = 0;       // the same at this pace
  double idle = 0;        // seconds in which the GPU does nothing, nor do its collectives
  double overlapped = 0;  // of the kernels
  for (const Pass* one : {&pass, partner}) {
    if (one == nullptr) continue;
    const double own = pace.kernels[one == partner ? 1 : 0];
    const double host = host_wait(job, *one, pace.host, own);
    const double collectives = talk(*one).waits;
    planned += simulated ? costs.of(costs.host_waits, *one)
                         : std::max(costs.of(costs.host_waits, *one),
                                    costs.of(costs.collective_waits, *one));
    waits += simulated ? host : std::max(host, collectives);
    idle += std::max(0.0, host - collectives);
    if (!simulated) overlapped += costs.of(costs.overlapped, *one);
  }
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  const double of_both =
      partner == nullptr ? pace.kernels[0] : pace.mean(costs.times(pass), costs.times(*partner));
  const double kernels = of_both * std::max(0.0, whole - planned);
  // A fused pair saves of what it waits for as well.
  waits = std::max(0.0, waits - std::max(0.0, planned - whole));
  idle = std::min(idle, waits);
  PassWork work{.seconds = kernels + (simulated ? idle : waits), .least = kernels + waits};
  const double longer = overlap_excess(job, pass, partner) * std::max(0.0, kernels - overlapped);
  if (work.seconds > 0) work.excess = std::max(0.0, longer - idle) / work.seconds;
  return work;
}

double exposed_in_pair(const Job& job, const Pass& pass, const Pass& partner) {
  const workload::StageCosts& costs = job.costs;
  const double apart = costs.exposed(pass) + costs.exposed(partner);
  if (!costs.times.fused.empty()) return std::min(apart, costs.times(pass, partner));
  if (costs.times.overlap) return *costs.times.overlap * apart;
  const auto planned = [&](const Pass& one) {
    return of_pair(job, one, 1, 1, as_planned(costs, one));
  };
  constexpr bool simulated = false;
  const double whole = pair_work(planned(pass), planned(partner), simulated).seconds;
  return std::max(0.0, whole - host_seconds(job, pass) - host_seconds(job, partner));
}

}  // namespace pipewright::execution
