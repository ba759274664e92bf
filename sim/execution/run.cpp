#include "sim/execution/run.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sim/execution/pass_collectives.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/together.hpp"

namespace pipewright::execution {
namespace {

std::vector<trace::DeviceRow> device_rows(const Job& job) {
  std::vector<trace::DeviceRow> rows;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    rows.push_back({.device = device,
                    .host = job.cluster.is_ideal()
                                ? ""
                                : cluster::name_of(job.host({job.reported_replica, device})),
                    .memory_capacity = job.capacity.empty() ? 0 : job.capacity[device].bytes});
  return rows;
}

// Exposed communication of a stage's passes in fused pairs, in seconds, averaged over the pairs of
// the stage: half of a pair's for each pass, or all of it for a pass beside a weight gradient,
// which has no collectives.
class PairedWaits {
 public:
  explicit PairedWaits(const Job& job)
      : forward_(job.schedule.stages()), backward_(job.schedule.stages()) {
    for (const schedules::Program& program : job.schedule.programs)
      for (const schedules::Loop& loop : program.loops)
        for (std::size_t i = 0; i < loop.body.size(); ++i)
          if (loop.body[i].fused) add(job, loop.body[i], loop.body[i + 1], loop.rounds);
  }
  double forward(std::uint32_t stage) const { return forward_[stage].mean(); }
  double backward(std::uint32_t stage) const { return backward_[stage].mean(); }

 private:
  struct Sum {
    double seconds = 0;
    double times = 0;
    double mean() const { return times > 0 ? seconds / times : 0; }
  };
  void add(const Job& job, const schedules::Pass& pass, const schedules::Pass& partner,
           std::uint32_t times) {
    const double seconds = exposed_in_pair(job, pass, partner);
    const bool is_alone = partner.kind == schedules::PassKind::weight_grad;
    for (const schedules::Pass* const member : {&pass, &partner}) {
      if (is_alone && member == &partner) continue;
      const bool forward = member->kind == schedules::PassKind::forward;
      Sum& sum = (forward ? forward_ : backward_)[member->stage];
      sum.seconds += times * (is_alone ? seconds : seconds / 2);
      sum.times += times;
    }
  }

  std::vector<Sum> forward_;
  std::vector<Sum> backward_;
};

std::vector<trace::StageRow> stage_rows(const Job& job) {
  const schedules::Schedule& schedule = job.schedule;
  const auto waits = [&](schedules::PassKind kind, std::uint32_t stage) {
    return job.costs.exposed({kind, static_cast<std::uint16_t>(stage)});
  };
  const PairedWaits paired(job);
  std::vector<trace::StageRow> rows;
  std::set<std::pair<std::uint32_t, std::uint32_t>> listed;  // Stage and device.
  for (std::uint32_t route = 0; route < schedule.routes.count(); ++route)
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
      if (!listed.insert({stage, schedule.routes.device(stage, route)}).second) continue;
      rows.push_back({.stage = stage,
                      .chunk = schedule.routes.chunk(stage, route),
                      .device = schedule.routes.device(stage, route),
                      .recomputed = schedule.recomputes(stage) ? 1U : 0U,
                      .waits_f = waits(schedules::PassKind::forward, stage),
                      .waits_i = waits(schedules::PassKind::input_grad, stage),
                      .waits_w = waits(schedules::PassKind::weight_grad, stage),
                      .waits_b = waits(schedules::PassKind::backward, stage),
                      .waits_r = waits(schedules::PassKind::recompute, stage),
                      .waits_paired_f = paired.forward(stage),
                      .waits_paired_b = paired.backward(stage),
                      .waits_s = waits(schedules::PassKind::output, stage),
                      .waits_t = waits(schedules::PassKind::output_grad, stage)});
    }
  return rows;
}

// FLOP that the GPUs execute for one microbatch, including forward passes that the schedule
// recomputes.
double hardware_flops(const Job& job) {
  double flops = job.costs.hardware_flops_per_microbatch;
  for (std::uint32_t stage = 0; stage < job.costs.forward_flops.size(); ++stage)
    if (job.schedule.recomputes(stage)) flops += job.costs.forward_flops[stage];
  return flops;
}

}  // namespace

void begin_rows(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink) {
  info.schedule = job.schedule.name;
  info.engine = engine == EngineKind::simgrid ? "simgrid" : "timing";
  info.p2p = to_string(job.p2p);
  info.network = job.cluster.name();
  info.cluster = job.cluster.text();
  info.devices = job.schedule.devices;
  info.chunks = job.schedule.chunks;
  info.microbatches = job.schedule.microbatches;
  info.slices = job.schedule.slices;
  info.iterations = job.schedule.iterations;
  info.replicas = job.replicas();
  info.ranks_per_stage = job.ranks_per_stage();
  info.gpus = job.ranks && job.ranks->are_uneven() ? job.ranks->size() : 0;
  info.model_flops = job.costs.model_flops_per_microbatch;
  info.full_attention_flops = job.costs.full_attention_flops_per_microbatch;
  info.hardware_flops = hardware_flops(job);
  info.peak_flops = job.costs.peak_flops;
  info.precision_peak_flops = job.costs.precision_peak_flops;
  info.evidence = job.evidence;
  sink.begin(info, device_rows(job), stage_rows(job));
  for (const trace::PassCollectiveRow& row : pass_collective_rows(job)) sink.pass_collective(row);
}

Reduction run(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink) {
  begin_rows(job, engine, std::move(info), sink);
  Reduction reduction{.replicas = job.replicas(), .simulated = job.replicas()};
  if (engine == EngineKind::simgrid)
    reduction = simulate(job, sink);
  else
    time(job, sink);  // without contention, replicas differ by their own work alone
  sink.finish();
  return reduction;
}

}  // namespace pipewright::execution
