#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/stack_rules.hpp"
#include "sim/config/text/library.hpp"
#include "support/program.hpp"

using namespace pipewright;
using Catch::Contains;
using nlohmann::json;

namespace {

json output(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run(words + " --json");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

}  // namespace

TEST_CASE("stack list has every stack of the library with its host times", "[cli][stack]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("stack list");
  CHECK(ran.status == 0);
  const json stacks = output(place, "stack list");
  const std::vector<std::string> names = config::library_names("stacks", ".yaml");
  REQUIRE(stacks.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(stacks[i]["stack"] == names[i]);
    CHECK_THAT(ran.out, Contains("\n" + names[i] + " "));
    CHECK_THAT(ran.out, Contains(stacks[i]["software"].get<std::string>()));
  }
  const json fsdp =
      *std::ranges::find_if(stacks, [](const json& row) { return row["stack"] == "pytorch-fsdp"; });
  CHECK(fsdp["kernel_s"].get<double>() == Approx(12e-6));
  CHECK(fsdp["collective_s"].get<double>() == Approx(25e-6));
  CHECK(fsdp["pass_s"].get<double>() == Approx(0.3e-3));
  CHECK(fsdp["iteration_s"] == 0);
  CHECK(fsdp["memory"]["fragmentation"] == 0.1);
  CHECK(fsdp["memory"]["workspace_bytes"] == 64 << 20);
  CHECK(fsdp["fused"].empty());
  CHECK(fsdp["early_stop"] == true);
  CHECK(fsdp["attention"] == "fa2, cudnn, aotriton");
}

TEST_CASE("stack show prints all keys, and its output is a stack again", "[cli][stack]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("stack show torchtitan");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Contains("name: torchtitan\n") && Contains("kernel: 12 us\n") &&
                          Contains("tensor_format: bshd\n") && !Contains("like:"));
  place.write("mine.yaml", ran.out);
  CHECK(place.run("stack show ./mine.yaml").out == ran.out);
  const json mine = output(place, "stack show ./mine.yaml");
  CHECK(mine["stack"] == "torchtitan");
  CHECK(mine == output(place, "stack show torchtitan"));
}

TEST_CASE("stack show explains the rules of a stack", "[cli][stack]") {
  const tests::CommandFolder place;
  CHECK_THAT(
      place.run("stack show torchtitan").out,
      Contains(", no_zero_1, ") && Contains("# no_zero_1: optimizer state is not sharded alone\n"));
  const json rules = output(place, "stack show llm-foundry")["rules"];
  REQUIRE(rules.size() == 7);
  const auto row = std::ranges::find(
      rules, "no_zero_1", [](const json& rule) { return rule["name"].get<std::string>(); });
  REQUIRE(row != rules.end());
  CHECK((*row)["help"] == "optimizer state is not sharded alone");
}

TEST_CASE("stack show lists the schedules of a stack", "[cli][stack]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("stack show nanotron").out, Contains("schedules: [gpipe, 1f1b]\n"));
  CHECK(output(place, "stack show nanotron")["schedules"] == json{"gpipe", "1f1b"});
}

TEST_CASE("the page about stacks has every rule", "[cli][stack]") {
  const tests::CommandFolder place;
  const std::string page = place.run("help stacks").out;
  for (const config::StackRule& rule : config::stack_rules)
    CHECK_THAT(page, Contains(std::string(rule.name)));
}

TEST_CASE("a file can change some keys of a stack", "[cli][stack]") {
  const tests::CommandFolder place;
  place.write("mine.yaml", "like: torchtitan\nhost: {kernel: 20 us}\n");
  const json mine = output(place, "stack show mine.yaml");
  const json base = output(place, "stack show torchtitan");
  CHECK(mine["stack"] == "mine");
  CHECK(mine["kernel_s"].get<double>() == Approx(20e-6));
  for (const char* const key : {"collective_s", "pass_s", "fused", "early_stop", "attention"})
    CHECK(mine[key] == base[key]);
}

TEST_CASE("stack list has the user's version of a stack", "[cli][stack]") {
  const tests::CommandFolder place;
  const json shipped = output(place, "stack list");
  REQUIRE(place.shell("mkdir -p own/stacks").status == 0);
  place.write("own/stacks/torchtitan.yaml", "help: ours\nlike: torchtitan\nhost: {kernel: 9 us}\n");
  setenv("PIPEWRIGHT_PLATFORMS", (place.folder() / "own").c_str(), 1);
  const json listed = output(place, "stack list");
  const json shown = output(place, "stack show own/stacks/torchtitan.yaml");
  const json shown_by_name = output(place, "stack show torchtitan");
  const std::string list = place.run("stack list").out;
  const std::string text = place.run("stack show torchtitan").out;
  const std::string run =
      place
          .run("run --model llama-3-8b --gpu h100-sxm -s 2 -b 4 --engine timing --stack torchtitan")
          .out;
  unsetenv("PIPEWRIGHT_PLATFORMS");
  REQUIRE(listed.size() == shipped.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const bool is_own = listed[i]["stack"] == "torchtitan";
    CHECK((listed[i]["software"] == "ours") == is_own);
    CHECK(listed[i]["file"].is_null() != is_own);
    CHECK(shipped[i]["file"].is_null());
    const bool inherits = is_own || listed[i]["stack"] == "torchtitan-eager";
    CHECK((listed[i]["kernel_s"] == shipped[i]["kernel_s"]) != inherits);
  }
  CHECK(shown["kernel_s"].get<double>() == Approx(9e-6));
  const std::string file = (place.folder() / "own/stacks/torchtitan.yaml").string();
  CHECK(shown_by_name["file"] == file);
  CHECK(shown["file"].is_null());
  CHECK_THAT(list, Catch::EndsWith("\ntorchtitan is the file " + file + "\n"));
  CHECK_THAT(text, Catch::StartsWith("# file: " + file + "\nname: torchtitan\n"));
  CHECK_THAT(run, Contains(" with torchtitan: "));
}

