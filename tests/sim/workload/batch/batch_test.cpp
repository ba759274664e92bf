#include "sim/workload/batch/batch.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::Batch;
using workload::Microbatch;
using Documents = std::vector<std::uint32_t>;

namespace {

config::Lengths of(const Documents& documents, std::uint32_t replicas, std::uint32_t microbatches) {
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
  const Batch one = workload::deal(of({1024}, 1, 1), 1024, 1);
  const Batch two = workload::deal(of({512}, 1, 1), 1024, 1);
  CHECK(one.computed.tokens == two.computed.tokens);
  CHECK(one.computed.squares == 2 * two.computed.squares);
  CHECK(two.computed.document() == 512);
}

TEST_CASE("packed documents fill every sample, and are cut at its end", "[batch]") {
  const Batch batch = workload::deal(of({700, 500}, 1, 2), 1000, 1);
  CHECK(batch.at(0, 0).documents == Documents{700, 300});
  CHECK(batch.at(0, 1).documents == Documents{200, 700, 100});
  CHECK(batch.at(0, 0).computed.squares == 490'000 + 90'000);
  CHECK(batch.real.tokens == 1000);
  // A microbatch of two samples, neither of which a document leaves.
  const Batch wide = workload::deal(of({1500, 500}, 1, 1), 1000, 2);
  CHECK(wide.of(0, 0).documents == Documents{1000, 500, 500});
}

TEST_CASE("samples go in turn to the replicas, of which the first has most work", "[batch]") {
  // As they come 400+600, 1000, 500+500, 1000: to the two replicas in turn.
  const Batch batch = workload::deal(of({400, 600, 1000, 500, 500, 1000}, 2, 2), 1000, 1);
  CHECK(batch.at(0, 0).documents == Documents{1000});
  CHECK(batch.at(0, 1).documents == Documents{1000});
  CHECK(batch.at(1, 0).documents == Documents{400, 600});
  CHECK(batch.at(1, 1).documents == Documents{500, 500});
}

TEST_CASE("the longest document goes first, to the microbatch with the least squares", "[batch]") {
  const config::Lengths as_they_come = of({600, 400, 400, 600, 800, 200, 500, 500}, 2, 2);
  const Batch batch = workload::deal(balanced(as_they_come), 1000, 1);
  // 800, 600, 600, 500, then 500 to the fourth, and 400 each to the second and third.
  std::vector<Documents> all;
  for (const Microbatch& microbatch : batch.all_microbatches) all.push_back(microbatch.documents);
  std::ranges::sort(all);
  CHECK(all == std::vector<Documents>{{500, 500}, {600, 400}, {600, 400}, {800, 200}});
  for (const Microbatch& microbatch : batch.all_microbatches) CHECK(microbatch.computed.tokens == 1000);
}

TEST_CASE("balance makes the squares more even, and loses no token", "[batch]") {
  config::Lengths drawn;
  drawn.mean = 1000;
  drawn.p95 = 3500;
  drawn.longest = 4096;
  drawn.replicas = 4;
  drawn.microbatches = 8;
  const auto spread = [](const Batch& batch) {
    double most = 0;
    double all = 0;
    for (const Microbatch& microbatch : batch.all_microbatches) {
      CHECK(microbatch.computed.tokens == 2 * 8192);
      CHECK(microbatch.real.tokens == 2 * 8192);
      most = std::max(most, microbatch.computed.squares);
      all += microbatch.computed.squares;
    }
    return most * static_cast<double>(batch.all_microbatches.size()) / all;
  };
  const double as_they_come = spread(workload::deal(drawn, 8192, 2));
  const double even = spread(workload::deal(balanced(drawn), 8192, 2));
  CHECK(as_they_come > 1.2);
  CHECK(even < 1.05);
}

TEST_CASE("a sample of one document is padded to its microbatch's longest", "[batch]") {
  config::Lengths lengths = unpacked(of({100, 900, 300, 700}, 1, 2));
  const Batch batch = workload::deal(lengths, 1000, 2);
  CHECK(batch.at(0, 0).computed.tokens == 1800);
  CHECK(batch.at(0, 0).computed.squares == 2 * 810'000);
  CHECK(batch.at(0, 0).real.tokens == 1000);
  CHECK(batch.at(0, 1).computed.tokens == 1400);
  lengths.pad_to = config::Lengths::PadTo::sequence;
  CHECK(workload::deal(lengths, 1000, 2).computed.tokens == 2000);
  // Those of like length together.
  lengths.pad_to = config::Lengths::PadTo::longest;
  const Batch sorted = workload::deal(balanced(lengths), 1000, 2);
  CHECK(sorted.of(0, 0).computed.tokens == 1800);
  CHECK(sorted.of(0, 1).computed.tokens == 600);
  // What is longer than a sample is cut.
  CHECK(workload::deal(unpacked(of({5000}, 1, 1)), 1000, 1).real.tokens == 1000);
}

TEST_CASE("padded microbatches go, the longest first, to the replica with fewest tokens",
          "[batch]") {
  const config::Lengths lengths = balanced(unpacked(of({900, 100, 500, 600}, 2, 2)));
  const Batch batch = workload::deal(lengths, 1000, 1);
  // 900 and 600; then 500 to the one with 600, and 100 to the other: 1,100 and 1,000 tokens.
  CHECK(batch.at(0, 0).documents == Documents{600});
  CHECK(batch.at(0, 1).documents == Documents{500});
  CHECK(batch.at(1, 0).documents == Documents{900});
  CHECK(batch.at(1, 1).documents == Documents{100});
}

TEST_CASE("lengths are drawn with their mean, percentile and weights, from the seed", "[batch]") {
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
      batch.all_microbatches, [](const Microbatch& one) { return one.real.tokens > 3000; });
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
