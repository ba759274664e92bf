#include "sim/execution/pass_collectives.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/execution/pass_work.hpp"

namespace pipewright::execution {
namespace {

using schedules::Pass;
using TimedCall = workload::StageCosts::TimedCall;

// Passes that cost the same, and the second of a fused pair.
struct Alike {
  Pass pass;
  std::optional<Pass> partner;

  auto key() const {
    const auto of = [](const Pass& one) { return std::tuple(one.kind, one.stage); };
    return std::tuple(of(pass), partner ? std::optional(of(*partner)) : std::nullopt);
  }
  bool operator<(const Alike& other) const { return key() < other.key(); }
};

std::map<Alike, std::uint64_t> passes_on(const schedules::Program& program) {
  std::map<Alike, std::uint64_t> counts;
  for (const schedules::Loop& loop : program.loops)
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      Alike alike{.pass = loop.body[i], .partner = {}};
      if (loop.body[i].fused) alike.partner = loop.body[++i];
      counts[alike] += std::uint64_t{loop.rounds} * program.iterations;
    }
  return counts;
}

// Of one device.
class Sums {
 public:
  Sums(const Job& job, std::uint32_t device) : job_(job), device_(device) {}

  void add(const Alike& alike, std::uint64_t count) {
    std::vector<const TimedCall*> calls;
    for (const Pass* const pass : {&alike.pass, alike.partner ? &*alike.partner : nullptr})
      if (pass != nullptr)
        for (const TimedCall& call : of(*pass)) calls.push_back(&call);
    // What tokens cost a pair is not what they would cost its passes alone: they share that by how
    // long they take.
    const auto weight = [&](const TimedCall& call) {
      return alike.partner && call.half ? call.times * call.seconds : call.waits;
    };
    std::array<double, 2> weights{};  // of others, and of what sends tokens
    for (const TimedCall* const call : calls) weights[call->half ? 1 : 0] += weight(*call);
    const std::array<double, 2> exposed = exposed_in(alike, weights);
    for (const TimedCall* const call : calls) {
      const std::size_t kind = call->half ? 1 : 0;
      const double share = weights[kind] > 0 ? weight(*call) / weights[kind] : 0;
      trace::PassCollectiveRow& row = rows_[{call->group, call->name}];
      row.calls += count * call->times;
      row.bytes += count * call->times * call->bytes;
      row.seconds += static_cast<double>(count) * call->times * call->seconds;
      row.exposed += static_cast<double>(count) * share * exposed[kind];
    }
  }

  void move_to(std::vector<trace::PassCollectiveRow>& rows) {
    for (auto& [what, row] : rows_) {
      if (row.seconds <= 0) continue;
      row.device = device_;
      row.group = workload::name_of(what.first);
      row.operation = what.second;
      rows.push_back(std::move(row));
    }
  }

 private:
  // Seconds of others and of what sends tokens.
  std::array<double, 2> exposed_in(const Alike& alike, const std::array<double, 2>& weights) const {
    if (alike.partner) {
      const double both = exposed_in_pair(job_, alike.pass, *alike.partner);
      const double others = weights[1] > 0 ? std::min(both, weights[0]) : both;
      return {others, both - others};
    }
    const double waits = weights[0] + weights[1];
    if (waits <= 0) return {};
    const double exposed = job_.costs.exposed(alike.pass);
    return {exposed * weights[0] / waits, exposed * weights[1] / waits};
  }
  const std::vector<TimedCall>& of(const Pass& pass) const {
    static const std::vector<TimedCall> none;
    const auto& of_kind = job_.costs.timed_calls[static_cast<std::size_t>(pass.kind)];
    return of_kind.empty() ? none : of_kind[pass.stage];
  }

  const Job& job_;
  std::uint32_t device_;
  std::map<std::pair<workload::Group, std::string_view>, trace::PassCollectiveRow> rows_;
};

}  // namespace

std::vector<trace::PassCollectiveRow> pass_collective_rows(const Job& job) {
  std::vector<trace::PassCollectiveRow> rows;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device) {
    Sums sums(job, device);
    for (const auto& [alike, count] : passes_on(job.schedule.programs[device]))
      sums.add(alike, count);
    sums.move_to(rows);
  }
  return rows;
}

}  // namespace pipewright::execution