TEST_CASE("a folder that leads to the program's library has no files of the user", "[cli][stack]") {
  const tests::CommandFolder place;
  const std::string list = place.run("stack list").out;
  std::filesystem::create_directory_symlink(config::library_folders().back(),
                                            place.folder() / "link");
  setenv("PIPEWRIGHT_PLATFORMS", (place.folder() / "link").c_str(), 1);
  const std::string linked = place.run("stack list").out;
  unsetenv("PIPEWRIGHT_PLATFORMS");
  CHECK(linked == list);
}

TEST_CASE("errors of stack commands name the fault and what is allowed", "[cli][stack]") {
  const tests::CommandFolder place;
  const auto fails = [&](const std::string& words, const std::string& with) {
    const tests::ProgramResult ran = place.run(words);
    CAPTURE(words, ran.err, ran.out);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(with));
  };
  fails("stack show", "a stack, such as torchtitan");
  fails("stack show torchtitn", "did you mean 'torchtitan'?");
  fails("stack show torchtitan nanotron", "stack takes one value, not 2");
  fails("stack list nanotron", "'pipewright stack show nanotron' shows one");
  fails("stack find", "'list' or 'show'");
  place.write("mine.yaml", "like: torchtitan\nhost: {kernle: 20 us}\n");
  fails("stack show mine.yaml", "mine.yaml:2:8: ");
  fails("run --model llama-3-8b --gpu a100-80gb --stack primus -s 2 -b 4 --engine timing",
        "the GPU 'a100-80gb' has no attention kernel aiter or ck, which the stack uses");
}

TEST_CASE("a run says that the keys of its stack are changed", "[cli][stack]") {
  const tests::CommandFolder place;
  const auto first_line = [&](const std::string& more) {
    const std::string out =
        place.run("run --model llama-3-8b --gpu h100-sxm -s 2 -b 4 --engine timing " + more).out;
    return out.substr(0, out.find('\n'));
  };
  CHECK_THAT(first_line(""), Contains(" with megatron-core: "));
  CHECK_THAT(first_line("--stack torchtitan"), Contains(" with torchtitan: "));
  CHECK_THAT(first_line("--stack torchtitan --set stack.host.pass='1 ms'"),
             Contains(" with torchtitan (changed): "));
  CHECK_THAT(first_line("--set stack.host.pass='1 ms'"),
             Contains(" with megatron-core (changed): "));
}

TEST_CASE("options for stacks, GPUs and models take maps", "[cli][stack]") {
  const tests::CommandFolder place;
  const std::string words = "run --model llama-3-8b -s 2 -b 4 --engine timing ";
  const auto seconds = [&](const std::string& more) {
    return output(place, words + more)["makespan_s"].get<double>();
  };
  CHECK(seconds("--gpu h100-sxm --stack '{like: torchtitan, attention: [cudnn]}'") ==
        seconds("--gpu h100-sxm --stack torchtitan --set 'stack.attention=[cudnn]'"));
  CHECK(seconds("--gpu h100-sxm --partition '{first: 15}'") ==
        seconds("--gpu h100-sxm --set 'partition={first: 15}'"));
  const auto fails = [&](const std::string& more, const std::string& with) {
    const tests::ProgramResult ran = place.run(words + "--gpu h100-sxm " + more);
    CAPTURE(more, ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains("--stack") && Contains(with));
  };
  fails("--stack '{like: torchtitan, atention: [cudnn]}'", "did you mean 'attention'?");
  fails("--stack '{like: torchtitn}'", "did you mean 'torchtitan'?");
  fails("--stack '{like: torchtitan'", "closing bracket");
  fails("--stack '{}'", "stack.host is missing");
}

TEST_CASE("a run without a stack is one of the default stack", "[cli][stack]") {
  const tests::CommandFolder place;
  const std::string words = "run --model llama-3-8b --gpu a100-80gb -s 2 -b 4 --engine timing";
  const auto seconds = [&](const std::string& more) {
    return output(place, words + more)["makespan_s"].get<double>();
  };
  CHECK(seconds("") == seconds(" --stack megatron-core"));
  CHECK(seconds(" --set stack.host.pass='100 ms'") > seconds("") + 0.1);
}
