#include "sim/execution/idle_step.hpp"

#include <algorithm>

#include "sim/execution/collectives/alone.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {
namespace {

bool gathers_before(const Job& job) {
  const std::uint32_t zero = job.conditions.zero;
  return !job.costs.traffic.empty() && (zero == 1 || zero == 2) &&
         job.conditions.communication.overlap_param_gather;
}

}  // namespace

IdleStep::IdleStep(const Job& job, trace::Sink& sink)
    : job_(job),
      sink_(sink),
      places_(job.cluster, job.hosts),
      copies_(job),
      busy_until_(job.schedule.devices),
      passes_end_(job.schedule.devices),
      gathering_(job.schedule.devices) {
  const auto unsupported = [](const char* what) {
    throw schedules::Error(std::string("the timing engine knows no ") + what +
                           "; take engine: simgrid (--engine simgrid), or leave that out");
  };
  if (job.conditions.variation.is_random() || !job.slowdown.empty()) unsupported("variation");
  if (job.costs.traffic.empty()) return;
  if (job.conditions.zero >= 2) unsupported("ZeRO-2 and ZeRO-3, which talk between passes");
  if (job.conditions.communication.overlap_slowdown != 1) unsupported("overlap_slowdown");
  if (job.conditions.communication.detail == config::Detail::full) unsupported("detail: full");
  if (job.schedule.iterations > 1) unsupported("optimizer's step between iterations");
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage) {
    gradient_seconds_.push_back(copies_.has(stage) ? seconds(copies_.gradients(stage)) : 0);
    weight_seconds_.push_back(copies_.has(stage) ? seconds(copies_.weights(stage)) : 0);
  }
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    counts_.emplace_back(job.schedule, device);
}

double IdleStep::seconds(const std::vector<Copies::Leg>& legs) const {
  double sum = 0;
  for (const Copies::Leg& leg : legs) {
    double slowest = 0;
    for (const auto& group : *leg.groups)
      slowest = std::max(
          slowest,
          alone(plan(leg.collective, static_cast<double>(leg.bytes), group,
                     static_cast<Algorithm>(job_.conditions.communication.all_reduce), places_),
                places_));
    sum += slowest;
  }
  return sum;
}

std::vector<double> IdleStep::weights_arrive() const {
  if (!gathers_before(job_)) return {};
  std::vector<double> busy(job_.schedule.devices);
  std::vector<double> arrive;
  for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage)
    arrive.push_back(busy[copies_.holders(stage).front()] += weight_seconds_[stage]);
  return arrive;
}

void IdleStep::pass(std::uint32_t device, const schedules::Pass& pass,
                    const schedules::PassSpan& span) {
  passes_end_[device] = std::max(passes_end_[device], span.released);
  if (counts_.empty()) return;
  GradientCount& count = counts_[device];
  const bool last = count.completes_stage(pass);
  count.add(pass);
  if (!last || !copies_.has(pass.stage)) return;
  if (!job_.conditions.communication.overlap_grad_reduce) return;
  const std::uint32_t parts = copies_.parts(pass.stage);
  for (std::uint32_t part = 0; part < parts; ++part)
    reduce(device, pass.stage, span.start + (span.end - span.start) * (part + 1) / parts);
}

void IdleStep::reduce(std::uint32_t device, std::uint32_t stage, double posted) {
  double& busy = busy_until_[copies_.holders(stage).front()];
  const double start = std::max(busy, posted);
  busy = start + gradient_seconds_[stage];
  sink_.collective({.device = device,
                    .stage = stage,
                    .kind = trace::CollectiveKind::reduce_gradients,
                    .bytes = copies_.gradient_bytes(stage),
                    .posted = posted,
                    .start = start,
                    .end = busy});
}

void IdleStep::finish() {
  if (job_.costs.traffic.empty()) return;
  const workload::Conditions& conditions = job_.conditions;
  std::vector<trace::StepRow> rows;
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device) {
    rows.push_back({.device = device, .start = passes_end_[device]});
    if (conditions.communication.overlap_grad_reduce) continue;
    for (const std::uint32_t stage : counts_[device].stages())
      for (std::uint32_t part = 0; copies_.has(stage) && part < copies_.parts(stage); ++part)
        reduce(device, stage, passes_end_[device]);
  }
  double embeddings = 0;  // both ends of the pipeline are there
  for (trace::StepRow& row : rows) {
    row.reduced = row.start;
    for (const std::uint32_t stage : counts_[row.device].stages())
      row.reduced = std::max(row.reduced, busy_until_[copies_.holders(stage).front()]);
    if (copies_.ties_embeddings(row.device)) embeddings = std::max(embeddings, row.reduced);
  }
  double all = 0;
  for (trace::StepRow& row : rows) {
    if (copies_.ties_embeddings(row.device))
      row.reduced = embeddings + seconds(copies_.embeddings(0));
    all = std::max(all, row.reduced);
  }
  for (trace::StepRow& row : rows) {
    const bool norm = conditions.communication.global_norm && job_.schedule.weight_versions == 1;
    row.synchronized = norm ? all + copies_.norm_latency() : row.reduced;
    row.updated =
        row.synchronized +
        (job_.costs.optimizer_seconds.empty() ? 0 : job_.costs.optimizer_seconds[row.device]);
    row.end = row.updated;
    if (conditions.zero == 1 && !conditions.communication.overlap_param_gather)
      for (const std::uint32_t stage : counts_[row.device].stages())
        row.end += weight_seconds_[stage];
    sink_.step(row);
  }
}

}  // namespace pipewright::execution
