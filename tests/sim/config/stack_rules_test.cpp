#include "sim/config/stack_rules.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace pipewright::config::test {
namespace {

struct Case {
  std::string_view rule;
  std::vector<JobSizes> refused;
  std::vector<JobSizes> accepted;
};

// Sizes of a job without parallelism that every rule accepts.
constexpr JobSizes plain{.layers = 32, .microbatches = 8};

JobSizes job(std::uint32_t pp, std::uint32_t stages_per_device, std::uint32_t microbatches = 8,
             bool is_looped = true) {
  JobSizes sizes = plain;
  sizes.pp = pp;
  sizes.stages = pp * stages_per_device;
  sizes.stages_per_device = stages_per_device;
  sizes.microbatches = microbatches;
  sizes.is_looped = is_looped;
  return sizes;
}

JobSizes with(std::uint32_t JobSizes::*size, std::uint32_t value, std::uint32_t pp = 1) {
  JobSizes sizes = plain;
  sizes.pp = pp;
  sizes.*size = value;
  return sizes;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"interleaving_needs_pp", {job(1, 2)}, {job(1, 1), job(2, 2), job(1, 2, 8, false)}},
      {"interleaving_needs_three_devices",
       {job(1, 2), job(2, 2)},
       {job(2, 1), job(3, 2), job(2, 2, 8, false)}},
      {"interleaving_needs_pp_microbatches",
       {job(4, 2, 3)},
       {job(4, 2, 4), job(4, 2, 5), job(4, 1, 3), job(4, 2, 3, false)}},
      {"interleaving_needs_full_rounds",
       {job(4, 2, 3), job(4, 2, 6)},
       {job(4, 2, 8), job(4, 1, 6), job(4, 2, 6, false)}},
      {"no_interleaving", {job(4, 2), job(4, 2, 8, false)}, {job(4, 1)}},
      {"equal_stages", {job(5, 1), job(4, 3)}, {job(4, 1), job(4, 8)}},
      {"no_tp", {with(&JobSizes::tp, 2)}, {with(&JobSizes::tp, 1)}},
      {"no_cp", {with(&JobSizes::cp, 2)}, {with(&JobSizes::cp, 1)}},
      {"no_pp", {job(2, 1)}, {job(1, 1)}},
      {"no_zero_1",
       {with(&JobSizes::zero, 1)},
       {with(&JobSizes::zero, 0), with(&JobSizes::zero, 2), with(&JobSizes::zero, 3)}},
      {"no_zero_2",
       {with(&JobSizes::zero, 2), with(&JobSizes::zero, 3)},
       {with(&JobSizes::zero, 0), with(&JobSizes::zero, 1)}},
      {"no_zero_2_with_pp",
       {with(&JobSizes::zero, 2, 2), with(&JobSizes::zero, 3, 2)},
       {with(&JobSizes::zero, 1, 2), with(&JobSizes::zero, 3)}},
      {"no_zero_3_with_pp",
       {with(&JobSizes::zero, 3, 2)},
       {with(&JobSizes::zero, 2, 2), with(&JobSizes::zero, 3)}},
  };
  return all;
}

TEST_CASE("each rule of a stack refuses and accepts jobs", "[stack]") {
  REQUIRE(cases().size() == stack_rules.size());
  for (std::size_t i = 0; i < stack_rules.size(); ++i) {
    const StackRule& rule = stack_rules[i];
    CAPTURE(rule.name);
    REQUIRE(cases()[i].rule == rule.name);
    for (const JobSizes& refused : cases()[i].refused) CHECK_FALSE(rule.violation(refused).empty());
    for (const JobSizes& accepted : cases()[i].accepted) CHECK(rule.violation(accepted).empty());
    CHECK(rule.violation(plain).empty());
  }
}

TEST_CASE("a rule names the sizes that break it", "[stack]") {
  const auto violation = [](std::string_view name, const JobSizes& sizes) {
    return std::ranges::find(stack_rules, name, &StackRule::name)->violation(sizes);
  };
  CHECK(violation("interleaving_needs_pp", job(1, 2)) == "pp is 1");
  CHECK(violation("interleaving_needs_pp_microbatches", job(4, 2, 3)) ==
        "pp is 4 with 3 microbatches");
  CHECK(violation("equal_stages", job(4, 3)) == "there are 32 layers for 12 stages");
  CHECK(violation("no_zero_2_with_pp", with(&JobSizes::zero, 3, 2)) ==
        "pp is 2 with parallel.zero 3");
}

}  // namespace
}  // namespace pipewright::config::test
