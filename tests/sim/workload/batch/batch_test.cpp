#include "sim/workload/batch/batch.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::Batch;
using workload::Microbatch;
using Documents = std::vector<std::uint32_t>;

namespace {

config::Lengths lengths_of(const Documents& documents, std::uint32_t replicas,
                           std::uint32_t microbatches) {
  config::Lengths lengths;
  lengths.documents = documents;
  lengths.replicas = replicas;
  lengths.microbatches = microbatches;
  return lengths;
}

config::Lengths balanced(config::Lengths lengths) {
  lengths.balance = config::Lengths::Balance::length;
  return lengths;
}

config::Lengths unpacked(config::Lengths lengths) {
  lengths.packed = false;
  return lengths;
}

}  // namespace

TEST_CASE("two documents of 512 have half the squares of one of 1,024", "[batch]") {
  const Batch single = workload::deal(lengths_of({1024}, 1, 1), 1024, 1);
  const Batch pair = workload::deal(lengths_of({512}, 1, 1), 1024, 1);
  CHECK(single.computed.tokens == pair.computed.tokens);
  CHECK(single.computed.squares == 2 * pair.computed.squares);
  CHECK(pair.computed.document() == 512);
}

TEST_CASE("packed documents fill every sample and are cut at its end", "[batch]") {
  const Batch batch = workload::deal(lengths_of({700, 500}, 1, 2), 1000, 1);
  CHECK(batch.at(0, 0).documents == Documents{700, 300});
  CHECK(batch.at(0, 1).documents == Documents{200, 700, 100});
  CHECK(batch.at(0, 0).computed.squares == 490'000 + 90'000);
  CHECK(batch.real.tokens == 1000);
  // Each microbatch packs two samples, and no document continues from one sample to the next.
  const Batch wide = workload::deal(lengths_of({1500, 500}, 1, 1), 1000, 2);
  CHECK(wide.at(0, 0).documents == Documents{1000, 500, 500});
}

TEST_CASE("samples go to the replicas in turn, and the first replica has the most work",
          "[batch]") {
  // Packing gives the samples 400+600, 1000, 500+500 and 1000, which go to the two replicas in
  // turn.
  const Batch batch = workload::deal(lengths_of({400, 600, 1000, 500, 500, 1000}, 2, 2), 1000, 1);
  CHECK(batch.at(0, 0).documents == Documents{1000});
  CHECK(batch.at(0, 1).documents == Documents{1000});
  CHECK(batch.at(1, 0).documents == Documents{400, 600});
  CHECK(batch.at(1, 1).documents == Documents{500, 500});
}

TEST_CASE("the longest document goes first, to the microbatch with the smallest sum of squares",
          "[batch]") {
  const config::Lengths unbalanced = lengths_of({600, 400, 400, 600, 800, 200, 500, 500}, 2, 2);
  const Batch batch = workload::deal(balanced(unbalanced), 1000, 1);
  // Documents are placed from the longest to the shortest: 800, 600, 600 and 500 start a microbatch
  // each, then 500 goes to the fourth, and 400 each to the second and third.
  std::vector<Documents> packed;
  for (const Microbatch& microbatch : batch.all_microbatches)
    packed.push_back(microbatch.documents);
  std::ranges::sort(packed);
  CHECK(packed == std::vector<Documents>{{500, 500}, {600, 400}, {600, 400}, {800, 200}});
  for (const Microbatch& microbatch : batch.all_microbatches)
    CHECK(microbatch.computed.tokens == 1000);
}

