#include "sim/serve/scenario_text.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"

using namespace pipewright;
using namespace pipewright::serve;

namespace {

const std::string text =
    "# of a paper\n"
    "cluster: dgx-h100-8  # 64 GPUs\n"
    "model: llama-3-70b\n"
    "parallel: {tp: 8, pp: 4, dp: 2}\n"
    "schedule: 1f1b\n"
    "global_batch: 128\n";

Fault fault_in(const std::string& scenario) {
  try {
    config::read_scenario(tree_of(scenario));
  } catch (const config::Error& error) {
    return fault_of(error, scenario);
  }
  return {};
}

}  // namespace

TEST_CASE("replacing a value keeps the rest of the text", "[serve]") {
  const std::string now = edited(text, {{"parallel.tp", "4"}, {"global_batch", "64"}});
  CHECK(now ==
        "# of a paper\n"
        "cluster: dgx-h100-8  # 64 GPUs\n"
        "model: llama-3-70b\n"
        "parallel: {tp: 4, pp: 4, dp: 2}\n"
        "schedule: 1f1b\n"
        "global_batch: 64\n");
}

TEST_CASE("adding and removing keys keeps the rest of the text", "[serve]") {
  const std::string more = edited(text, {{"training.precision", "fp8"}});
  CHECK(more == text + "training: {precision: fp8}\n");
  CHECK(edited(more, {{"training.sequence", "4096"}}) ==
        text + "training: {precision: fp8, sequence: 4096}\n");
  CHECK(edited(more, {{"training.precision", ""}}) == text);
  const std::string block = text + "training:\n  precision: fp8\n  # of the paper\np2p: eager\n";
  CHECK(edited(block, {{"training.sequence", "4096"}}) ==
        text + "training:\n  precision: fp8\n  sequence: 4096\n  # of the paper\np2p: eager\n");
  CHECK(edited(block, {{"training.precision", ""}}) == text + "p2p: eager\n");
  CHECK(edited(block, {{"p2p", ""}}) == text + "training:\n  precision: fp8\n  # of the paper\n");
  CHECK(edited("", {{"model", "llama-3-8b"}}) == "model: llama-3-8b\n");
}

TEST_CASE("the number of pipeline devices has a single place under all of its names", "[serve]") {
  CHECK(values_of(tree_of("devices: 8\n")).at("parallel.pp") == "8");
  CHECK(edited("num_stages: 8\n", {{"parallel.pp", "4"}}) == "num_stages: 4\n");
  CHECK(edited("devices: 8\nmodel: m\n", {{"parallel.pp", ""}}) == "model: m\n");
}

TEST_CASE("a schedule keeps its choices when its name changes", "[serve]") {
  CHECK(values_of(tree_of(text)).at("schedule.name") == "1f1b");
  const std::string other = edited(text, {{"schedule.name", "gpipe"}});
  CHECK(other.find("schedule: gpipe\n") != std::string::npos);
  const std::string chunks = edited(text, {{"schedule.chunks", "2"}});
  CHECK(chunks.find("schedule: {name: 1f1b, chunks: 2}\n") != std::string::npos);
  const auto values = values_of(tree_of(chunks));
  CHECK(values.at("schedule.name") == "1f1b");
  CHECK(values.at("schedule.chunks") == "2");
}

TEST_CASE("a text that cannot be edited in place is written anew below its first comments",
          "[serve]") {
  const std::string now = edited(text, {{"parallel.pp", ""}});
  CHECK(now.starts_with("# of a paper\n"));
  const auto values = values_of(tree_of(now));
  CHECK(values.count("parallel.pp") == 0);
  CHECK(values.at("parallel.tp") == "8");
}

TEST_CASE("an edited text reads as the same scenario", "[serve]") {
  const std::string now =
      edited(text, {{"training.recompute", "full"}, {"training.recompute", ""}});
  CHECK(config::read_scenario(tree_of(now)).text == config::read_scenario(tree_of(text)).text);
}

TEST_CASE("a fault has the key, line and column of its value", "[serve]") {
  const Fault fault = fault_in(edited(text, {{"parallel.tp", "eight"}}));
  CHECK(fault.key == "parallel.tp");
  CHECK(fault.line == 4);
  CHECK(fault.column == 16);
  CHECK(fault.message.find("scenario.yaml") == std::string::npos);
  CHECK(fault_in(edited(text, {{"model", "llama-9"}})).key == "model");
  CHECK(fault_in(text + "parallel: {\n").line > 0);
}

TEST_CASE("a contradiction of two keys has one of these keys", "[serve]") {
  const Fault fault = fault_in(text + "p2p_time: 1 ms\n");
  CHECK(fault.key == "p2p_time");
  CHECK(fault.line == 7);
  CHECK(fault_in("devices: 8\n" + text).key == "parallel.pp");
}

TEST_CASE("a fault in an item of a list has the key of the list", "[serve]") {
  CHECK(fault_in(text + "forward_times: [1, {}]\n").key == "forward_times");
}
