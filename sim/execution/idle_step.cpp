#include "sim/execution/idle_step.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/execution/collectives/link_load.hpp"
#include "sim/execution/collectives/plan.hpp"
#include "sim/execution/milestones.hpp"

namespace pipewright::execution {

IdleStep::IdleStep(const Job& job, trace::Sink& sink)
    : job_(job),
      sink_(sink),
      placement_(job.cluster, job.hosts),
      replica_groups_(job),
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
    gradient_seconds_.push_back(
        replica_groups_.has(stage) ? seconds(replica_groups_.gradients(stage)) : 0);
    weight_seconds_.push_back(replica_groups_.has(stage) ? seconds(replica_groups_.weights(stage))
                                                         : 0);
  }
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    counts_.emplace_back(job.schedule, device);
  if (job.conditions.gathers_before()) gather_before();
}

double IdleStep::seconds(const std::vector<CollectiveOp>& ops) const {
  double sum = 0;
  for (const CollectiveOp& op : ops) {
    double slowest = 0;
    for (const auto& group : *op.groups)
      slowest = std::max(slowest, alone(plan(op.collective, static_cast<double>(op.bytes), group,
                                             job_.conditions.communication.all_reduce, placement_),
                                        placement_));
    sum += slowest;
  }
  return sum;
}

void IdleStep::meet(trace::CollectiveKind kind, const std::vector<Post>& posts,
                    const std::function<void(const Post&, double)>& ended) {
  struct Meeting {
    std::uint32_t stage = 0;
    double start = 0;  // when all are ready, then when it starts
    std::vector<Post> posts;
  };
  std::vector<Meeting> meetings;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> number;  // by stage and part
  for (const Post& post : posts) {
    const auto [place, is_new] = number.try_emplace({post.stage, post.part}, meetings.size());
    if (is_new) meetings.push_back({.stage = post.stage});
    Meeting& meeting = meetings[place->second];
    meeting.start = std::max(meeting.start, post.posted);
    meeting.posts.push_back(post);
  }
  std::ranges::stable_sort(meetings, {}, &Meeting::start);
  const bool gradients = kind == trace::CollectiveKind::reduce_gradients;
  for (Meeting& meeting : meetings) {
    double& busy = busy_until_[replica_groups_.holders(meeting.stage).front()];
    meeting.start = std::max(meeting.start, busy);
    busy = meeting.start + (gradients ? gradient_seconds_ : weight_seconds_)[meeting.stage];
    for (const Post& post : meeting.posts) {
      ended(post, busy);
      sink_.collective({.device = post.device,
                        .stage = post.stage,
                        .kind = kind,
                        .bytes = gradients ? replica_groups_.gradient_bytes(post.stage)
                                           : replica_groups_.weight_bytes(post.stage),
                        .posted = post.posted,
                        .start = meeting.start,
                        .end = busy});
    }
  }
}

// Of each stage that has copies, on all its devices, each of which is ready at its `times`.
std::vector<IdleStep::Post> IdleStep::posts_of_weights(const std::vector<double>& times) const {
  std::vector<Post> posts;
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    for (const std::uint32_t stage : counts_[device].stages())
      for (std::uint32_t part = 0;
           replica_groups_.has(stage) && part < replica_groups_.weight_parts(stage); ++part)
        posts.push_back({.device = device, .stage = stage, .part = part, .posted = times[device]});
  return posts;
}

void IdleStep::gather_before() {
  const std::vector<double> zero(job_.schedule.devices);
  weights_arrive_.resize(job_.schedule.stages());
  awaited_.assign(job_.schedule.devices, std::vector<bool>(job_.schedule.stages(), true));
  meet(trace::CollectiveKind::gather_weights, posts_of_weights(zero),
       [this](const Post& post, double end) {
         auto& parts = weights_arrive_[post.stage];
         parts.resize(std::max<std::size_t>(parts.size(), post.part + 1));
         parts[post.part] = end;
       });
}

