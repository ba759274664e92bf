#include "analysis/import/numbering.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

// Counts what a device ran, to number what has no number.
class Counter {
 public:
  Counter(const MarkedDevice& device, std::optional<std::uint32_t> microbatches)
      : device_(device), microbatches_(microbatches) {}

  // The number of the last step that began before; none if no step had.
  std::optional<std::uint64_t> step_at(double start_us) const {
    constexpr double rounding_us = 0.001;  // profiles count whole nanoseconds
    const auto after =
        std::ranges::upper_bound(device_.steps, start_us + rounding_us, {}, &MarkedStep::start_us);
    if (after == device_.steps.begin()) return std::nullopt;
    return std::prev(after)->number;
  }

  void number(NumberedPass& pass, std::optional<std::uint32_t> microbatch) {
    const bool steps = !device_.steps.empty();
    if (!microbatch) {
      std::uint32_t& seen = counted_[{steps ? pass.iteration : 0, pass.stage, pass.kind}];
      pass.microbatch = seen++;
      if (!steps && microbatches_) {
        pass.iteration = pass.microbatch / *microbatches_;
        pass.microbatch %= *microbatches_;
      }
      return;
    }
    pass.microbatch = *microbatch;
    if (!steps) pass.iteration = times_seen_[{pass.stage, pass.kind, *microbatch}]++;
  }

 private:
  const MarkedDevice& device_;
  std::optional<std::uint32_t> microbatches_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, PassKind>, std::uint32_t> counted_;
  std::map<std::tuple<std::uint32_t, PassKind, std::uint32_t>, std::uint64_t> times_seen_;
};

// PyTorch of 2024 calls the input gradient B, beside a W: there is no whole backward then.
void rename_halves(std::vector<NumberedPass>& passes) {
  std::set<std::uint32_t> split;
  std::set<std::uint32_t> named;
  for (const NumberedPass& pass : passes) {
    if (pass.kind == PassKind::weight_grad) split.insert(pass.stage);
    if (pass.kind == PassKind::input_grad) named.insert(pass.stage);
  }
  for (NumberedPass& pass : passes)
    if (pass.kind == PassKind::backward && split.count(pass.stage) != 0 &&
        named.count(pass.stage) == 0)
      pass.kind = PassKind::input_grad;
}

}  // namespace

std::string describe(const NumberedPass& pass) {
  const auto kinds = trace::enum_names(trace::ColumnType::pass_kind);
  return fmt::format("{} of microbatch {} on stage {}", kinds[static_cast<std::size_t>(pass.kind)],
                     pass.microbatch, pass.stage);
}

std::vector<NumberedPass> number_passes(const std::vector<MarkedDevice>& devices,
                                        std::optional<std::uint32_t> microbatches,
                                        std::vector<std::string>& notes) {
  std::vector<NumberedPass> passes;
  std::size_t early = 0;
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    Counter counter(devices[device], microbatches);
    for (const MarkedPass& marked : devices[device].passes) {
      const auto step = counter.step_at(marked.start_us);
      if (!step && !devices[device].steps.empty()) {
        ++early;
        continue;
      }
      for (const NamedPass& named : marked.passes) {
        NumberedPass pass{
            device,          step.value_or(0), named.stage.value_or(device), 0, named.kind,
            marked.start_us, marked.end_us};
        counter.number(pass, named.microbatch);
        passes.push_back(pass);
      }
    }
  }
  if (early > 0)
    notes.push_back(fmt::format("{} passes before the profiler's first step are left out", early));
  rename_halves(passes);
  return passes;
}

}  // namespace pipewright::analysis
