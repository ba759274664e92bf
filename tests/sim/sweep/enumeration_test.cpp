#include <algorithm>
#include <map>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/sweep/enumerator.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/sweep/random_expression.hpp"
#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

using tests::Random;

template <class Item>
std::vector<Item> random_part(Random& random, std::vector<Item> items, std::size_t least) {
  while (items.size() > least && random.flip())
    items.erase(items.begin() + random.whole(0, static_cast<std::uint32_t>(items.size()) - 1));
  return items;
}

// A random sweep with measured pass times: sizes, a batch and schedules, some of which are left
// open.
struct RandomSweep {
  std::string text;
  std::vector<RandomExpression> constraints;
  std::vector<std::uint32_t> gpus;
};

RandomSweep random_sweep(Random& random) {
  const std::vector<int> sizes{1, 2, 4, 6};
  const auto list = [&](const auto& items) { return fmt::format("[{}]", fmt::join(items, ", ")); };
  RandomSweep sweep;
  sweep.text = fmt::format(
      "forward_times: 1\nbackward_times: 1\nglobal_batch: {}\n"
      "parallel: {{tp: {}, cp: {}, pp: {}, dp: {}, sp: {}, zero: {}}}\n"
      "training: {{microbatch_size: {}, recompute: [none, full]}}\nschedule: {}\n",
      list(random_part<int>(random, {8, 12, 24}, 1)), list(random_part(random, sizes, 1)),
      list(random_part<int>(random, {1, 2}, 1)), list(random_part(random, sizes, 1)),
      list(random_part(random, sizes, 1)), random.flip() ? "auto" : "true",
      list(random_part<int>(random, {0, 1}, 1)), list(random_part<int>(random, {1, 2, 3}, 1)),
      list(random_part<std::string>(random, {"1f1b", "gpipe", "{name: looped-bfs, chunks: [2, 3]}"},
                                    1)));
  const Vocabulary words{
      {"tp", "cp", "pp", "dp", "microbatch_size", "microbatches", "gpus", "global_batch", "chunks"},
      {"sp"},
      {{"schedule", {"1f1b", "gpipe", "looped-bfs"}}}};
  sweep.text += "search:\n";
  if (random.whole(0, 3) > 0) {
    for (const std::uint32_t gpus : {8U, 12U, 16U, 24U, 36U})
      if (random.flip()) sweep.gpus.push_back(gpus);
    if (!sweep.gpus.empty()) sweep.text += fmt::format("  gpus: {}\n", list(sweep.gpus));
  }
  std::string constraints;
  for (auto count = random.whole(0, 3); count > 0; --count) {
    sweep.constraints.push_back(random_truth(random, words, static_cast<int>(random.whole(1, 3))));
    std::string quoted = sweep.constraints.back().text;
    for (std::size_t i = 0; (i = quoted.find('"', i)) != std::string::npos; ++i) quoted[i] = '\'';
    constraints += fmt::format("    - \"{}\"\n", quoted);
  }
  // This constraint is always true. Because it names all axes on which candidates can be
  // equivalent, no equivalent candidates are merged.
  sweep.text +=
      "  constraints:\n    - \"zero >= 0 and (sp or not sp) and chunks > 0\"\n" + constraints;
  sweep.text += "  objective: throughput\n";
  return sweep;
}

// Returns the value of each name in constraints for a candidate, read from its scenario.
Meaning meaning_of(const Space& space, std::uint64_t candidate) {
  const config::Value tree = space.candidate(candidate);
  const auto text = [&](std::string_view section, std::string_view key) {
    return config::find(*config::find(tree, section), key)->text;
  };
  Meaning meaning;
  for (const char* size : {"tp", "cp", "pp", "dp"})
    meaning.numbers[size] = std::stod(text("parallel", size));
  meaning.truths["sp"] = text("parallel", "sp") == "true";
  meaning.numbers["global_batch"] = std::stod(config::find(tree, "global_batch")->text);
  meaning.numbers["microbatch_size"] = std::stod(text("training", "microbatch_size"));
  auto& numbers = meaning.numbers;
  numbers["gpus"] = numbers["tp"] * numbers["cp"] * numbers["pp"] * numbers["dp"];
  numbers["microbatches"] = numbers["global_batch"] / (numbers["dp"] * numbers["microbatch_size"]);
  const config::Value& schedule = *config::find(tree, "schedule");
  const bool map = schedule.kind == config::Value::Kind::map;
  meaning.texts["schedule"] = map ? config::find(schedule, "name")->text : schedule.text;
  numbers["chunks"] = map ? std::stod(config::find(schedule, "chunks")->text) : 1;
  return meaning;
}

