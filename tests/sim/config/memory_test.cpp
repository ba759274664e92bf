#include "sim/config/memory.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Bytes = std::vector<std::uint64_t>;

Activation activation(std::string_view text, std::uint32_t devices = 2) {
  const Value value = read_yaml_text(text, "t");
  return read_activation({value, "activation"}, devices);
}

State state(std::string_view text, std::uint32_t devices = 2) {
  const Value value = read_yaml_text(text, "t");
  return read_state({value, "state"}, devices);
}

TEST_CASE("I and W release half of the activations by default") {
  const Activation a = activation("per_microbatch: 101");
  CHECK(a.per_microbatch.values == Bytes{101});
  CHECK(a.released_by_input_grad.values == Bytes{51});
  CHECK(a.released_by_weight_grad.values == Bytes{50});
  CHECK(a.released_by_weight_grad.at(1) == 50);
  const Activation nothing = activation("{per_microbatch: 101, released_by_input_grad: 0}");
  CHECK(nothing.released_by_weight_grad.values == Bytes{101});
}

TEST_CASE("a single release leaves the rest to the other pass, in bytes or percent") {
  const Activation by_input = activation("{per_microbatch: 100, released_by_input_grad: 30}");
  CHECK(by_input.released_by_input_grad.values == Bytes{30});
  CHECK(by_input.released_by_weight_grad.values == Bytes{70});
  const Activation by_weight = activation("{per_microbatch: 100, released_by_weight_grad: 30 %}");
  CHECK(by_weight.released_by_input_grad.values == Bytes{70});
  CHECK(by_weight.released_by_weight_grad.values == Bytes{30});
}

TEST_CASE("releases can differ by device") {
  const Activation a = activation("{per_microbatch: 1 kB, released_by_input_grad: [40 %, 100]}");
  CHECK(a.per_microbatch.values == Bytes{1000, 1000});
  CHECK(a.released_by_input_grad.values == Bytes{400, 100});
  CHECK(a.released_by_weight_grad.values == Bytes{600, 900});
  const Activation b = activation(
      "{per_microbatch: [100, 200], released_by_input_grad: 50 %, "
      "released_by_weight_grad: [50, 100]}");
  CHECK(b.released_by_input_grad.values == Bytes{50, 100});
  CHECK(b.released_by_weight_grad.values == Bytes{50, 100});
}

TEST_CASE("both releases always add up to the whole despite rounding") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t whole = random() >> (12 + random() % 52);
    const auto tenths = random() % 1001;
    const auto percent = [](std::uint64_t t) {
      return std::to_string(t / 10) + "." + std::to_string(t % 10) + " %";
    };
    const Activation a = activation("{per_microbatch: " + std::to_string(whole) +
                                    ", released_by_input_grad: " + percent(tenths) +
                                    ", released_by_weight_grad: " + percent(1000 - tenths) + "}");
    REQUIRE(a.released_by_input_grad.at(0) + a.released_by_weight_grad.at(0) == whole);
    REQUIRE(static_cast<double>(a.released_by_input_grad.at(0)) ==
            Approx(static_cast<double>(whole * tenths) / 1000).margin(0.51).epsilon(1e-12));
  }
}

TEST_CASE("missing keys of the state are zero") {
  const State s = state("{weights: 2 GiB, gradients: [1, 2]}");
  CHECK(s.weights.at(1) == std::uint64_t{2} << 30U);
  CHECK(s.gradients.values == Bytes{1, 2});
  CHECK(s.optimizer.at(1) == 0);
}

TEST_CASE("every fault of memory keys has a message") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"released_by_input_grad: 3",
       "t:1:1: activation.per_microbatch is missing: activation bytes of a microbatch on a device, "
       "all chunks together"},
      {"7",
       "t:1:1: activation is 7; allowed: a map with keys of: per_microbatch, "
       "released_by_input_grad, released_by_weight_grad"},
      {"{per_microbatch: 1, released: 1}",
       "t:1:21: unknown key 'released' in activation; did you mean 'released_by_input_grad'? "
       "allowed: per_microbatch, released_by_input_grad, released_by_weight_grad"},
      {"per_microbatch: [1, 2, 3]",
       "t:1:17: activation.per_microbatch has 3 values; allowed: 1, or one per device (2)"},
      {"per_microbatch: []",
       "t:1:17: activation.per_microbatch is an empty list; allowed: a size or a list of sizes, "
       "such as 24 MiB or [24 MiB, 20 MiB]"},
      {"per_microbatch: [1, -2]",
       "t:1:21: activation.per_microbatch[1] is -2; allowed: a size of memory from 0 to 2^63 "
       "bytes, such as 24 MiB"},
      {"per_microbatch: {a: 1}",
       "t:1:17: activation.per_microbatch is a map; allowed: a size of memory, such as 24 MiB"},
      {"{per_microbatch: 100, released_by_input_grad: 101}",
       "t:1:47: activation.released_by_input_grad is 101 bytes on device 0; allowed: at most the "
       "100 bytes of activation.per_microbatch"},
      {"{per_microbatch: 100, released_by_input_grad: 101 %}",
       "t:1:47: activation.released_by_input_grad is 101 %; allowed: a release from 0 % to 100 %, "
       "such as 40 %"},
      {"{per_microbatch: 100, released_by_input_grad: {a: 1}}",
       "t:1:47: activation.released_by_input_grad is a map; allowed: a size or a share of "
       "activation.per_microbatch, such as 24 MiB or 40 %"},
      {"{per_microbatch: 100, released_by_input_grad: 40, released_by_weight_grad: [60, 50]}",
       "t:1:76: activation.released_by_input_grad and activation.released_by_weight_grad add up to "
       "90 of 100 bytes on device 1; leave out one of them, which then is the rest"},
      {"{per_microbatch: 100, released_by_input_grad: 40 %, released_by_weight_grad: 70 %}",
       "t:1:78: activation.released_by_input_grad and activation.released_by_weight_grad add up to "
       "110 of 100 bytes on device 0; leave out one of them, which then is the rest"},
  }));
  CAPTURE(text);
  CHECK(error_of([t = text] { activation(t); }) == message);
  CHECK(error_of([] { state("{weight: 1}"); }) ==
        "t:1:2: unknown key 'weight' in state; did you mean 'weights'? allowed: weights, "
        "gradients, optimizer");
}

}  // namespace
}  // namespace pipewright::config::test
