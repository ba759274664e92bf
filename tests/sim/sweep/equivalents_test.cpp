#include "sim/sweep/equivalents.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

const std::string on_cluster = "cluster: dgx-a100-96\nmodel: megatron-1.7b\nglobal_batch: 16\n";

// Returns how many combinations each rule for equivalent candidates excludes, by the text of the
// rule.
std::map<std::string, std::uint64_t> merged(const Space& space) {
  std::map<std::string, std::uint64_t> cut;
  for (const analysis::Excluded& excluded : space.excluded())
    if (excluded.rule.find(" or ") != std::string::npos) cut[excluded.rule] = excluded.combinations;
  return cut;
}

std::vector<std::vector<schedules::Pass>> one_device_passes(const schedules::Entry& entry,
                                                            std::uint32_t microbatches,
                                                            std::optional<std::uint32_t> chunks) {
  try {
    const schedules::Schedule made =
        entry.make({.devices = 1, .microbatches = microbatches, .chunks = chunks});
    return {schedules::passes_of(made.programs.front())};
  } catch (const schedules::Error&) {
    return {};
  }
}

}  // namespace

TEST_CASE("ZeRO has no effect on a single rank", "[search][equivalents]") {
  const std::string sweep = on_cluster + "parallel: {tp: [1, 8], dp: [1, 2], zero: [0, 1, 3]}\n";
  const std::string gpus = "search: {gpus: [1, 2, 8, 16]";
  CHECK(merged(space_of(sweep + gpus + "}")) ==
        std::map<std::string, std::uint64_t>{{"dp * cp > 1 or zero == 0", 4}});
  // Candidates are not merged on an axis with a constraint, because the constraint may exclude the
  // one that represents the others.
  CHECK(merged(space_of(sweep + gpus + ", constraints: [zero > 0]}")).empty());
  CHECK(merged(space_of(sweep + gpus + ", constraints: [tp > 0]}")).size() == 1);
  // In dualpipe every stage is on two devices, so ZeRO matters even without data parallelism.
  CHECK(merged(space_of(sweep + "schedule: [1f1b, dualpipe]\n" + gpus + "}")) ==
        std::map<std::string, std::uint64_t>{
            {"dp * cp > 1 or schedule == 'dualpipe' or zero == 0", 4}});
}

TEST_CASE("schedules that are equal on one device are merged", "[search][equivalents]") {
  const Space space =
      space_of(on_cluster +
               "parallel: {pp: [1, 2], dp: 1}\nsearch: {gpus: [1, 2]}\n"
               "schedule: [eager-1f1b, 1f1b, gpipe, {name: interleaved-1f1b, chunks: [2, 4]}, "
               "{name: interleaved-low-memory, chunks: 4}]");
  std::set<std::uint64_t> candidates;
  for (const std::uint64_t candidate : candidates_of(space)) candidates.insert(candidate);
  // On one device, eager-1f1b equals 1f1b, which stays, and interleaved-low-memory equals an
  // earlier schedule. They are numbers 0 and 5 of the six candidates with pp 1.
  std::set<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 12; ++i)
    if (i != 0 && i != 5) expected.insert(i);
  CHECK(candidates == expected);
}

TEST_CASE("schedules that are equal on one device for two numbers of microbatches are for any",
          "[search][equivalents]") {
  int pairs = 0;
  for (const auto& first : schedules::catalog())
    for (const auto& second : schedules::catalog()) {
      if (&first >= &second || first.plans || second.plans) continue;
      for (const std::optional<std::uint32_t> chunks :
           {std::optional<std::uint32_t>(), {2U}, {3U}}) {
        const auto is_equal = [&](std::uint32_t microbatches) {
          const auto passes = one_device_passes(first, microbatches, chunks);
          return !passes.empty() && passes == one_device_passes(second, microbatches, chunks);
        };
        if (!is_equal(4) || !is_equal(7)) continue;
        ++pairs;
        INFO(first.name << " and " << second.name);
        for (std::uint32_t microbatches = 1; microbatches <= 24; ++microbatches)
          CHECK((is_equal(microbatches) || one_device_passes(first, microbatches, chunks).empty()));
      }
    }
  CHECK(pairs > 5);
}

TEST_CASE("every merged candidate has an equivalent one that stays", "[search][equivalents]") {
  const std::string sweep =
      on_cluster +
      "parallel: {tp: [1, 2], pp: [1, 2], dp: [1, 2], sp: [true, false], zero: [0, 1, 2, 3]}\n"
      "schedule: auto\n";
  const std::string gpus = "search: {gpus: [1, 2, 4, 8]";
  const Space space = space_of(sweep + gpus + "}");
  // A constraint that is always true, but names the axes, prevents that equivalent candidates are
  // merged.
  const Space whole =
      space_of(sweep + gpus + ", constraints: [\"zero >= 0 and (sp or not sp) and chunks > 0\"]}");
  const std::vector<std::uint64_t> remaining = candidates_of(space);
  const std::vector<std::uint64_t> all = candidates_of(whole);
  REQUIRE(remaining.size() < all.size());
  evaluation::Evaluator evaluator(config::read_scenario(space.candidate(remaining.front())), 0);
  using Figures = std::tuple<analysis::Outcome, std::uint64_t, double>;
  std::map<std::uint64_t, Figures> figures;
  whole.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    const auto rows = evaluator.assess(whole.layout(layout, schedules));
    for (std::size_t i = 0; i < rows.size(); ++i)
      figures[layout * whole.schedules() + schedules[i]] = {rows[i].outcome, rows[i].peak_bytes,
                                                            rows[i].bound_s};
    return true;
  });
  const auto sizes = [&](std::uint64_t candidate) {  // tp, pp, dp
    const std::vector<std::size_t> digits = digits_of(space, candidate);
    return std::vector<std::size_t>(digits.begin(), digits.begin() + 3);
  };
  std::set<std::pair<std::vector<std::size_t>, Figures>> figures_of_remaining;
  for (const std::uint64_t candidate : remaining)
    figures_of_remaining.emplace(sizes(candidate), figures.at(candidate));
  for (const std::uint64_t candidate : all) {
    INFO(config::to_yaml(space.candidate(candidate)));
    CHECK(figures_of_remaining.contains({sizes(candidate), figures.at(candidate)}));
  }
}

}  // namespace pipewright::search::test
