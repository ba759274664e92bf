#include <catch2/catch.hpp>

#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

// Returns the program's explanation why a sweep of 4 x 5 x 5 layouts on 16 GPUs, with a batch of
// 16, has no candidates.
std::string why(const std::string& constraints, const std::string& more = "") {
  const Space space = space_of(
      "cluster: dgx-a100\nmodel: gpt3-175b\nglobal_batch: 16\n" + more +
      "parallel: {tp: [1, 2, 4, 8], pp: auto}\nsearch: {constraints: " + constraints + "}");
  CHECK(candidates_of(space).empty());
  return space.why_empty();
}

}  // namespace

TEST_CASE("an empty space names the rule to blame and the nearest candidates", "[search][empty]") {
  CHECK(why("[tp <= 4, \"pp * 4 == dp * 3\", \"heads % tp == 0\"]") ==
        "no candidate: the rules exclude all 100 combinations\n"
        "  no combination meets `pp * 4 == dp * 3`\n"
        "  without `pp * 4 == dp * 3` 12 candidates remain, such as tp 4, pp 2, dp 2");
  // If only several rules together leave no candidate, a minimal set of them is named.
  CHECK(why("[tp == 2, dp == 1, pp > 8]") ==
        "no candidate: the rules exclude all 100 combinations\n"
        "  no combination meets all of `tp * cp * pp * dp == 16` and `tp == 2` and `pp > 8`\n"
        "  without `tp * cp * pp * dp == 16` 1 candidate remains, such as tp 2, pp 16, dp 1\n"
        "  without `tp == 2` 1 candidate remains, such as tp 1, pp 16, dp 1\n"
        "  without `pp > 8` 1 candidate remains, such as tp 2, pp 8, dp 1");
}

TEST_CASE("rules that contradict each other are named in pairs", "[search][empty]") {
  CHECK(why("[tp <= 2, tp > 4, \"pp < 4 and dp * tp < 4\"]") ==
        "no candidate: the rules exclude all 100 combinations\n"
        "  no combination meets both `tp * cp * pp * dp == 16` and `pp < 4 and dp * tp < 4`\n"
        "  no combination meets both `tp <= 2` and `tp > 4`\n"
        "  no combination meets both `tp > 4` and `pp < 4 and dp * tp < 4`\n"
        "  leaving out any single rule brings no candidate back");
}

TEST_CASE("a rule that is always false contradicts itself", "[search][empty]") {
  CHECK(why("heads < 8") ==
        "no candidate: the rules exclude all 100 combinations\n"
        "  no combination meets `heads < 8`\n"
        "  without `heads < 8` 14 candidates remain, such as tp 1, pp 1, dp 16");
  CHECK(why("[\"schedule == 'gpipe'\"]", "schedule: [1f1b, zb-1p]\n") ==
        "no candidate: the rules exclude all 200 combinations\n"
        "  no combination meets `schedule == 'gpipe'`\n"
        "  without `schedule == 'gpipe'` 28 candidates remain, such as tp 1, pp 1, dp 16, schedule "
        "1f1b");
}

TEST_CASE("counting the candidates without a rule ends after a number of tries",
          "[search][empty]") {
  const Space space = space_of(
      "microbatches: 1..20000\niterations: 1..20000\ndevices: [2, 3]\nforward_times: 1\n"
      "backward_times: 1\nsearch: {constraints: pp > 3}");
  CHECK_THAT(space.why_empty(), Catch::Contains("without `pp > 3` more than "));
}

TEST_CASE("a rule that guards another one from dividing by 0 can be left out", "[search][empty]") {
  const Space space = space_of(
      "devices: [1, 2]\nmicrobatches: 4\nforward_times: 1\nbackward_times: 1\n"
      "schedule: [1f1b, gpipe]\n"
      "search: {constraints: [\"schedule == 'zb-1p'\", \"8 / (pp - 1) == chunks\"]}");
  CHECK_THAT(space.why_empty(), Catch::Contains("no combination meets `schedule == 'zb-1p'`"));
}

}  // namespace pipewright::search::test
