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

// Numbers the passes of a device that have no number of their own.
class PassCounter {
 public:
  PassCounter(const MarkedDevice& device, std::optional<std::uint32_t> microbatches)
      : device_(device), microbatches_(microbatches) {}

  // Returns the number of the last step that began before this time, if any.
  std::optional<std::uint64_t> step_at(double start_us) const {
    constexpr double rounding_us = 0.001;  // Profiles count whole nanoseconds.
    const auto next_step =
        std::ranges::upper_bound(device_.steps, start_us + rounding_us, {}, &MarkedStep::start_us);
    if (next_step == device_.steps.begin()) return std::nullopt;
    return std::prev(next_step)->number;
  }

  void number(NumberedPass& pass, std::optional<std::uint32_t> microbatch) {
    const bool has_steps = !device_.steps.empty();
    if (!microbatch) {
      std::uint32_t& next_number =
          pass_counts_[{has_steps ? pass.iteration : 0, pass.stage, pass.kind}];
      pass.microbatch = next_number++;
      if (!has_steps && microbatches_) {
        pass.iteration = pass.microbatch / *microbatches_;
        pass.microbatch %= *microbatches_;
      }
      return;
    }
    pass.microbatch = *microbatch;
    if (!has_steps) pass.iteration = repetitions_[{pass.stage, pass.kind, *microbatch}]++;
  }

 private:
  const MarkedDevice& device_;
  std::optional<std::uint32_t> microbatches_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, PassKind>, std::uint32_t> pass_counts_;
  std::map<std::tuple<std::uint32_t, PassKind, std::uint32_t>, std::uint64_t> repetitions_;
};

// Renames backward passes to input gradients where PyTorch of 2024 called the input gradient B: on
// stages that have weight gradients (W) but no input gradients (I).
void rename_halves(std::vector<NumberedPass>& passes) {
  std::set<std::uint32_t> split_stages;
  std::set<std::uint32_t> named_stages;
  for (const NumberedPass& pass : passes) {
    if (pass.kind == PassKind::weight_grad) split_stages.insert(pass.stage);
    if (pass.kind == PassKind::input_grad) named_stages.insert(pass.stage);
  }
  for (NumberedPass& pass : passes)
    if (pass.kind == PassKind::backward && split_stages.count(pass.stage) != 0 &&
        named_stages.count(pass.stage) == 0)
      pass.kind = PassKind::input_grad;
}

// Passes of one iteration, identified by stage and microbatch.
class Iteration {
 public:
  void add(const NumberedPass& pass, const std::vector<MarkedDevice>& devices) {
    const auto [entry, is_new] =
        device_of_.try_emplace({pass.stage, pass.microbatch, pass.kind}, pass.device);
    if (is_new) return;
    const auto name = [&](std::uint32_t device) { return printable(devices[device].name); };
    throw trace::TraceError(fmt::format(
        "{} occurs twice in an iteration, on {} and on {}; give one rank of each pipeline device "
        "(of one replica, one tensor-parallel rank), and --microbatches N where names have no "
        "numbers",
        describe(pass), name(entry->second), name(pass.device)));
  }

  // Returns a text that names the first missing pass; nothing if every stage has a pass of each
  // kind for every microbatch.
  std::optional<std::string> missing(const std::set<std::pair<std::uint32_t, PassKind>>& kinds,
                                     std::uint32_t microbatches) const {
    for (const auto& [stage, kind] : kinds)
      for (std::uint32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
        const auto has_pass = [&, stage = stage](PassKind pass_kind) {
          return device_of_.count({stage, microbatch, pass_kind}) != 0;
        };
        // A backward pass may be whole or split (input and weight gradient), for each microbatch.
        const bool is_complete = kind == PassKind::forward ? has_pass(kind)
                                                           : has_pass(PassKind::backward) ||
                                                                 (has_pass(PassKind::input_grad) &&
                                                                  has_pass(PassKind::weight_grad));
        if (kind == PassKind::recompute || is_complete) continue;
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
    PassCounter counter(devices[device], microbatches);
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

std::uint32_t drop_partial_iterations(std::vector<NumberedPass>& passes, std::uint32_t skip,
                                      const std::vector<MarkedDevice>& devices,
                                      std::vector<std::string>& notes) {
  std::map<std::uint64_t, Iteration> iterations;
  std::set<std::pair<std::uint32_t, PassKind>> kinds;
  std::set<std::uint32_t> microbatch_numbers;
  for (const NumberedPass& pass : passes) {
    iterations[pass.iteration].add(pass, devices);
    kinds.emplace(pass.stage, pass.kind);
    microbatch_numbers.insert(pass.microbatch);
  }
  const std::uint64_t stages = std::uint64_t{kinds.rbegin()->first} + 1;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    if (kinds.count({stage, PassKind::forward}) == 0)
      throw trace::TraceError(
          fmt::format("stage {} of {} has no forward pass; give the files of all pipeline devices",
                      stage, stages));
  const std::uint32_t first = *microbatch_numbers.begin();  // Some programs count from 1.
  const auto microbatches = static_cast<std::uint32_t>(microbatch_numbers.size());
  if (*microbatch_numbers.rbegin() - first + 1 != microbatches)
    throw trace::TraceError(
        fmt::format("microbatches are numbered from {} to {}, but there are only {} of them", first,
                    *microbatch_numbers.rbegin(), microbatches));

  if (first > 0) {  // Number from 0 and check again.
    for (NumberedPass& pass : passes) pass.microbatch -= first;
    return drop_partial_iterations(passes, skip, devices, notes);
  }
  std::map<std::uint64_t, std::uint64_t> new_numbers;  // New numbers of the complete iterations.
  std::uint64_t complete = 0;
  std::string first_missing;
  for (const auto& [number, iteration] : iterations) {
    const auto missing = iteration.missing(kinds, microbatches);
    if (!missing) {
      if (complete++ >= skip) new_numbers.emplace(number, new_numbers.size());
      continue;
    }
    if (first_missing.empty()) first_missing = *missing;
    notes.push_back(fmt::format("iteration {} is left out: it lacks {}", number, *missing));
  }
  if (new_numbers.empty())
    throw trace::TraceError(
        complete == 0
            ? fmt::format("no iteration is complete: the first one lacks {}", first_missing)
            : fmt::format("all {} complete iterations are skipped; skip fewer", complete));
  std::erase_if(passes,
                [&](const NumberedPass& pass) { return new_numbers.count(pass.iteration) == 0; });
  for (NumberedPass& pass : passes) pass.iteration = new_numbers.at(pass.iteration);
  return microbatches;
}

}  // namespace pipewright::analysis
