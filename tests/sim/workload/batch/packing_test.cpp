#include "sim/workload/batch/packing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "sim/workload/batch/batch.hpp"
#include "support/random.hpp"

using namespace pipewright;
using config::Lengths;
using workload::Sample;

namespace {

// First fit as its definition says, in quadratic time.
std::vector<Sample> slow_first_fit(const std::vector<std::uint32_t>& documents,
                                   std::uint32_t capacity) {
  std::vector<Sample> samples;
  for (const std::uint32_t tokens : documents) {
    const auto chosen = std::ranges::find_if(samples, [&](const Sample& sample) {
      return std::accumulate(sample.begin(), sample.end(), 0U) + tokens <= capacity;
    });
    if (chosen == samples.end())
      samples.push_back({tokens});
    else
      chosen->push_back(tokens);
  }
  return samples;
}

}  // namespace

TEST_CASE("first fit puts a document into the first sample with room", "[batch]") {
  CHECK(workload::first_fit({600, 500, 400, 300, 200, 100}, 1000) ==
        std::vector<Sample>{{600, 400}, {500, 300, 200}, {100}});
  CHECK(workload::first_fit({1000, 1, 999}, 1000) == std::vector<Sample>{{1000}, {1, 999}});
  CHECK(workload::first_fit({}, 1000).empty());
  tests::Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint32_t> documents(random.whole(1, 200));
    for (std::uint32_t& tokens : documents) tokens = random.whole(1, 100);
    CHECK(workload::first_fit(documents, 100) == slow_first_fit(documents, 100));
  }
}

TEST_CASE("packing a data set keeps whole documents, and the longest first wastes least",
          "[batch]") {
  const auto fill = [](Lengths::Packing packing) {
    std::uint32_t drawn = 0;
    // All lengths from 1 to 4,999 in a scattered order.
    const std::vector<Sample> samples = workload::pack_data_set(
        [&] { return (drawn++ * 7919U) % 4999U + 1U; }, 200, 8192, packing, 3);
    CHECK(samples.size() == 200);
    std::uint64_t tokens = 0;
    for (const Sample& sample : samples) {
      const std::uint32_t sum = std::accumulate(sample.begin(), sample.end(), 0U);
      CHECK(sum <= 8192);
      tokens += sum;
    }
    return static_cast<double>(tokens) / (200 * 8192.0);
  };
  const double random_order = fill(Lengths::Packing::first_fit_shuffle);
  const double decreasing = fill(Lengths::Packing::first_fit_decreasing);
  CHECK(random_order > 0.9);
  CHECK(decreasing > random_order);
  CHECK(decreasing <= 1);
}

TEST_CASE("samples of whole documents are padded to the longest of their microbatch", "[batch]") {
  Lengths lengths;
  lengths.documents = {700, 500};
  lengths.packing = Lengths::Packing::first_fit_shuffle;
  lengths.microbatches = 4;
  // A sample has one document of 700 tokens, or one or two of 500.
  const workload::Batch batch = workload::deal(lengths, 1000, 2);
  for (const workload::Microbatch& microbatch : batch.all_microbatches) {
    CHECK(std::fmod(microbatch.computed.tokens, 2) == 0);
    CHECK(microbatch.real.tokens <= microbatch.computed.tokens);
    for (const std::uint32_t tokens : microbatch.documents)
      CHECK((tokens == 500 || tokens == 700 || tokens == 1000));
  }
  lengths.pad_to = Lengths::PadTo::sequence;
  const workload::Batch padded = workload::deal(lengths, 1000, 2);
  CHECK(padded.computed.tokens == 2000);
  CHECK(padded.real.tokens == batch.real.tokens);
  CHECK(padded.real.tokens < 2000);
  // The same seed gives the same batch, another seed another order.
  CHECK(workload::deal(lengths, 1000, 2).at(0, 0).documents == padded.at(0, 0).documents);
}

TEST_CASE("balanced samples of whole documents share microbatches by their length", "[batch]") {
  Lengths lengths;
  lengths.mean = 900;
  lengths.p95 = 2500;
  lengths.longest = 4096;
  lengths.packing = Lengths::Packing::first_fit_shuffle;
  lengths.replicas = 4;
  lengths.microbatches = 8;
  const double unbalanced = workload::deal(lengths, 4096, 2).computed.tokens;
  lengths.balance = Lengths::Balance::length;
  const workload::Batch balanced = workload::deal(lengths, 4096, 2);
  CHECK(balanced.computed.tokens < unbalanced);
  CHECK(balanced.real.tokens <= balanced.computed.tokens);
}