std::uint32_t IdleStep::parts_to_wait_for(std::uint32_t device, const schedules::Pass& pass) {
  if (weights_arrive_.empty() || !awaited_[device][pass.stage]) return 0;
  awaited_[device][pass.stage] = false;
  return static_cast<std::uint32_t>(weights_arrive_[pass.stage].size());
}

double IdleStep::start(std::uint32_t device, const schedules::Pass& pass,
                       const schedules::Pass* partner, double ready) {
  if (counts_.empty()) return ready;
  const schedules::Pass* last = nullptr;  // to add to its stage's gradients
  for (const schedules::Pass* one : {&pass, partner})
    if (one != nullptr && replica_groups_.has(one->stage) && counts_[device].completes_stage(*one))
      last = one;
  const Milestones milestones(last == nullptr ? 0 : replica_groups_.parts(last->stage),
                              parts_to_wait_for(device, pass),
                              partner == nullptr ? 0 : parts_to_wait_for(device, *partner));
  const schedules::PassTimes& times = job_.costs.times;
  const double waited = walk(
      milestones, ready, partner == nullptr ? times(pass) : times(pass, *partner),
      [&](std::uint32_t part, double time) {
        gradients_.push_back(
            {.device = device, .stage = last->stage, .part = part, .posted = time});
      },
      [&](const Milestone& due, bool, double) {
        return weights_arrive_[due.of_partner ? partner->stage : pass.stage][due.part];
      });
  gathering_[device] += waited;
  return ready + waited;
}

void IdleStep::pass(std::uint32_t device, const schedules::Pass& pass,
                    const schedules::PassSpan& span) {
  passes_end_[device] = std::max(passes_end_[device], span.released);
  if (!counts_.empty()) counts_[device].add(pass);
}

// Both ends of each pipeline have to be there.
void IdleStep::tie_embeddings(std::vector<trace::StepRow>& rows) {
  double start = 0;
  for (const trace::StepRow& row : rows)
    if (replica_groups_.ties_embeddings(row.device)) start = std::max(start, row.reduced);
  for (trace::StepRow& row : rows) {
    if (!replica_groups_.ties_embeddings(row.device)) continue;
    const double end = start + seconds(replica_groups_.embeddings(0));
    sink_.collective({.device = row.device,
                      .stage = counts_[row.device].stages().front(),
                      .kind = trace::CollectiveKind::tie_embeddings,
                      .bytes = replica_groups_.embedding_bytes(),
                      .posted = row.reduced,
                      .start = start,
                      .end = end});
    row.reduced = end;
  }
}

void IdleStep::finish() {
  if (job_.costs.traffic.empty()) return;
  std::vector<trace::StepRow> rows;
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    rows.push_back({.device = device,
                    .start = passes_end_[device],
                    .reduced = passes_end_[device],
                    .gathering = gathering_[device]});
  if (!job_.conditions.communication.overlap_grad_reduce)
    for (Post& post : gradients_) post.posted = passes_end_[post.device];
  meet(trace::CollectiveKind::reduce_gradients, gradients_, [&](const Post& post, double end) {
    rows[post.device].reduced = std::max(rows[post.device].reduced, end);
  });
  tie_embeddings(rows);
  double all = 0;
  for (const trace::StepRow& row : rows) all = std::max(all, row.reduced);
  for (trace::StepRow& row : rows) {
    row.synchronized = job_.waits_for_norm() ? all + replica_groups_.norm_latency() : row.reduced;
    const auto& step = job_.costs.optimizer_seconds;
    row.end = row.updated = row.synchronized + (step.empty() ? 0 : step[row.device]);
  }
  if (job_.conditions.gathers_after()) {
    std::vector<double> updated;
    for (const trace::StepRow& row : rows) updated.push_back(row.updated);
    meet(trace::CollectiveKind::gather_weights, posts_of_weights(updated),
         [&](const Post& post, double end) {
           rows[post.device].end = std::max(rows[post.device].end, end);
         });
  }
  for (const trace::StepRow& row : rows) sink_.step(row);
}

}  // namespace pipewright::execution
