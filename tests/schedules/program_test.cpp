#include "schedules/program.hpp"

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

using namespace pipewright::schedules;

namespace {

std::string walk(const Program& program) {
  std::string text;
  for (PassCursor at(program); !at.done(); at.next())
    text += letter(at.pass().kind) + std::to_string(at.pass().microbatch) + ' ';
  return text;
}

}  // namespace

TEST_CASE("a program runs its loops in every iteration", "[program]") {
  Program program{.loops = {}, .iterations = 2, .iteration_step = 10};
  program.repeat(2, 1, {{PassKind::forward, 0, 0}});
  program.repeat(2, 1, {{PassKind::forward, 0, 2}, {PassKind::backward, 0, 0}});
  program.repeat(2, -1, {{PassKind::backward, 0, 3}});
  CHECK(walk(program) == "F0 F1 F2 B0 F3 B1 B3 B2 F10 F11 F12 B10 F13 B11 B13 B12 ");
  CHECK(program.size() == 16);
}

TEST_CASE("an empty program has no passes", "[program]") {
  Program program;
  program.repeat(0, 1, {{PassKind::forward, 0, 0}});
  program.repeat(3, 1, {});
  CHECK(walk(program).empty());
  CHECK(program.size() == 0);
}

namespace {

std::vector<Pass> flat(const Program& program) {
  std::vector<Pass> passes;
  for (PassCursor at(program); !at.done(); at.next()) passes.push_back(at.pass());
  return passes;
}

std::size_t passes_kept(const Program& program) {
  std::size_t passes = 0;
  for (const Loop& loop : program.loops) passes += loop.body.size();
  return passes;
}

}  // namespace

TEST_CASE("folding finds the loops of a list and keeps its order", "[program]") {
  Program program;
  program.repeat(7, 1, {{PassKind::forward, 0, 0}});
  program.repeat(1000, 2,
                 {{PassKind::forward, 0, 7},
                  {PassKind::backward, 0, 0},
                  {PassKind::forward, 0, 8},
                  {PassKind::backward, 0, 1}});
  program.repeat(7, 1, {{PassKind::backward, 0, 2000}});
  const std::vector<Pass> passes = flat(program);
  const Program folded = fold(passes);
  CHECK(flat(folded) == passes);
  CHECK(passes_kept(folded) <= 6);  // the pairs step by one microbatch
}

TEST_CASE("folding never splits a fused pair", "[program]") {
  for (std::uint32_t before = 0; before < 6; ++before) {
    Program program;
    program.repeat(before, 1, {{PassKind::backward, 1, 50}});
    program.repeat(
        40, 1,
        {{PassKind::forward, 0, 3, true}, {PassKind::backward, 1, 0}, {PassKind::forward, 1, 3}});
    const std::vector<Pass> passes = flat(program);
    const Program folded = fold(passes);
    CHECK(flat(folded) == passes);
    CHECK(passes_kept(folded) < 20);
    for (const Loop& loop : folded.loops) CHECK_FALSE(loop.body.back().fused);
  }
}

TEST_CASE("an irregular list folds to a single loop", "[program]") {
  std::vector<Pass> passes;
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525U + 1013904223U;
    passes.push_back(
        {static_cast<PassKind>(random >> 30U), static_cast<std::uint16_t>(i % 3), random >> 16U});
  }
  CHECK(flat(fold(passes)) == passes);
  CHECK(fold({}).loops.empty());
}
