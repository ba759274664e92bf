#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the end of an iteration against values computed by hand: a pipeline of two devices has two
// replicas, each in a node of its own; passes take one second; a NIC carries 10 GB/s.

using namespace pipewright;
using tests::collectives;
using tests::nic;
using tests::outside;
using tests::step_of;
using trace::CollectiveKind;

namespace {

schedules::Schedule one_f_one_b(std::uint32_t devices, std::uint32_t microbatches) {
  return schedules::make_schedule("1f1b", {.devices = devices, .microbatches = microbatches});
}

// Return the seconds of an all-reduce of `bytes`, or of a reduce-scatter or all-gather (half of
// it), in a ring of two.
double all_reduce(double bytes) { return bytes / nic + 2 * outside; }
double half_ring(double bytes) { return bytes / 2 / nic + outside; }

// A job with 10 M parameters per stage in fp32, whose gradients are reduced in four buckets of 10
// MB.
struct TwoReplicas : tests::HybridJob {
  explicit TwoReplicas(std::uint32_t zero = 0)
      : HybridJob(one_f_one_b(2, 4), {.dp = 2, .zero = zero}) {
    set_parameters(10'000'000);
    communication().bucket = 10'000'000;
    communication().global_norm = false;
  }
};

constexpr double exact = 1e-9;  // relative

}  // namespace

TEST_CASE("without overlap a device reduces all its buckets after its last pass", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job;
  job.communication().overlap_grad_reduce = false;
  const auto trace = job.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    const trace::StepRow& step = step_of(trace, device);
    CHECK(step.reduced - step.start == Approx(4 * all_reduce(10e6)).epsilon(exact));
    CHECK(step.end == step.reduced);
    CHECK(collectives(trace, device, CollectiveKind::reduce_gradients).size() == 4);
  }
  // Device 1, the last one, ends its backward passes first; device 0 follows after 2 s.
  CHECK(step_of(trace, 0).start == Approx(step_of(trace, 1).start + 2).epsilon(1e-3));
}

TEST_CASE("with overlap only the last bucket is exposed", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  const TwoReplicas job;
  const auto trace = job.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    const trace::StepRow& step = step_of(trace, device);
    CHECK(step.reduced - step.start == Approx(all_reduce(10e6)).epsilon(exact));
    const auto rows = collectives(trace, device, CollectiveKind::reduce_gradients);
    REQUIRE(rows.size() == 4);
    // The last backward pass takes 2 s, and completes a bucket every half second.
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(rows[i].start == Approx(step.start - 1.5 + 0.5 * static_cast<double>(i)));
      CHECK(rows[i].end - rows[i].start == Approx(all_reduce(10e6)).epsilon(1e-6));
    }
  }
}

TEST_CASE("buckets that take longer than the compute between them queue up", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job;
  job.set_parameters(10'000'000'000);  // four buckets of 10 GB, each a little over a second
  job.communication().bucket = 10'000'000'000;
  const auto trace = job.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    const trace::StepRow& step = step_of(trace, device);
    CHECK(step.reduced - step.start == Approx(4 * all_reduce(10e9) - 1.5).epsilon(exact));
  }
}

TEST_CASE("ZeRO-1 reduces to shards, and gathers weights beside their first forward", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job(1);
  {
    const auto trace = job.run(cluster);
    const double gather = half_ring(5e6);  // of each bucket, in bf16
    for (const std::uint32_t device : {0U, 1U}) {
      const trace::StepRow& step = step_of(trace, device);
      CHECK(step.reduced - step.start == Approx(half_ring(10e6)).epsilon(exact));
      const auto rows = collectives(trace, device, CollectiveKind::gather_weights);
      REQUIRE(rows.size() == 4);
      for (std::size_t i = 0; i < 4; ++i) {
        const auto number = static_cast<double>(i);
        CHECK(rows[i].bytes == 5'000'000);
        CHECK(rows[i].start == Approx(number * gather).margin(1e-15));
        CHECK(rows[i].end == Approx((number + 1) * gather).epsilon(exact));
      }
      // Device 1 has gathered its weights before its first input arrives, so only device 0 waits
      // for them.
      CHECK(step.gathering == Approx(device == 0 ? gather : 0).margin(1e-15));
    }
    for (const trace::PassRow& row : trace.passes)
      if (row.device == 0 && row.microbatch == 0 && row.kind == trace::PassKind::forward)
        CHECK(row.start == Approx(gather).epsilon(exact));
  }
  job.communication().overlap_param_gather =
      false;  // all of them after the optimizer's step instead
  {
    const auto trace = job.run(cluster);
    for (const std::uint32_t device : {0U, 1U}) {
      const trace::StepRow& step = step_of(trace, device);
      CHECK(step.gathering == 0);
      CHECK(step.end - step.updated == Approx(half_ring(20e6)).epsilon(exact));
    }
  }
}

