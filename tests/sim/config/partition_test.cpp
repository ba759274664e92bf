#include "sim/config/partition.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Counts = std::vector<std::uint32_t>;

Partition partition(const std::string& text) {
  const Value map = read_yaml_text("partition: " + text, "p.yaml");
  return read_partition({map.entries.front().value, "partition"});
}

TEST_CASE("a partition is a rule or a list of layers that may contain 0", "[training]") {
  CHECK(partition("ends_less").rule == Partition::Rule::ends_less);
  CHECK(partition("by_cost").origin.column == 12);
  const Partition listed = partition("[0, 3, 2]");
  CHECK(listed.rule == Partition::Rule::listed);
  CHECK(listed.layers == Counts{0, 3, 2});
  CHECK_THAT(error_of([] { partition("evenly"); }), Catch::Contains("did you mean 'even'?"));
  CHECK_THAT(error_of([] { partition("{a: 1}"); }), Catch::Contains("unknown key"));
  CHECK_THAT(error_of([] { partition("0"); }), Catch::Contains("even"));
}

TEST_CASE("a map sets the layers of the ends of a pipeline", "[training]") {
  const Partition ends = partition("{first: 3, last: 2}");
  CHECK(ends.rule == Partition::Rule::ends);
  CHECK(ends.first == 3U);
  CHECK(ends.last == 2U);
  CHECK(to_string(ends) == "first 3 last 2");
  CHECK(to_string(partition("{last: 2}")) == "last 2");
  const Partition loss = partition("{account_for_loss: true}");
  CHECK(loss.rule == Partition::Rule::ends_less);
  CHECK_FALSE(loss.embedding_counts);
  CHECK(to_string(loss) == "account_for_loss");
  CHECK(to_string(partition("{account_for_embedding: true, account_for_loss: true}")) ==
        "ends_less");
  CHECK_THAT(error_of([] { partition("{first: 3, account_for_loss: true}"); }),
             Catch::Contains(
                 "p.yaml:1:12: partition gives the sizes of the first and last stages and also "
                 "counts embedding or loss as layers; allowed: first and last, or account"));
  CHECK(partition("{account_for_loss: false}").rule == Partition::Rule::even);
}

TEST_CASE("a layout assigns layers to stages with the letters of Megatron-LM", "[training]") {
  const Partition plain = partition("Ett|ttt||tL");
  CHECK(plain.rule == Partition::Rule::layout);
  CHECK(plain.layers == Counts{2, 3, 0, 1});
  CHECK(plain.mtp == Counts{0, 0, 0, 0});
  CHECK(to_string(plain) == "Ett|ttt||tL");
  // DeepSeek-V3 on 2 x 8 stages: 4 + 14 x 4 + 1 layers.
  const Partition deepseek = partition("Et*4|(t*4|)*14tmL");
  Counts layers(16, 4);
  layers.back() = 1;
  CHECK(deepseek.layers == layers);
  CHECK(deepseek.mtp.back() == 1);
  // In this layout of 16 devices with 2 stages each, the multi-token prediction module and the loss
  // have stages of their own.
  const Partition narrow = partition("'Et*3|(tt|)*29,m|L'");
  CHECK(narrow.layers.size() == 32);
  CHECK(narrow.layers.front() == 3);
  CHECK(narrow.layers[29] == 2);
  CHECK(narrow.layers[30] == 0);
  CHECK(narrow.mtp[30] == 1);
  CHECK(narrow.layers.back() + narrow.mtp.back() == 0);
  CHECK(partition("E|((t*2|)*2,t|)*2L").layers == Counts{0, 2, 2, 1, 2, 2, 1, 0});
  CHECK(partition("E|t|*2tL").layers == Counts{0, 1, 0, 1});
  CHECK(partition("Et*8L").layers == Counts{8});
}

TEST_CASE("a wrong layout is refused with the position of the fault", "[training]") {
  const auto wrong = [](const std::string& text) { return error_of([&] { partition(text); }); };
  CHECK_THAT(wrong("Et*4|tx|L"),
             Catch::StartsWith("p.yaml:1:12: partition has 'x' at character 7; allowed: E, t, m"));
  CHECK_THAT(wrong("E|(tt|*4L"), Catch::Contains("'(' at character 3, which no ) closes"));
  CHECK_THAT(wrong("E|tt|)*4L"), Catch::Contains("')' at character 6, which no ( opens"));
  CHECK_THAT(wrong("E|t*|L"), Catch::Contains("'*' at character 4") &&
                                  Catch::Contains("* and a whole number from 1 to 100000"));
  CHECK_THAT(wrong("E|t|(*4)L"), Catch::Contains("'*' at character 6; allowed: E, t, m"));
  CHECK_THAT(wrong("E|t*0|L"), Catch::Contains("a whole number from 1"));
  CHECK_THAT(wrong("E((t*1000)*1000)*1000|L"), Catch::Contains("more than 100000 layers"));
  CHECK_THAT(wrong("tE|tL"), Catch::Contains("allowed: one E, at the start"));
  CHECK_THAT(wrong("Et|EtL"), Catch::Contains("allowed: one E, at the start"));
  CHECK_THAT(wrong("Et|t"), Catch::Contains("allowed: one L, at the end"));
  CHECK_THAT(wrong("Et|mtL"), Catch::Contains("with t after m"));
  CHECK_THAT(wrong("Et|m|mL"), Catch::Contains("all of multi-token prediction in one stage"));
}

}  // namespace
}  // namespace pipewright::config::test
