#include "analysis/measured/numbering.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"
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

// The passes of one iteration, told by stage and microbatch.
class Iteration {
 public:
  void add(const NumberedPass& pass, const std::vector<MarkedDevice>& devices) {
    const auto [before, is_new] =
        device_of_.try_emplace({pass.stage, pass.microbatch, pass.kind}, pass.device);
    if (is_new) return;
    const auto name = [&](std::uint32_t device) { return printable(devices[device].name); };
    throw trace::TraceError(fmt::format(
        "{} is there twice in an iteration, on {} and on {}; give one rank of each pipeline device "
        "(of one replica, one tensor-parallel rank), and --microbatches N where names have no "
        "numbers",
        describe(pass), name(before->second), name(pass.device)));
  }

  // The first pass that is missing, of those that every stage has of every microbatch.
  std::optional<std::string> missing(const std::set<std::pair<std::uint32_t, PassKind>>& kinds,
                                     std::uint32_t microbatches) const {
    for (const auto& [stage, kind] : kinds)
      for (std::uint32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
        const auto has = [&, stage = stage](PassKind one) {
          return device_of_.count({stage, microbatch, one}) != 0;
        };
        // A schedule may split the backward of some microbatches only.
        const bool there = kind == PassKind::forward
                               ? has(kind)
                               : has(PassKind::backward) ||
                                     (has(PassKind::input_grad) && has(PassKind::weight_grad));
        if (kind == PassKind::recompute || there) continue;
        return describe({0, 0, stage, microbatch, kind, 0, 0});
      }
    return std::nullopt;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, PassKind>, std::uint32_t> device_of_;
};

}  // namespace

std::string describe(const NumberedPass& pass) {
  return fmt::format("{} of microbatch {} on stage {}", trace::name_of(pass.kind), pass.microbatch,
                     pass.stage);
}

std::vector<NumberedPass> number_passes(const std::vector<MarkedDevice>& devices,
                                        std::optional<std::uint32_t> microbatches,
                                        std::vector<std::string>& notes) {
  std::vector<NumberedPass> passes;
  std::size_t early = 0;
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    Counter counter(devices[device], microbatches);
    for (const MarkedPass& marked : devices[device].passes) {
      const auto step = counter.step_at(marked.launched_us.value_or(marked.start_us));
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

std::uint32_t keep_whole_iterations(std::vector<NumberedPass>& passes, std::uint32_t skip,
                                    const std::vector<MarkedDevice>& devices,
                                    std::vector<std::string>& notes) {
  std::map<std::uint64_t, Iteration> iterations;
  std::set<std::pair<std::uint32_t, PassKind>> kinds;
  std::set<std::uint32_t> seen;
  for (const NumberedPass& pass : passes) {
    iterations[pass.iteration].add(pass, devices);
    kinds.emplace(pass.stage, pass.kind);
    seen.insert(pass.microbatch);
  }
  const std::uint64_t stages = std::uint64_t{kinds.rbegin()->first} + 1;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    if (kinds.count({stage, PassKind::forward}) == 0)
      throw trace::TraceError(
          fmt::format("stage {} of {} has no forward pass; give the files of all pipeline devices",
                      stage, stages));
  const std::uint32_t first = *seen.begin();  // some count from 1
  const auto microbatches = static_cast<std::uint32_t>(seen.size());
  if (*seen.rbegin() - first + 1 != microbatches)
    throw trace::TraceError(
        fmt::format("microbatches are numbered from {} to {}, but there are only {} of them", first,
                    *seen.rbegin(), microbatches));

  if (first > 0) {  // number anew, and look again
    for (NumberedPass& pass : passes) pass.microbatch -= first;
    return keep_whole_iterations(passes, skip, devices, notes);
  }
  std::map<std::uint64_t, std::uint64_t> kept;  // their new numbers
  std::uint64_t whole = 0;
  std::string why;
  for (const auto& [number, iteration] : iterations) {
    const auto missing = iteration.missing(kinds, microbatches);
    if (!missing) {
      if (whole++ >= skip) kept.emplace(number, kept.size());
      continue;
    }
    if (why.empty()) why = *missing;
    notes.push_back(fmt::format("iteration {} is left out: it has no {}", number, *missing));
  }
  if (kept.empty())
    throw trace::TraceError(
        whole == 0 ? fmt::format("no iteration has all of its passes: there is no {}", why)
                   : fmt::format("all {} whole iterations are skipped; skip fewer", whole));
  std::erase_if(passes, [&](const NumberedPass& pass) { return kept.count(pass.iteration) == 0; });
  for (NumberedPass& pass : passes) pass.iteration = kept.at(pass.iteration);
  return microbatches;
}

}  // namespace pipewright::analysis
