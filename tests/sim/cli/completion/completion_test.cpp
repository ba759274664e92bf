#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/completion/candidates.hpp"
#include "sim/cli/help/man_page.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "support/program.hpp"

namespace pipewright::cli {
namespace {

std::vector<std::string> words_for(const std::vector<std::string>& typed) {
  std::vector<std::string> words;
  for (const Candidate& candidate : candidates(typed).words) words.push_back(candidate.word);
  return words;
}

bool offers(const std::vector<std::string>& typed, const std::string& word) {
  return std::ranges::count(words_for(typed), word) == 1;
}

TEST_CASE("commands and verbs are completed", "[cli]") {
  CHECK(words_for({}).size() == commands().size());
  CHECK(words_for({"sche"}) == std::vector<std::string>{"schedule"});
  CHECK(words_for({"comm", "m"}) == std::vector<std::string>{"matrix"});
  CHECK(words_for({"no-command", ""}).empty());
  CHECK(words_for({"--v"}) == std::vector<std::string>{"--version"});
}

TEST_CASE("every option in a command's help is offered with its help", "[cli]") {
  const tests::CommandFolder place;
  const auto check = [&](std::vector<std::string> words, const Command& command) {
    const std::string help = place.run(fmt::format("{} --help", fmt::join(words, " "))).out;
    const Syntax syntax = syntax_of(command);
    words.emplace_back("--");
    const Candidates completions = candidates(words);
    CAPTURE(words);
    CHECK(completions.words.size() >= syntax.options.options().size());
    for (const Candidate& candidate : completions.words) {
      CAPTURE(candidate.word);
      if (candidate.word != "--help") CHECK_THAT(help, Catch::Contains(candidate.word));
      CHECK_FALSE(candidate.help.empty());
    }
  };
  for (const Command& command : commands()) {
    if (command.run != nullptr) check({std::string(command.name)}, command);
    for (const Command& verb : command.verbs)
      check({std::string(command.name), std::string(verb.name)}, verb);
  }
}

TEST_CASE("values are completed if a table lists them", "[cli]") {
  CHECK(words_for({"run", "--cluster", ""}) == config::library_names("clusters", ".xml"));
  CHECK(words_for({"model", ""}) == config::library_names("models", ".yaml"));
  CHECK(words_for({"run", "--schedule", "gpipe", ""}).size() == schedules::catalog().size());
  CHECK(words_for({"schedule", "show", ""}).size() == schedules::catalog().size());
  CHECK(words_for({"run", "--stack", ""}) == config::library_names("stacks", ".yaml"));
  CHECK(words_for({"stack", "show", ""}) == config::library_names("stacks", ".yaml"));
  CHECK(offers({"platform", "make", "--node", "dgx-"}, "dgx-h100"));
  CHECK(offers({"gpu", "derive", "s.yaml", "--like", ""}, "b200"));
  CHECK(offers({"comm", "bench", "--op", ""}, "all-to-all"));
  CHECK(words_for({"schedule", "check", "--queue", ""}) ==
        std::vector<std::string>{"rank", "pair"});
  CHECK(offers({"run", "--launch", ""}, "torchtitan"));
  CHECK_FALSE(offers({"run", "--launch", ""}, "mlperf"));
  for (const config::KeyRow& row : config::scenario_keys()) {
    const std::string flag(
        row.info.flag.substr(std::min(row.info.flag.find("--"), row.info.flag.size())));
    if (flag.empty() || row.value.type != config::ValueType::choice) continue;
    CAPTURE(row.name);
    CHECK(words_for({"run", flag, ""}) ==
          std::vector<std::string>(row.value.choices.begin(), row.value.choices.end()));
  }
}

TEST_CASE("files are completed for commands that read or write them", "[cli]") {
  CHECK(candidates({"run", ""}).files);
  CHECK(candidates({"run", "--trace", ""}).files);
  CHECK(candidates({"run", "-o", "a.html", ""}).files);
  CHECK(candidates({"run", "--cluster", ""}).files);
  CHECK(candidates({"show", "a.h5", ""}).files);
  CHECK_FALSE(candidates({"run", "--num-stages", ""}).files);
  CHECK_FALSE(candidates({"run", "--schedule", "1f1b", "--"}).files);
}

TEST_CASE("an option that takes one value leaves the next word to the command", "[cli]") {
  CHECK(candidates({"import", "--gpus", "8", ""}).files);
  CHECK_FALSE(candidates({"import", "--gpus", ""}).files);
  CHECK(candidates({"run", "--sp", ""}).files);
}

TEST_CASE("keys and values of --set are completed", "[cli]") {
  CHECK(words_for({"run", "--set", "communication.nccl"}) ==
        std::vector<std::string>{"communication.nccl="});
  CHECK(words_for({"run", "--set", "p2p=b"}) == std::vector<std::string>{"p2p=blocking"});
  CHECK(offers({"run", "--set", "model=llama-3"}, "model=llama-3-8b"));
  CHECK(words_for({"run", "--engine=t"}) == std::vector<std::string>{"--engine=timing"});
  // bash passes an option with `=` as several words.
  CHECK(words_for({"run", "--engine", "=", "t"}) == std::vector<std::string>{"--engine=timing"});
  CHECK(words_for({"run", "--set", "p2p", "="}).size() == 4);
}

TEST_CASE("completion prints a script for each shell, and lists the shells in errors", "[cli]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("completion bash").out, Catch::Contains("complete -F"));
  CHECK_THAT(place.run("completion zsh").out, Catch::StartsWith("#compdef pipewright"));
  CHECK_THAT(place.run("completion fish").out, Catch::Contains("complete -c pipewright"));
  const tests::ProgramResult ran = place.run("completion tcsh");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("allowed: bash, zsh, fish"));
}

TEST_CASE("the manual page has a section for every command, with its options", "[cli]") {
  const std::string page = man_page();
  CHECK_THAT(page, Catch::Contains("\n.SH NAME\n") && Catch::Contains("\n.SH EXIT STATUS\n"));
  for (const Command& command : commands()) {
    const std::string title = fmt::format(".SS pipewright {}\n", command.name);
    const std::size_t at = page.find(title);
    CAPTURE(command.name);
    REQUIRE(at != std::string::npos);
    if (command.run == nullptr) continue;
    const std::string section = page.substr(at, page.find("\n.S", at + 1) - at);
    const Syntax syntax = syntax_of(command);
    for (const auto& option : syntax.options.options()) {
      std::string name = option->long_name();
      for (std::size_t i = 0; (i = name.find('-', i)) != std::string::npos; i += 2)
        name.insert(i, "\\");
      CHECK_THAT(section, Catch::Contains("\\fB\\-\\-" + name + "\\fR"));
    }
  }
}

TEST_CASE("the manual leaves indented lines alone and fills other text", "[cli]") {
  CHECK(man_text("usage: a B\n\nOne line.\n.two\n\n  code -x\n") ==
        ".RS 4\n.nf\nusage: a B\n.fi\n.RE\n.PP\nOne line.\n\\&.two\n.PP\n.RS 4\n.nf\n"
        "  code \\-x\n.fi\n.RE\n");
}

}  // namespace
}  // namespace pipewright::cli
