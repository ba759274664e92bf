#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/import/numbering.hpp"
#include "analysis/text_table.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

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
