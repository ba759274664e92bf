#include "sim/workload/batch/context_groups.hpp"

#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "sim/workload/batch/batch.hpp"
#include "support/paths.hpp"
#include "support/random.hpp"

using namespace pipewright;
using workload::ContextGroup;

namespace {

std::vector<std::uint32_t> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

ContextGroup group_in(const std::string& text) {
  std::istringstream ranks(text);
  ContextGroup group;
  for (std::string rank; std::getline(ranks, rank, '|');) group.push_back(numbers_in(rank));
  return group;
}

// A case that Megatron-LM's scheduler has solved.
struct Solved {
  std::uint32_t ranks = 0;
  std::uint32_t tokens_per_rank = 0;
  std::vector<std::uint32_t> documents;
  std::vector<ContextGroup> groups;
};

std::vector<Solved> solved_cases() {
  std::ifstream file(PIPEWRIGHT_TEST_DATA "/batch/context_groups.txt");
  std::vector<Solved> cases;
  for (std::string kind; file >> kind;) {
    std::string rest;
    std::getline(file, rest);
    if (kind == "case") {
      const std::vector<std::uint32_t> sizes = numbers_in(rest);
      cases.push_back({sizes.at(0), sizes.at(1), {}, {}});
    } else if (kind == "documents") {
      cases.back().documents = numbers_in(rest);
    } else if (kind == "group") {
      cases.back().groups.push_back(group_in(rest));
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("a document has the least power of two of ranks that its tokens need", "[batch]") {
  CHECK(workload::ranks_of_document(1, 4096) == 1);
  CHECK(workload::ranks_of_document(4096, 4096) == 1);
  CHECK(workload::ranks_of_document(4097, 4096) == 2);
  CHECK(workload::ranks_of_document(12'289, 4096) == 4);
  CHECK(workload::ranks_of_document(16'385, 4096) == 8);
}

TEST_CASE("documents have the ranks that Megatron-LM's scheduler gives them", "[batch]") {
  const std::vector<Solved> cases = solved_cases();
  REQUIRE(cases.size() == 30);
  for (const Solved& solved : cases)
    CHECK(workload::context_groups(solved.documents, solved.ranks, solved.tokens_per_rank) ==
          solved.groups);
}

TEST_CASE("every rank has documents in every group, and every document one group", "[batch]") {
  tests::Random random(19);
  for (int round = 0; round < 40; ++round) {
    const std::uint32_t ranks = 1U << random.whole(1, 5);
    std::vector<std::uint32_t> documents(random.whole(1, 100));
    for (std::uint32_t& tokens : documents) tokens = random.whole(1, 1024 * ranks);
    std::multiset<std::uint32_t> placed;
    for (const ContextGroup& group : workload::context_groups(documents, ranks, 1024)) {
      REQUIRE(group.size() == ranks);
      std::set<std::uint32_t> own;
      for (const std::vector<std::uint32_t>& rank : group) {
        CHECK_FALSE(rank.empty());
        own.insert(rank.begin(), rank.end());
      }
      placed.insert(own.begin(), own.end());
    }
    std::multiset<std::uint32_t> every;
    for (std::uint32_t document = 0; document < documents.size(); ++document)
      every.insert(document);
    CHECK(placed == every);
  }
}

TEST_CASE("a document that needs more ranks than there are is an error", "[batch]") {
  CHECK_THROWS_WITH(workload::context_groups({24'000, 512}, 6, 4096),
                    Catch::Contains("a document of 24000 tokens needs 8 ranks") &&
                        Catch::Contains("give at least 6000 tokens"));
}

TEST_CASE("shared documents keep their tokens and squares", "[batch]") {
  config::Lengths lengths;
  lengths.mean = 2000;
  lengths.p95 = 7000;
  lengths.longest = 8192;
  lengths.replicas = 4;
  lengths.microbatches = 3;
  lengths.cp = 2;
  const workload::Batch whole = workload::deal(lengths, 8192, 1);
  lengths.balance = config::Lengths::Balance::context_parallel;
  lengths.tokens_per_rank = 2048;
  const workload::Batch shared = workload::deal(lengths, 8192, 1);
  CHECK(shared.computed.tokens == Approx(whole.computed.tokens));
  CHECK(shared.computed.squares == Approx(whole.computed.squares));
  REQUIRE(shared.at(0, 0).groups);
  for (const workload::SharedDocuments& group : *shared.at(0, 0).groups) CHECK(group.size() == 8);
}
