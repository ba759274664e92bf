#include "sim/config/lengths.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Catch::Matchers::Contains;

Lengths lengths(const std::string& text) {
  const Value value = read_yaml_text(text, "l.yaml");
  return read_lengths({value, "training.lengths"});
}

std::string refusal(const std::string& text) {
  return error_of([&] { lengths(text); });
}

TEST_CASE("lengths come from a file, a list, or a lognormal or uniform distribution", "[lengths]") {
  CHECK(lengths("{documents: [512, 2048]}").documents == std::vector<std::uint32_t>{512, 2048});
  const Lengths drawn = lengths("{mean: 1200, p95: 4000, shortest: 16}");
  CHECK(drawn.mean == 1200);
  CHECK(drawn.p95 == 4000);
  CHECK(drawn.shortest == 16U);
  CHECK(drawn.packed);
  CHECK(to_string(drawn) == "lognormal with mean 1200 and p95 4000 packed");
  CHECK(to_string(lengths("{shortest: 10, longest: 90, packed: false, balance: length}")) ==
        "from 10 to 90 padded to longest balanced by length");
}

TEST_CASE("packed documents are cut, or packed whole by first fit", "[lengths]") {
  CHECK(lengths("{mean: 1200, p95: 4000}").cuts_documents());
  const Lengths whole = lengths("{mean: 1200, p95: 4000, packing: first_fit_decreasing}");
  CHECK_FALSE(whole.cuts_documents());
  CHECK(to_string(whole) ==
        "lognormal with mean 1200 and p95 4000 packed by first_fit_decreasing padded to longest");
  CHECK_THAT(refusal("{mean: 1200, p95: 4000, packed: false, packing: first_fit_shuffle}"),
             Contains("training.lengths.packing") && Contains("(packed: false)"));
}

TEST_CASE("documents that ranks share have most tokens of a rank", "[lengths]") {
  CHECK(to_string(lengths("{mean: 1200, p95: 4000, balance: context_parallel, "
                          "tokens_per_rank: 2048}")) ==
        "lognormal with mean 1200 and p95 4000 packed shared by ranks of at most 2048 tokens");
  CHECK_THAT(refusal("{mean: 1200, p95: 4000, balance: context_parallel}"),
             Contains("needs tokens_per_rank") && Contains("tokens_per_rank: 8192"));
  CHECK_THAT(refusal("{mean: 1200, p95: 4000, tokens_per_rank: 2048}"),
             Contains("left out without balance: context_parallel"));
  CHECK_THAT(refusal("{mean: 1200, p95: 4000, packing: first_fit_shuffle, "
                     "balance: context_parallel, tokens_per_rank: 2048}"),
             Contains("none or length for samples of whole documents"));
}

TEST_CASE("a lognormal distribution has its mean and its 95th percentile", "[lengths]") {
  const double s = lognormal_deviation(1200, 4000);
  const double m = std::log(1200) - s * s / 2;
  CHECK(std::exp(m + 1.6448536269514722 * s) == Approx(4000));
  CHECK(lognormal_deviation(1200, 1200) == Approx(0).margin(1e-12));
}

TEST_CASE("a file has one length per line or a histogram", "[lengths]") {
  const Folder folder;
  const auto of_file = [&](const std::string& text) {
    return lengths("{file: " + folder.write("l.csv", text) + "}");
  };
  CHECK(of_file("# tokens\n100\n\n 2000 \n").documents == std::vector<std::uint32_t>{100, 2000});
  const Lengths histogram = of_file("length,count\n100,3\n2000,1.5\n");
  REQUIRE(histogram.histogram.size() == 2);
  CHECK(histogram.histogram[1].tokens == 2000);
  CHECK(histogram.histogram[1].weight == 1.5);
  CHECK_THAT(error_of([&] { of_file("100\nabc\n"); }), Contains("l.csv:2: 'abc' is no length"));
  CHECK_THAT(error_of([&] { of_file("100\n0\n"); }), Contains("l.csv:2: '0' is no length"));
  CHECK_THAT(error_of([&] { of_file("100\n200,3\n"); }),
             Contains("l.csv:2: the file mixes lines with a count"));
  CHECK_THAT(error_of([&] { of_file("\n"); }), Contains("the file has no lengths"));
}

