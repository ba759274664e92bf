#pragma once

#include <array>

#include "sim/execution/replica_groups.hpp"
#include "sim/execution/streams.hpp"

namespace pipewright::execution {

// Factor by which a pass's duration is multiplied: the straggler's factor times a random number of
// mean 1. The random number is a hash of seed, device copy and pass, so that it does not depend on
// the order of calls.
double noise(const Job& job, ReplicaDevice copy, const schedules::Pass& pass);

// Collectives inside a pass of this microbatch, for runs that simulate each of them. Bytes are
// rounded to steps of an eighth of the mean, so that few different collectives have to be planned.
std::vector<workload::Call> calls_of(const Job& job, const ReplicaGroups& replica_groups,
                                     ReplicaDevice copy, const schedules::Pass& pass);

// Work of a pass, or of a fused pair, on a device. While collectives run beside it, all of
// `seconds` takes 1 + `excess` times as long. Collectives slow down kernels alone, so that `excess`
// is smaller than their slowdown if the work includes waits for the host or for the pass's own
// collectives. Where the pass's own collectives are simulated, `seconds` excludes them, and the
// pass takes at least `min_seconds`, the time of its host, however fast they are.
struct PassWork {
  double seconds = 0;
  double excess = 0;
  double min_seconds = 0;
  // Kernels of each pass of a fused pair, if its collectives are simulated.
  std::array<StreamHalves, 2> streams = {};
};
// Computes the work of a pass. `partner` is the second pass of a fused pair, or null. A pair takes
// the time of its streams unless the costs state the time of pairs.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice copy,
                 const schedules::Pass& pass, const schedules::Pass* partner);

// Lower bounds on the seconds of a pass, whatever other replicas do. A pass waits for the slowest
// replica of its collectives, and those carry the bytes of the largest microbatch, so that the
// pass's own microbatch gives a bound. In a fused pair the other pass may hide all waits, but not
// the kernels. In full detail, collectives are left out. Jitter is left out, too.
struct LeastWork {
  double alone = 0;
  double in_pair = 0;
};
LeastWork least_work(const Job& job, ReplicaDevice copy, const schedules::Pass& pass);

// Seconds by which collectives lengthen a fused pair beyond the compute of both passes.
double exposed_in_pair(const Job& job, const schedules::Pass& pass, const schedules::Pass& partner);

}  // namespace pipewright::execution
