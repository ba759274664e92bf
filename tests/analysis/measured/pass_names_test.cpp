#include "analysis/measured/pass_names.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using analysis::NamedPass;
using analysis::PassNames;
using trace::PassKind;

namespace {

NamedPass single_pass(const std::string& name) {
  const auto passes = PassNames().read(name);
  CAPTURE(name);
  REQUIRE(passes.size() == 1);
  return passes.front();
}

}  // namespace

TEST_CASE("names of torch.distributed.pipelining give stage, kind and microbatch", "[import]") {
  CHECK(single_pass("PP:2F0") == NamedPass{PassKind::forward, 2, 0, {}});
  CHECK(single_pass("PP:13B7") == NamedPass{PassKind::backward, 13, 7, {}});
  CHECK(single_pass("PP:0I31") == NamedPass{PassKind::input_grad, 0, 31, {}});
  CHECK(single_pass("PP:0W31") == NamedPass{PassKind::weight_grad, 0, 31, {}});
  CHECK(single_pass("3F12") == NamedPass{PassKind::forward, 3, 12, {}});
  CHECK(single_pass("Forward 4") == NamedPass{PassKind::forward, {}, 4, {}});
  CHECK(single_pass("Backward 4") == NamedPass{PassKind::backward, {}, 4, {}});
}

TEST_CASE("names of Megatron-LM only give the kind", "[import]") {
  CHECK(single_pass("forward_step") == NamedPass{PassKind::forward, {}, {}, {}});
  CHECK(single_pass("megatron.core.pipeline_parallel.schedules.backward_step") ==
        NamedPass{PassKind::backward, {}, {}, {}});
  CHECK(single_pass("forward-compute").kind == PassKind::forward);
}

TEST_CASE("a fused pair is two passes", "[import]") {
  const auto passes = PassNames().read("PP:(0F7;7B3)OVERLAP_F_B");
  REQUIRE(passes.size() == 2);
  CHECK(passes[0] == NamedPass{PassKind::forward, 0, 7, {}});
  CHECK(passes[1] == NamedPass{PassKind::backward, 7, 3, {}});
}

TEST_CASE("names of other events are not passes", "[import]") {
  for (const std::string name :
       {"", "PP:", "PP:1RECV_F0", "PP:0UNSHARD", "PP:F0", "PP:(0F7)OVERLAP_F_B",
        "PP:(;)OVERLAP_F_B", "ProfilerStep#3", "forward", "Forward", "F", "aten::forward 3x",
        "PP:99999999999F0x", "backward_step_helper", "nccl:send 0->1"}) {
    CAPTURE(name);
    CHECK(PassNames().read(name).empty());
  }
  CHECK(PassNames().read(std::string(1'000'000, 'F')).empty());
}

TEST_CASE("a user's pattern has named groups", "[import]") {
  const PassNames names(
      R"([a(]\(?(?P<kind>fwd|wgrad)\)?(?:/|-)s(?<stage>\d+)(x)?_(?<microbatch>\d+)@(?<device>\d+))");
  REQUIRE(names.read("afwd/s3_12@1").size() == 1);
  CHECK(names.read("afwd/s3_12@1").front() == NamedPass{PassKind::forward, 3, 12, 1});
  CHECK(names.read("((wgrad)-s0x_1@0").front() == NamedPass{PassKind::weight_grad, 0, 1, 0});
  CHECK(names.read("PP:2F0").empty());  // The pattern replaces those of known frameworks.
  CHECK(names.read("afwd/s3_12@1 ").empty());
}

TEST_CASE("the error of an invalid pattern names the problem", "[import]") {
  const auto pattern_error = [](const std::string& pattern) -> std::string {
    try {
      const PassNames names(pattern);
      return "";
    } catch (const analysis::PatternError& error) {
      return error.what();
    }
  };
  CHECK_THAT(pattern_error("(?<stage>\\d+)"), Catch::Contains("no group called kind"));
  CHECK_THAT(pattern_error("(?<kind>F)(?<rank>1)"),
             Catch::Contains("'rank'") && Catch::Contains("character 11"));
  CHECK_THAT(pattern_error("(?<kind>F"), Catch::Contains("not a regular expression"));
  CHECK_THAT(pattern_error("(?<kind"), Catch::Contains("the group at character 1 is called"));
  CHECK_THAT(pattern_error("\x1b(?<stage>1)"), Catch::Contains("\\x1b"));
}
