#include "support/fake_workers.hpp"

#include <utility>

#include "sim/search/messages.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

using analysis::CandidateRow;
using analysis::Outcome;

CandidateRow made_up_row(const search::Space& space, std::uint64_t candidate) {
  Random random(static_cast<std::uint32_t>(candidate * 2654435761U));
  CandidateRow row;
  row.candidate = candidate;
  row.group = space.group(candidate / space.schedules());
  const std::uint32_t luck = random.whole(0, 9);
  row.outcome = luck == 0   ? Outcome::illegal
                : luck == 1 ? Outcome::does_not_fit
                            : Outcome::simulated;
  if (row.outcome != Outcome::simulated) row.note = "it is made up so";
  if (row.outcome == Outcome::illegal) return row;
  row.work = {.gpus = 8,
              .samples = 4,
              .tokens = 4096,
              .model_flop = 1e15,
              .full_attention_flop = 1.1e15,
              .peak_flops = 1e15};
  row.peak_bytes = std::uint64_t{random.whole(1, 100)} << 30U;
  row.capacity_bytes = std::uint64_t{80} << 30U;
  if (row.outcome == Outcome::does_not_fit) return row;
  row.bound_s = random.real(1, 9);
  row.time_s = row.bound_s * random.real(1, 1.3);
  row.parts.compute = row.time_s;
  return row;
}

FakeWorkers::FakeWorkers(const search::Space& space, std::size_t count)
    : space_(space), lines_(count), alive_(count, 1), ready_(count) {}

std::string FakeWorkers::answer(const std::string& line) {
  const search::Task task = search::read_task(line);
  on_task(task);
  search::Answer answer{.id = task.id, .rows = {}};
  for (const std::uint64_t candidate : task.candidates) {
    CandidateRow row = made_up_row(space_, candidate);
    if (task.kind == search::Task::Kind::simulate) {
      simulated.push_back(candidate);
    } else if (row.outcome == Outcome::simulated) {
      row.outcome = Outcome::open;
      row.time_s = 0;
      row.parts = {};
    }
    answer.rows.push_back(std::move(row));
  }
  return to_line(answer);
}

std::vector<FakeWorkers::Event> FakeWorkers::wait(double) {
  std::vector<Event> events;
  for (std::size_t worker = 0; worker < lines_.size(); ++worker) {
    const std::string line = std::exchange(lines_[worker], {});
    if (line.empty() || alive_[worker] == 0) continue;
    std::string reply;
    if (!misbehave || !misbehave(line_count_++, reply))
      reply = ready_[worker] != 0 ? answer(line) : to_line(search::HandshakeReply{});
    ready_[worker] = 1;
    alive_[worker] = reply.empty() ? 0 : 1;
    const auto kind = reply.empty() ? Event::Kind::lost : Event::Kind::answer;
    events.push_back({worker, kind, reply.empty() ? "it was told to" : reply});
  }
  return events;
}

bool FakeWorkers::restart(std::size_t worker) {
  lines_[worker].clear();
  ready_[worker] = 0;
  alive_[worker] = restarts ? 1 : 0;
  return restarts;
}

}  // namespace pipewright::tests
