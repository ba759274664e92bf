#include "schedules/program.hpp"

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

TEST_CASE("a program unrolls its loops, and all of them once an iteration", "[program]") {
  Program program{.loops = {}, .iterations = 2, .iteration_step = 10};
  program.repeat(2, 1, {{PassKind::forward, 0, 0}});
  program.repeat(2, 1, {{PassKind::forward, 0, 2}, {PassKind::backward, 0, 0}});
  program.repeat(2, -1, {{PassKind::backward, 0, 3}});
  CHECK(walk(program) == "F0 F1 F2 B0 F3 B1 B3 B2 F10 F11 F12 B10 F13 B11 B13 B12 ");
  CHECK(program.size() == 16);
}

TEST_CASE("an empty program is done at once", "[program]") {
  Program program;
  program.repeat(0, 1, {{PassKind::forward, 0, 0}});
  program.repeat(3, 1, {});
  CHECK(walk(program).empty());
  CHECK(program.size() == 0);
}
