#pragma once

#include <array>

#include "sim/execution/replica_groups.hpp"
#include "sim/execution/streams.hpp"

namespace pipewright::execution {

// What a pass's time is multiplied by: a straggler's factor, times a random number of mean 1. The
// number is a function of seed, unit and pass alone, so it does not depend on who asks when.
double noise(const Job& job, ReplicaDevice who, const schedules::Pass& pass);

// The collectives within a pass of this microbatch, where they are simulated one by one. Their
// bytes go in steps of an eighth of the mean's, so that not each is planned anew.
std::vector<workload::Call> calls_of(const Job& job, const ReplicaGroups& replica_groups,
                                     ReplicaDevice who, const schedules::Pass& pass);

// What a pass, or a fused pair, has to do on a device. While collectives run beside it, it takes
// 1 + `excess` times as long: its kernels do, and not what it waits for its host or for collectives
// of its own. Where these are simulated one by one, the work is without them, and the pass takes
// `least` seconds whatever they take: no less than its host.
struct PassWork {
  double seconds = 0;
  double excess = 0;
  double least = 0;
  // Of a fused pair whose collectives are simulated one by one: the kernels of either pass.
  std::array<StreamHalves, 2> streams = {};
};
// `partner` is null but for pairs, which take what their streams do unless the costs say it.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                 const schedules::Pass& pass, const schedules::Pass* partner);

// Seconds by which collectives make a fused pair longer than the compute of both.
double exposed_in_pair(const Job& job, const schedules::Pass& pass, const schedules::Pass& partner);

}  // namespace pipewright::execution
