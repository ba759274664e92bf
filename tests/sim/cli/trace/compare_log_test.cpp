#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

const std::string samples = "'" PIPEWRIGHT_TEST_DATA "/measured/";

}  // namespace

TEST_CASE("a log's FLOPs are compared with those of the model", "[cli]") {
  const tests::CommandFolder place;
  // Mixtral 8x7B on 16 H100, 128 samples of 4096 tokens.
  REQUIRE(
      place
          .run("run --model mixtral-8x7b --gpu h100-sxm --cluster dgx-h100 --pp 2 --ep 8 --dp 8 "
               "-b 16 --engine timing --quiet --set training.sequence=4096 --trace m.h5")
          .status == 0);
  const tests::ProgramResult log =
      place.run("compare m.h5 " + samples + "megatron-half-flops.log'");
  CAPTURE(log.out, log.err);
  CHECK(log.status == 0);
  // 239.6e12 x 5.4505 x 16 / (128 x 4096) = 39.9e9 in the first line, and as much in the others.
  // Full attention counts 12 x 4096 x 4096 FLOPs a layer and token, causal attention half of them.
  CHECK_THAT(log.out,
             Catch::Contains("the log counts 39.9 GFLOP a token, 0.48 of the prediction's") &&
                 Catch::Contains("and 0.50 of its"));
  CHECK_THAT(log.out, Catch::Contains("FLOP/s are not comparable"));
  const json report =
      json::parse(place.run("compare m.h5 " + samples + "megatron-half-flops.log' --json").out);
  CHECK(report["flops_per_token"]["log"].get<double>() ==
        Approx(239.6e12 * 5.4505 * 16 / (128 * 4096)).epsilon(2e-3));

  // A log of the same run that counts one expert a token, of two, has the FLOPs of a smaller model:
  // 3 products of 4096 x 14336 fewer in 32 layers, of 6 FLOPs each.
  const double ours = report["flops_per_token"]["prediction"];
  const double single = ours - 6.0 * 3 * 4096 * 14336 * 32;
  place.write("one.log", "completed step: 9, seconds: 5.0, TFLOP/s/device: " +
                             std::to_string(6500 * single / 1e12) +
                             ", Tokens/s/device: 6500.0, loss: 2\n");
  CHECK_THAT(place.run("compare m.h5 one.log").out,
             Catch::Contains("one expert a token instead of 2, with full attention"));
}

TEST_CASE("a log's first step is left out of the rates", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(
      place.run("run -s 2 -b 2 -f '1 ms' --backward-times '2 ms' --quiet --trace p.h5").status ==
      0);
  const auto rate_of = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("compare p.h5 " + words + " --json");
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    return json::parse(ran.out)["rates"][0]["measured"].get<double>();
  };
  const std::string log = samples + "torchtitan-first-step.log'";
  CHECK(rate_of(log) == Approx((11636 + 11758 + 11533 + 11254) / 4.0));
  CHECK(rate_of(log + " --skip 0") == Approx((217 + 11636 + 11758 + 11533 + 11254) / 5.0));
  CHECK(rate_of(log + " --skip 3") == Approx((11533 + 11254) / 2.0));
  CHECK_THAT(place.run("compare p.h5 " + log).out,
             Catch::Contains("4 iterations (1 left out)") &&
                 Catch::Contains("iteration 1 is left out as warm-up: 217 tokens/s"));
  CHECK(place.run("compare p.h5 " + log + " --skip 5").status == 2);
}

TEST_CASE("a log of DLLogger is compared with a prediction", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(
      place.run("run -s 2 -b 2 -f '1 ms' --backward-times '2 ms' --quiet --trace p.h5").status ==
      0);
  const tests::ProgramResult log = place.run("compare p.h5 " + samples + "nemo-dllogger.log'");
  CAPTURE(log.out, log.err);
  CHECK(log.status == 0);
  CHECK_THAT(log.out, Catch::Contains("2.740 s"));
}

TEST_CASE("a file that is no log lists the texts that logs have", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(
      place.run("run -s 2 -b 2 -f '1 ms' --backward-times '2 ms' --quiet --trace p.h5").status ==
      0);
  place.write("t.log", "loss 2.0\nloss 1.9\n");
  const tests::ProgramResult log = place.run("compare p.h5 t.log");
  CHECK(log.status == 2);
  CHECK_THAT(log.err, Catch::Contains("unknown format") && Catch::Contains("MaxText") &&
                          Catch::Contains("train_step_timing in s"));
}