TEST_CASE("a pass continues part by part as its weights arrive", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job(1);
  // Weights arrive in four buckets of 0.6 s. After each of them, the first pass has work for only a
  // quarter of a second.
  job.set_parameters(24'000'000'000);
  job.communication().bucket = 24'000'000'000;
  const double gather = half_ring(12e9);
  const auto trace = job.run(cluster);
  const trace::PassRow& first = trace.passes.front();
  REQUIRE(first.device == 0);
  CHECK(first.end == Approx(4 * gather + 0.25).epsilon(exact));
  // Waits inside the first pass are moved before it: the pass is recorded with 1 s and a later
  // start.
  CHECK(first.end - first.start == Approx(1).epsilon(exact));
  CHECK(step_of(trace, 0).gathering == Approx(first.start).epsilon(exact));
  for (const trace::PassRow& row : trace.passes)
    if (row.kind == trace::PassKind::forward)
      CHECK(row.end - row.start == Approx(1).epsilon(exact));
  // Device 1 has gathered all its weights before its first input arrives, so it does not wait for
  // them.
  CHECK(step_of(trace, 1).gathering == Approx(0).margin(1e-12));
}

TEST_CASE("a global gradient norm makes all devices update together", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job;
  job.costs.optimizer_seconds = {0.25, 0.5};
  job.communication().global_norm = true;
  {
    const auto trace = job.run(cluster);
    // Summing the norm over four ranks takes two steps up a tree and two down, each with the
    // latency between nodes.
    const double norm_time = step_of(trace, 0).reduced + 4 * outside;
    for (const std::uint32_t device : {0U, 1U}) {
      CHECK(step_of(trace, device).synchronized == Approx(norm_time).epsilon(exact));
      CHECK(step_of(trace, device).updated ==
            Approx(norm_time + job.costs.optimizer_seconds[device]).epsilon(exact));
    }
  }
  job.communication().global_norm = false;
  {
    const auto trace = job.run(cluster);
    for (const std::uint32_t device : {0U, 1U}) {
      const trace::StepRow& step = step_of(trace, device);
      CHECK(step.synchronized == step.reduced);
      CHECK(step.updated == Approx(step.reduced + job.costs.optimizer_seconds[device]));
    }
    CHECK(step_of(trace, 1).updated < step_of(trace, 0).start);
  }
}

TEST_CASE("a transfer gets half of a NIC that a reduction uses too", "[step]") {
  const auto cluster = tests::make_cluster({{1, 1, 1, 1}});
  tests::HybridJob job(one_f_one_b(2, 1), {.dp = 2});
  job.communication().overlap_grad_reduce = false;
  job.costs.boundary_bytes = 10'000'000;
  const auto transfer = [&](const trace::Trace& trace) {
    for (const trace::TransferRow& row : trace.transfers)
      if (row.kind == trace::TransferKind::gradient) return row.end - row.start;
    return 0.0;
  };
  CHECK(transfer(job.run(cluster)) == Approx(10e6 / nic + outside).epsilon(1e-6));

  // When device 1 ends its only backward pass, it sends the gradient to device 0 and starts to
  // reduce at the same time.
  job.set_parameters(10'000'000);
  const auto trace = job.run(cluster);
  CHECK(transfer(trace) == Approx(2 * 10e6 / nic + outside).epsilon(1e-6));
  const auto rows = collectives(trace, 1, CollectiveKind::reduce_gradients);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].end - rows[0].start == Approx((10e6 + 40e6) / nic + 2 * outside).epsilon(1e-6));
}

TEST_CASE("both ends of a pipeline sum up a tied embedding after their reductions", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job;
  for (workload::StageTraffic* stage : {&job.costs.traffic.front(), &job.costs.traffic.back()})
    stage->embedding_parameters = 5'000'000;
  const auto trace = job.run(cluster);
  const double start = step_of(trace, 0).start + all_reduce(10e6);
  const double end = start + 20e6 / tests::nvlink + 2 * tests::inside;
  for (const std::uint32_t device : {0U, 1U}) {
    const auto rows = collectives(trace, device, CollectiveKind::tie_embeddings);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].start == Approx(start).epsilon(exact));
    CHECK(rows[0].end == Approx(end).epsilon(exact));
    CHECK(step_of(trace, device).reduced == Approx(end).epsilon(exact));
  }
}

TEST_CASE("with blocking sends a reduction starts when its device has sent", "[step]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  TwoReplicas job;
  job.p2p = schedules::P2p::blocking;
  job.communication().overlap_grad_reduce = false;
  const auto trace = job.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    const auto rows = collectives(trace, device, CollectiveKind::reduce_gradients);
    CHECK(rows.front().start == Approx(step_of(trace, device).start).epsilon(1e-12));
    CHECK(rows.front().end - rows.front().start == Approx(all_reduce(10e6)).epsilon(1e-6));
  }
}
