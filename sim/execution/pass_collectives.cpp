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

// Passes with equal costs: those of one kind and stage, or fused pairs with the same kinds and
// stages.
struct PassClass {
  Pass pass;
  std::optional<Pass> partner;

  auto key() const {
    const auto kind_and_stage = [](const Pass& member) {
      return std::tuple(member.kind, member.stage);
    };
    return std::tuple(kind_and_stage(pass),
                      partner ? std::optional(kind_and_stage(*partner)) : std::nullopt);
  }
  bool operator<(const PassClass& rhs) const { return key() < rhs.key(); }
};

std::map<PassClass, std::uint64_t> passes_on(const schedules::Program& program) {
  std::map<PassClass, std::uint64_t> counts;
  for (const schedules::Loop& loop : program.loops)
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      PassClass pass_class{.pass = loop.body[i], .partner = {}};
      if (loop.body[i].fused) pass_class.partner = loop.body[++i];
      counts[pass_class] += std::uint64_t{loop.rounds} * program.iterations;
    }
  return counts;
}

// Sums up the collectives of the passes of one device.
class CollectiveTotals {
 public:
  CollectiveTotals(const Job& job, std::uint32_t device) : job_(job), device_(device) {}

  void add(const PassClass& pass_class, std::uint64_t count) {
    std::vector<const TimedCall*> calls;
    for (const Pass* const pass :
         {&pass_class.pass, pass_class.partner ? &*pass_class.partner : nullptr})
      if (pass != nullptr)
        for (const TimedCall& call : timed_calls(*pass)) calls.push_back(&call);
    // A fused pair hides the collectives of its second stream, such as expert dispatch, differently
    // from separate passes, so these share the pair's exposed time in proportion to their duration.
    const auto weight = [&](const TimedCall& call) {
      return pass_class.partner && call.half ? call.times * call.seconds : call.waits;
    };
    std::array<double, 2> weights{};  // of other calls, of calls of the second stream
    for (const TimedCall* const call : calls) weights[call->half ? 1 : 0] += weight(*call);
    const std::array<double, 2> exposed = exposed_in(pass_class, weights);
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
    for (auto& [group_and_name, row] : rows_) {
      if (row.seconds <= 0) continue;
      row.device = device_;
      row.group = workload::name_of(group_and_name.first);
      row.operation = group_and_name.second;
      rows.push_back(std::move(row));
    }
  }

 private:
  // Exposed seconds, per pass or fused pair of a class, of all calls except those of the second
  // stream, and of these.
  std::array<double, 2> exposed_in(const PassClass& pass_class,
                                   const std::array<double, 2>& weights) const {
    if (pass_class.partner) {
      const double total = exposed_in_pair(job_, pass_class.pass, *pass_class.partner);
      const double other_calls = weights[1] > 0 ? std::min(total, weights[0]) : total;
      return {other_calls, total - other_calls};
    }
    const double waits = weights[0] + weights[1];
    if (waits <= 0) return {};
    const double exposed = job_.costs.exposed(pass_class.pass);
    return {exposed * weights[0] / waits, exposed * weights[1] / waits};
  }
  const std::vector<TimedCall>& timed_calls(const Pass& pass) const {
    static const std::vector<TimedCall> no_calls;
    const auto& calls_by_stage = job_.costs.timed_calls[static_cast<std::size_t>(pass.kind)];
    return calls_by_stage.empty() ? no_calls : calls_by_stage[pass.stage];
  }

  const Job& job_;
  std::uint32_t device_;
  std::map<std::pair<workload::Group, std::string_view>, trace::PassCollectiveRow> rows_;
};

}  // namespace

std::vector<trace::PassCollectiveRow> pass_collective_rows(const Job& job) {
  std::vector<trace::PassCollectiveRow> rows;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device) {
    CollectiveTotals totals(job, device);
    for (const auto& [pass_class, count] : passes_on(job.schedule.programs[device]))
      totals.add(pass_class, count);
    totals.move_to(rows);
  }
  return rows;
}

}  // namespace pipewright::execution
