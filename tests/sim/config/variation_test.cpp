#include "sim/config/variation.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Variation variation(std::string_view text) {
  const Value value = read_yaml_text(text, "t");
  return read_variation({value, "variation"});
}

TEST_CASE("nothing varies by default") {
  const Variation v = variation("{}");
  CHECK_FALSE(v.is_random());
  CHECK(v.seed == 1);
  CHECK(v.distribution == Variation::Distribution::normal);
  CHECK(v.stragglers.empty());
  CHECK(v.links.empty());
}

TEST_CASE("jitter is a part or a percentage") {
  for (const char* const text : {"{jitter: 5 %}", "{jitter: 0.05}"}) {
    CHECK(variation(text).jitter == Approx(0.05));
    CHECK(variation(text).is_random());
  }
  for (const char* const text : {"{jitter: 0}", "{jitter: 0.0}", "{jitter: 0 %}"})
    CHECK_FALSE(variation(text).is_random());
  CHECK(variation("{seed: 0}").seed == 0);
  CHECK(variation("{slow_links: {link: a, factor: 0.0}}").links.front().factor == 0);
  CHECK(variation("{jitter: 1 %, distribution: lognormal, seed: 42}").seed == 42);
}

TEST_CASE("a factor below 1 is that of a faster device") {
  CHECK(variation("{stragglers: {device: 0, factor: 0.8}}").stragglers.front().factor == 0.8);
}

TEST_CASE("slow devices and links are a single map or a list") {
  const Variation v = variation(
      "{stragglers: [{device: 3, factor: 1.2}, {device: 0, replica: 1, factor: 2}], "
      "slow_links: {link: spine-0, factor: 0}}");
  REQUIRE(v.stragglers.size() == 2);
  CHECK(v.stragglers[0].device == 3);
  CHECK_FALSE(v.stragglers[0].replica);
  CHECK(v.stragglers[0].factor == 1.2);
  CHECK(v.stragglers[1].device == 0);
  CHECK(v.stragglers[1].replica == 1U);
  REQUIRE(v.links.size() == 1);
  CHECK(v.links[0].link == "spine-0");
  CHECK(v.links[0].factor == 0);
  CHECK(to_string(v.links[0].origin) == "t:1:90");
}

TEST_CASE("slow links need a cluster") {
  CHECK(error_of([] {
          read_scenario(read_yaml_text(
              "{devices: 2, microbatches: 4, forward_times: 1 s, backward_times: 2 s, schedule: "
              "1f1b, variation: {slow_links: {link: a, factor: 0.5}}}",
              "t"));
        }) ==
        "t:1:112: variation.slow_links needs a cluster; give a cluster (--cluster), or leave out "
        "slow_links");
}

TEST_CASE("the speed of the network scales as a whole or by class of links") {
  const Variation all = variation("{bandwidth: 0.8, latency: 1.5}");
  REQUIRE(all.bandwidth.size() == 1);
  CHECK(all.bandwidth[0].link_class == Variation::Bandwidth::all);
  CHECK(all.bandwidth[0].factor == 0.8);
  CHECK(all.latency == 1.5);
  const Variation some = variation("{bandwidth: {nic: 2, nvlink: 0.5}}");
  REQUIRE(some.bandwidth.size() == 2);
  CHECK(some.bandwidth[0].link_class == "nic");
  CHECK(some.bandwidth[1].factor == 0.5);
  CHECK(some.latency == 1);
}

TEST_CASE("every fault of a variation has a message") {
  for (const char* const text :
       {"{jitter: 2}", "{jitter: -1 %}", "{distribution: gauss}", "{seed: -1}",
        "{stragglers: {factor: 2}}", "{stragglers: {device: 0}}",
        "{stragglers: {device: -1, factor: 2}}", "{stragglers: {device: 0, factor: 0}}",
        "{slow_links: {link: a}}", "{slow_links: {factor: 0.5}}",
        "{slow_links: {link: a, factor: 1.5}}", "{slow_links: {link: a, factor: x}}",
        "{bandwidth: 0}", "{bandwidth: {nic: 2e6}}", "{bandwidth: [1]}", "{bandwidth: {}}",
        "{latency: -1}"}) {
    CAPTURE(text);
    const std::string error = error_of([&] { variation(text); });
    CHECK(error.rfind("t:1:", 0) == 0);
    const auto says = [&](const char* what) { return error.find(what) != std::string::npos; };
    CHECK((says("allowed") || says("missing") || says("such as")));
  }
  CHECK(error_of([] { variation("{jiter: 0.1}"); }) ==
        "t:1:2: unknown key 'jiter' in variation; did you mean 'jitter'? allowed: jitter, "
        "distribution, seed, stragglers, slow_links, bandwidth, latency, power_cap");
}

}  // namespace
}  // namespace pipewright::config::test