TEST_CASE("lengths without a source, or with several, are refused", "[lengths]") {
  CHECK_THAT(refusal("{}"), Contains("gives no lengths of documents"));
  CHECK_THAT(refusal("{documents: [1], mean: 3, p95: 4}"),
             Contains("gives lengths of documents more than once"));
  CHECK_THAT(refusal("{mean: 100}"), Contains("has mean without p95"));
  CHECK_THAT(refusal("{mean: 100, p95: 500}"), Contains("p95 is 500, with a mean of 100; allowed: "
                                                        "100 to 386"));
  CHECK_THAT(refusal("{shortest: 100, longest: 50}"),
             Contains("longest is 50, below shortest (100)"));
}

TEST_CASE("lengths take replicas, microbatches, iterations and seed from the scenario",
          "[lengths]") {
  const std::string common =
      "microbatches: 8, iterations: 2, parallel: {dp: 3}, variation: {seed: "
      "7}, training: {lengths: {documents: [100]}";
  const auto read = [](const std::string& text) {
    return read_scenario(read_yaml_text(text, "s.yaml"));
  };
  const Scenario scenario = read("{model: megatron-1.7b, gpu: h100-sxm, " + common + "}}");
  const Lengths& settled = *scenario.training.lengths;
  CHECK(settled.replicas == 3);
  CHECK(settled.microbatches == 8);
  CHECK(settled.iterations == 2);
  CHECK(settled.seed == 7);
  CHECK_THAT(error_of([&] {
               read(
                   "{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 8, parallel: {ep: 8, dp: "
                   "8}, training: {experts: {imbalance: 1.3, power_law: 1}}}");
             }),
             Contains("power_law draws an imbalance, and imbalance is given too (1.3)"));
  for (const std::string uneven : {"imbalance: 1.3", "power_law: 1"})
    CHECK_THAT(error_of([&] {
                 read(
                     "{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 8, parallel: {ep: 8, dp: "
                     "8}, training: {experts: {round_robin: true, " +
                     uneven + "}}}");
               }),
               Contains("round_robin gives all experts equally many tokens"));
}

TEST_CASE("routing is forced, natural, or a map that says how uneven it is", "[experts]") {
  const auto read = [](const std::string& experts) {
    return read_scenario(read_yaml_text("{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 8, "
                                        "parallel: {ep: 8, dp: 8}, training: {experts: {" +
                                            experts + "}}}",
                                        "s.yaml"))
        .training.experts;
  };
  CHECK(read("routing: forced").routing == RouterBalance::forced);
  CHECK(read("routing: natural").routing == RouterBalance::natural);
  CHECK(read("").draws_loads());  // by the default stack
  CHECK_FALSE(read("imbalance: 1").draws_loads());
  CHECK(read("routing: {power_law: 0.5}").power_law == 0.5);
  CHECK(routing_text(read("routing: natural")) == "natural");
  CHECK(routing_text(read("routing: forced")).empty());
  const ExpertTraining uneven = read("routing: {imbalance: 1.3}");
  CHECK(uneven.imbalance == 1.3);
  CHECK_FALSE(uneven.draws_loads());
  CHECK(routing_text(uneven) == "imbalance 1.3");
  const auto fault = [&](const char* experts) { return error_of([&] { read(experts); }); };
  CHECK_THAT(
      fault("routing: even"),
      Contains("training.experts.routing is the text 'even'; allowed: one of forced, natural"));
  CHECK_THAT(fault("routing: {}"), Contains("a map such as {imbalance: 1.3}"));
  CHECK_THAT(fault("routing: {imbalance: 0.5}"),
             Contains("training.experts.routing.imbalance") &&
                 Contains("a factor from 1 to the ranks of ep"));
  CHECK_THAT(fault("routing: {gini: 0.5}"),
             Contains("unknown key 'gini' in training.experts.routing"));
  CHECK_THAT(fault("routing: {imbalance: 1.5}, power_law: 1"), Contains("given too"));
  CHECK_THAT(fault("drop_above: 0.5"), Contains("a factor of at least 1, such as 1.25"));
}

}  // namespace
}  // namespace pipewright::config::test