// Returns for each rule, in the order of Space::excluded(), whether a candidate breaks it.
std::vector<bool> broken_rules(const RandomSweep& sweep, const Meaning& meaning) {
  std::vector<bool> result;
  if (!sweep.gpus.empty())
    result.push_back(std::ranges::count(sweep.gpus, meaning.numbers.at("gpus")) == 0);
  const double microbatches = meaning.numbers.at("microbatches");
  result.push_back(microbatches != static_cast<int>(microbatches));
  result.push_back(false);  // what is always true
  for (const RandomExpression& constraint : sweep.constraints)
    result.push_back(constraint.value(meaning) == 0);
  return result;
}

}  // namespace

TEST_CASE("random spaces contain what trying every combination finds", "[search][space]") {
  Random random(7);
  std::size_t candidates = 0;
  std::uint64_t excluded_combinations = 0;
  for (int i = 0; i < 20; ++i) {
    const RandomSweep sweep = random_sweep(random);
    INFO(sweep.text);
    const Space space = space_of(sweep.text);
    std::vector<std::uint64_t> expected;
    std::vector<std::uint64_t> breaks(space.excluded().size());        // by rule
    std::vector<std::uint64_t> breaks_alone(space.excluded().size());  // breaks no other rule
    const auto combinations = static_cast<std::uint64_t>(space.combinations());
    for (std::uint64_t candidate = 0; candidate < combinations; ++candidate) {
      const std::vector<bool> rules = broken_rules(sweep, meaning_of(space, candidate));
      const auto count = std::ranges::count(rules, true);
      if (count == 0) expected.push_back(candidate);
      for (std::size_t rule = 0; rule < rules.size(); ++rule) {
        breaks[rule] += rules[rule] ? 1 : 0;
        breaks_alone[rule] += rules[rule] && count == 1 ? 1 : 0;
      }
    }
    CHECK(candidates_of(space) == expected);
    for (std::uint64_t candidate = 0; candidate < combinations; ++candidate) {
      const bool is_expected = std::ranges::binary_search(expected, candidate);
      CHECK(space.contains(candidate) == is_expected);
      CHECK(space.why_no_candidate(candidate).has_value() != is_expected);
      CHECK(space.index_of(analysis::choices(space.axes(), candidate)) == candidate);
    }
    CHECK_FALSE(space.contains(combinations));
    CHECK(space.is_empty() == expected.empty());
    std::uint64_t excluded = 0;
    for (std::size_t rule = 0; rule < breaks.size(); ++rule) {
      const std::uint64_t count = space.excluded()[rule].combinations;
      CHECK(count >= breaks_alone[rule]);
      CHECK(count <= breaks[rule]);
      excluded += count;
    }
    CHECK(excluded + expected.size() == combinations);
    candidates += expected.size();
    excluded_combinations += excluded;
    if (expected.empty()) CHECK_FALSE(space.why_empty().empty());
  }
  CHECK(candidates > 300);
  CHECK(excluded_combinations > 3000);
}

TEST_CASE("few candidates of very many combinations cost few tries", "[search][space]") {
  // Of 100^4 layouts, only a few use 40 GPUs.
  const Sweep sweep = sweep_of(
      "parallel: {tp: 1..100, pp: 1..100, dp: 1..100, cp: 1..100}\nforward_times: 1\n"
      "backward_times: 1\nmicrobatches: 8\nsearch: {gpus: 40, constraints: [tp <= 8, zero == 0]}");
  const Domain domain(sweep, {});
  CHECK(domain.combinations == 1e8);
  Enumerator enumerator(domain);
  std::uint64_t layouts = 0;
  CHECK(enumerator.run([&](auto&&...) { return ++layouts > 0; }));
  std::uint64_t expected = 0;
  for (const int tp : {1, 2, 4, 5, 8})
    for (int cp = 1; cp <= 40; ++cp)
      for (int pp = 1; pp <= 40; ++pp) expected += 40 % (tp * cp * pp) == 0 ? 1 : 0;
  CHECK(layouts == expected);
  CHECK(enumerator.tries() < 20'000);
  CHECK(enumerator.excluded()[0] + enumerator.excluded()[1] + enumerator.excluded()[2] + layouts ==
        100'000'000);
}

TEST_CASE("a rule of a single axis applies before the enumeration", "[search][space]") {
  // Without that, the enumeration would try 10^6 combinations.
  const Sweep sweep = sweep_of(
      "microbatches: 1..1000\niterations: 1..1000\np2p: auto\nforward_times: 1\n"
      "backward_times: 1\ndevices: 2\n"
      "search: {constraints: [p2p == 'eager' and p2p == 'blocking', iterations < 1]}");
  const Domain domain(sweep, {});
  Enumerator enumerator(domain);
  CHECK(enumerator.run([](auto&&...) { return true; }));
  CHECK(enumerator.tries() == 0);
  CHECK(enumerator.excluded() == std::vector<std::uint64_t>{4'000'000, 0});
}

}  // namespace pipewright::search::test
