#include <random>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

const std::vector<std::string> seeds{
    R"({"num_stages": 6, "num_batches": 12, "forward_times": [0.8, 1.0, 1.2, 1.0, 0.9, 1.1],
"backward_times": [1.6, 2.0, 2.4, 2.0, 1.8, 2.2], "p2p_time": 0.05, "output_file": "six.png"})",
    "devices: 2\nmicrobatches: 64\nschedule: [1f1b, {name: interleaved-1f1b, chunks: 2}]\n"
    "forward_times: &f [18.5 ms, 19 ms]\ninput_grad_times: *f\nweight_grad_times: 9.3 ms\n"
    "activation: {per_microbatch: 1.5 GiB, released_by_input_grad: 40 %}\n"
    "state:\n  weights: 2 GiB\n  optimizer: [1 GB, 3 GB]\np2p: \"eager\"\n",
    "? devices\n: 3\nmicrobatches: !!int 4\nforward_times: |\n  1 ms\nbackward_times: >-\n  2 ms\n"
    "engine: 'timing' # fast\n",
};

const std::vector<std::string> tokens{"[",
                                      "]",
                                      "{",
                                      "}",
                                      ":",
                                      ": ",
                                      ",",
                                      "-",
                                      "- ",
                                      "? ",
                                      "&a ",
                                      "*a",
                                      "!x ",
                                      "|",
                                      ">",
                                      "\"",
                                      "'",
                                      "#",
                                      "%",
                                      "---\n",
                                      "...\n",
                                      "\n",
                                      "  ",
                                      "\t",
                                      "\\",
                                      "~",
                                      "null",
                                      "\xef\xbb\xbf",
                                      "\xff",
                                      "@",
                                      "1e999",
                                      "nan",
                                      "-1",
                                      "<<",
                                      "\\x00",
                                      "µ",
                                      "99999999999999999999",
                                      "devices"};

std::string mutate(std::string text, std::mt19937& random) {
  for (auto n = 1 + random() % 2; n > 0; --n) {
    const std::size_t place = random() % (text.size() + 1);
    const std::size_t length = random() % 8;
    switch (random() % 5) {
      case 0:
        text.erase(place, length);
        break;
      case 1:
        text.insert(place, tokens[random() % tokens.size()]);
        break;
      case 2:
        if (place < text.size()) text[place] = static_cast<char>(random() % 256);
        break;
      case 3:
        text.insert(place, text.substr(random() % (text.size() + 1), 4 * length));
        break;
      default:
        text.resize(place);
    }
  }
  return text;
}

TEST_CASE("no mutation of a scenario does worse than an error with a place") {
  std::mt19937 random(5);
  int sound = 0;
  int faulty = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutate(seeds[random() % seeds.size()], random);
    CAPTURE(text);
    try {
      const Scenario scenario = read_scenario(read_yaml_text(text, "t"));
      REQUIRE(read_scenario(read_yaml_text(scenario.text, "t")).text == scenario.text);
      ++sound;
    } catch (const Error& error) {
      REQUIRE_THAT(error.what(), Catch::StartsWith("t:"));
      ++faulty;
    }
  }
  CHECK(sound > 500);
  CHECK(faulty > 500);
}

TEST_CASE("no mutation of an override does worse than an error") {
  std::mt19937 random(6);
  const std::vector<std::string> paths{"devices", "schedule.chunks", "schedule.0", "activation.x.y",
                                       "forward_times.1"};
  for (int i = 0; i < 5'000; ++i) {
    Value root = read_yaml_text(seeds[1], "t");
    const std::string path = mutate(paths[random() % paths.size()], random);
    const std::string text = mutate("[1, {a: 2 ms}]", random);
    CAPTURE(path, text);
    try {
      override_key(root, path, text, {"--set", 0, 0, ""});
      read_scenario(root);
    } catch (const Error& error) {
      REQUIRE_FALSE(std::string(error.what()).empty());
    }
  }
}

}  // namespace
}  // namespace pipewright::config::test