TEST_CASE("balancing evens out the squares and loses no token", "[batch]") {
  config::Lengths drawn;
  drawn.mean = 1000;
  drawn.p95 = 3500;
  drawn.longest = 4096;
  drawn.replicas = 4;
  drawn.microbatches = 8;
  const auto peak_over_mean = [](const Batch& batch) {
    double largest = 0;
    double sum = 0;
    for (const Microbatch& microbatch : batch.all_microbatches) {
      CHECK(microbatch.computed.tokens == 2 * 8192);
      CHECK(microbatch.real.tokens == 2 * 8192);
      largest = std::max(largest, microbatch.computed.squares);
      sum += microbatch.computed.squares;
    }
    return largest * static_cast<double>(batch.all_microbatches.size()) / sum;
  };
  const double unbalanced = peak_over_mean(workload::deal(drawn, 8192, 2));
  const double balanced_spread = peak_over_mean(workload::deal(balanced(drawn), 8192, 2));
  CHECK(unbalanced > 1.2);
  CHECK(balanced_spread < 1.05);
}

TEST_CASE("a sample of one document is padded to the longest document of its microbatch",
          "[batch]") {
  config::Lengths lengths = unpacked(lengths_of({100, 900, 300, 700}, 1, 2));
  const Batch batch = workload::deal(lengths, 1000, 2);
  CHECK(batch.at(0, 0).computed.tokens == 1800);
  CHECK(batch.at(0, 0).computed.squares == 2 * 810'000);
  CHECK(batch.at(0, 0).real.tokens == 1000);
  CHECK(batch.at(0, 1).computed.tokens == 1400);
  lengths.pad_to = config::Lengths::PadTo::sequence;
  CHECK(workload::deal(lengths, 1000, 2).computed.tokens == 2000);
  // Balancing puts documents of similar length into the same microbatch, which reduces padding.
  lengths.pad_to = config::Lengths::PadTo::longest;
  const Batch sorted = workload::deal(balanced(lengths), 1000, 2);
  CHECK(sorted.at(0, 0).computed.tokens == 1800);
  CHECK(sorted.at(0, 1).computed.tokens == 600);
  // A document that is longer than a sample is cut to the sample's length.
  CHECK(workload::deal(unpacked(lengths_of({5000}, 1, 1)), 1000, 1).real.tokens == 1000);
}

TEST_CASE("padded microbatches go, the longest first, to the replica with the fewest tokens",
          "[batch]") {
  const config::Lengths lengths = balanced(unpacked(lengths_of({900, 100, 500, 600}, 2, 2)));
  const Batch batch = workload::deal(lengths, 1000, 1);
  // Documents of 900 and 600 tokens go to different replicas, then 500 to the one with 600 and 100
  // to the one with 900: 1,100 and 1,000 tokens.
  CHECK(batch.at(0, 0).documents == Documents{600});
  CHECK(batch.at(0, 1).documents == Documents{500});
  CHECK(batch.at(1, 0).documents == Documents{900});
  CHECK(batch.at(1, 1).documents == Documents{100});
}

TEST_CASE("lengths follow their mean, percentile and weights, and depend on the seed", "[batch]") {
  config::Lengths lengths = unpacked({});
  lengths.mean = 1000;
  lengths.p95 = 3000;
  lengths.microbatches = 40'000;
  const auto drawn = [&](std::uint32_t seed) {
    lengths.seed = seed;
    return workload::deal(lengths, 1U << 20U, 1);
  };
  const Batch batch = drawn(3);
  CHECK(batch.real.tokens == Approx(1000).epsilon(0.03));
  const auto above = std::ranges::count_if(
      batch.all_microbatches,
      [](const Microbatch& microbatch) { return microbatch.real.tokens > 3000; });
  CHECK(static_cast<double>(above) == Approx(0.05 * 40'000).epsilon(0.1));
  CHECK(drawn(3).real.squares == batch.real.squares);
  CHECK(drawn(4).real.squares != batch.real.squares);

  config::Lengths bins = unpacked({});
  bins.microbatches = 40'000;
  bins.histogram = {{.tokens = 100, .weight = 3}, {.tokens = 900, .weight = 1}};
  CHECK(workload::deal(bins, 1000, 1).real.tokens == Approx(300).epsilon(0.03));
  config::Lengths uniform = unpacked({});
  uniform.microbatches = 40'000;
  uniform.shortest = 100;
  uniform.longest = 300;
  CHECK(workload::deal(uniform, 1000, 1).real.tokens == Approx(200).epsilon(0.03));
}
