#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/execution/replica_groups.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the traffic of sharded data parallelism (Rajbhandari et al. 2020, section 7). Each pipeline
// is inside a node, and replicas are in different nodes, so NICs carry only gradients and weights.

using namespace pipewright;
using execution::EngineKind;
using trace::CollectiveKind;

namespace {

constexpr std::uint32_t replicas = 4;
constexpr std::uint32_t microbatches = 6;
constexpr double parameters = 9.6e6;  // per stage

struct Job : tests::HybridJob {
  explicit Job(std::uint32_t zero, const std::string& name = "1f1b")
      : HybridJob(schedules::make_schedule(name, {.devices = 2, .microbatches = microbatches}),
                  {.dp = replicas, .zero = zero}) {
    set_parameters(static_cast<std::uint64_t>(parameters));
    costs.gathered.assign(schedule.stages(), 2 * static_cast<std::uint64_t>(parameters));
  }
};

// Returns the bytes that a rank sends if all ranks of a ring hold equal parts of a buffer.
double part(double bytes) { return bytes * (replicas - 1) / replicas; }

std::uint64_t max_gathered(const trace::Trace& trace, std::uint32_t device) {
  std::uint64_t max_bytes = 0;
  std::uint64_t last = 0;
  for (const trace::MemoryRow& row : trace.memory) {
    if (row.device != device || row.category != trace::MemoryCategory::gathered) continue;
    max_bytes = std::max(max_bytes, row.bytes);
    last = row.bytes;
  }
  CHECK(last == 0);
  return max_bytes;
}

}  // namespace

TEST_CASE("each level of ZeRO sends the bytes of its formula over a NIC", "[zero]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  const double gradients = 4 * parameters;
  const double weights = 2 * parameters;
  const auto check = [&](std::uint32_t zero, double bytes, const std::string& schedule = "1f1b") {
    for (const bool overlap : {true, false}) {
      Job job(zero, schedule);
      job.communication().overlap_grad_reduce = overlap;
      job.communication().overlap_param_gather = overlap;
      const auto carried = tests::link_bytes(job, cluster);
      CAPTURE(zero, schedule, overlap);
      for (std::uint32_t node = 0; node < replicas; ++node)
        for (const std::uint32_t gpu : {0U, 1U})
          for (const char* direction : {"UP", "DOWN"})
            CHECK(carried.at(fmt::format("nic-{}-{}_{}", node, gpu, direction)) ==
                  Approx(bytes).epsilon(1e-6));
    }
  };
  check(0, 2 * part(gradients));
  check(1, part(gradients) + part(weights));
  // Gradients are reduced to shards after every microbatch.
  check(2, microbatches * part(gradients) + part(weights));
  // Weights are gathered for every forward and every backward pass or I, but not again for W.
  check(3, microbatches * (part(gradients) + 2 * part(weights)));
  check(3, microbatches * (part(gradients) + 2 * part(weights)), "zb-h1");
}

TEST_CASE("ZeRO-1 may sum up gradients for all ranks and broadcast its shards", "[zero]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  const double gradients = 4 * parameters;
  const double weights = 2 * parameters;
  const auto sent = [&](std::uint32_t zero, config::ZeroGradients sums,
                        config::ZeroWeights shards) {
    Job job(zero);
    job.communication().zero_gradients = sums;
    job.communication().zero_weights = shards;
    double bytes = 0;
    const auto carried = tests::link_bytes(job, cluster);
    for (std::uint32_t node = 0; node < replicas; ++node)
      bytes += carried.at(fmt::format("nic-{}-0_UP", node));
    return bytes;
  };
  using config::ZeroGradients;
  using config::ZeroWeights;
  CHECK(sent(1, ZeroGradients::all_reduce, ZeroWeights::all_gather) ==
        Approx(replicas * (2 * part(gradients) + part(weights))));
  // In each broadcast of a shard, all ranks but the last one send it.
  CHECK(sent(1, ZeroGradients::reduce_scatter, ZeroWeights::broadcast) ==
        Approx(replicas * part(gradients) + (replicas - 1) * weights));
  // ZeRO-2 keeps only shards of gradients.
  CHECK(sent(2, ZeroGradients::all_reduce, ZeroWeights::all_gather) ==
        Approx(replicas * (microbatches * part(gradients) + part(weights))));
}

TEST_CASE("broadcasts of shards pay the latency of a whole ring for each rank", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  const auto iteration = [&](config::ZeroWeights shards, EngineKind engine) {
    Job job(1);
    job.communication().zero_weights = shards;
    job.communication().overlap_param_gather = false;
    return tests::step_of(job.run(cluster, engine), 0).end;
  };
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    // A rank waits for weights / replicas more bytes than in an all-gather, and for replicas - 1
    // more rings of as many hops.
    const double hops = (replicas - 1) * tests::outside;
    CHECK(iteration(config::ZeroWeights::broadcast, engine) -
              iteration(config::ZeroWeights::all_gather, engine) ==
          Approx((replicas - 1) * hops + 2 * parameters / replicas / tests::nic).epsilon(1e-6));
  }
}

TEST_CASE("the buckets of weights together broadcast every shard", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  struct Buckets {
    std::uint32_t count, broadcasts;  // broadcasts of each bucket
  };
  for (const Buckets buckets : {Buckets{1, 4}, {2, 2}, {3, 2}, {4, 1}, {8, 1}}) {
    Job job(1);
    job.communication().zero_weights = config::ZeroWeights::broadcast;
    job.communication().overlap_param_gather = true;
    job.communication().bucket = static_cast<std::uint64_t>(4 * parameters) / buckets.count;
    CAPTURE(buckets.count);
    const execution::Job run_job = job.job(cluster);
    const execution::ReplicaGroups replica_groups(run_job);
    REQUIRE(replica_groups.weight_parts(0) == buckets.count);
    const execution::CollectiveOp op = replica_groups.weights(0).front();
    CHECK(op.times == buckets.broadcasts);
    CHECK(op.bytes * op.times == static_cast<std::uint64_t>(2 * parameters) / buckets.count);
  }
}

TEST_CASE("gathered weights are allocated and freed", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  for (const std::string schedule : {"1f1b", "gpipe", "zb-h1", "interleaved-1f1b"}) {
    CAPTURE(schedule);
    const Job job(3, schedule);
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
      const auto trace = job.run(cluster, engine);
      for (const std::uint32_t device : {0U, 1U}) {
        const auto stage = 2 * static_cast<std::uint64_t>(parameters);
        const std::uint64_t max_bytes = max_gathered(trace, device);
        CHECK(max_bytes >= stage);
        CHECK(max_bytes <= 2 * stage);  // of a pass and the next one
      }
    }
  }
  for (const std::uint32_t zero : {0U, 1U, 2U}) CHECK(max_gathered(Job(zero).run(cluster), 0) == 0);
}

TEST_CASE("ZeRO-3 waits for the first layer only", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  Job job(3, "gpipe");
  job.communication().global_norm = false;
  constexpr std::uint32_t layers = 8;  // of a stage, two of which are held
  job.costs.gathered.assign(2, static_cast<std::uint64_t>(2 * 2 * parameters / layers));
  const double gather = part(2 * parameters / layers) / tests::nic + 3 * tests::outside;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const auto trace = job.run(cluster, engine);
    // Device 0 waits for its first gather. All other gathers are much shorter than the layers
    // beside which they run.
    CHECK(tests::step_of(trace, 0).gathering == Approx(gather).epsilon(1e-6));
    CHECK(tests::step_of(trace, 1).gathering == Approx(0).margin(1e-12));
    for (const trace::PassRow& row : trace.passes)
      if (row.device == 0 && row.kind == trace::PassKind::forward)
        CHECK(row.start == Approx(gather + row.microbatch).epsilon(1e-9));
    for (const std::uint32_t device : {0U, 1U}) {
      const auto rows = tests::collectives(trace, device, CollectiveKind::gather_weights);
      REQUIRE(rows.size() == layers * 2 * microbatches);
      // A gather starts only after the one before it, so at most one layer is fetched ahead.
      for (std::size_t i = 2; i < rows.size(); ++i)
        CHECK(rows[i].posted >= rows[i - 1].end * (1 - 1e-12));
    }
  }
}

TEST_CASE("gathers that are slower than compute set the pace", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  Job job(3, "gpipe");
  constexpr std::uint32_t layers = 4;
  job.set_parameters(40'000'000'000);
  job.costs.gathered.assign(2, 2 * 2 * 40'000'000'000 / layers);
  const auto trace = job.run(cluster);
  const double gather = part(2 * 40e9 / layers) / tests::nic + 3 * tests::outside;
  REQUIRE(gather > 1.0 / layers);
  // A layer's gather starts when the layer before it begins, so each layer takes as long as a
  // gather.
  const trace::PassRow& first = trace.passes.front();
  CHECK(first.end == Approx(layers * gather + 1.0 / layers).epsilon(1e-9));
  CHECK(first.end - first.start == Approx(1).epsilon(1e-9));
}

TEST_CASE("the weights of an iteration arrive after the previous update", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  for (const std::uint32_t zero : {1U, 3U}) {
    CAPTURE(zero);
    tests::HybridJob job(
        schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 4, .iterations = 2}),
        {.dp = replicas, .zero = zero});
    job.set_parameters(static_cast<std::uint64_t>(parameters));
    const auto trace = job.run(cluster);
    for (const std::uint32_t device : {0U, 1U}) {
      int rows = 0;
      for (const auto& row : tests::collectives(trace, device, CollectiveKind::gather_weights))
        if (row.iteration == 1) {
          ++rows;
          CHECK(row.posted >= tests::step_of(trace, device, 0).updated * (1 - 1e-12));
        }
      CHECK(rows > 0);
    }
  }
}

TEST_CASE("ZeRO-2 reduces after every microbatch and exposes only the last reduction", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  Job job(2);
  job.communication().bucket = 1'000'000'000;
  const auto trace = job.run(cluster);
  const double reduction = part(4 * parameters) / tests::nic + 3 * tests::outside;
  for (const std::uint32_t device : {0U, 1U}) {
    const auto rows = tests::collectives(trace, device, CollectiveKind::reduce_gradients);
    CHECK(rows.size() == microbatches);
    const trace::StepRow& step = tests::step_of(trace, device);
    CHECK(step.reduced - step.start == Approx(reduction).epsilon(1e-6));
  }
}

TEST_CASE("copies of shards may sum up gradients once, and divide the optimizer state", "[zero]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  // Two ranks share the weights, and each shard has two copies. Each microbatch gathers weights
  // twice and reduces gradients once, of which each rank sends half.
  const double inside = microbatches * (4 * parameters / 2 + 2 * 2 * parameters / 2);
  const double gradients = 4 * parameters / 2;  // of a shard
  const double weights = 2 * parameters / 2;
  const auto check = [&](bool once, bool divides, double between) {
    tests::HybridJob job(
        schedules::make_schedule("1f1b", {.devices = 2, .microbatches = microbatches}),
        {.dp = replicas, .replicate = 2, .zero = 3});
    job.set_parameters(static_cast<std::uint64_t>(parameters));
    job.conditions.sums_copies_once = once;
    job.conditions.shards_copies = divides;
    CAPTURE(once, divides);
    for (const bool overlap : {true, false}) {
      job.communication().overlap_grad_reduce = overlap;
      const auto carried = tests::link_bytes(job, cluster);
      for (std::uint32_t node = 0; node < replicas; ++node)
        CHECK(carried.at(fmt::format("nic-{}-0_UP", node)) ==
              Approx(inside + between).epsilon(1e-6));
    }
  };
  // An all-reduce over two copies sends half of the shard twice.
  check(false, false, microbatches * gradients);
  check(true, false, gradients);
  // A reduce-scatter sends half of it once, and the updated half of the weights is gathered once.
  check(true, true, gradients / 2 + weights / 2);
  check(false, true, microbatches * gradients / 2 + weights / 2);
}

TEST_CASE("generalized tensor parallelism moves fewer bytes for weights of narrow types",
          "[zero][gtp]") {
  // Bytes for an element in a microbatch: two gathers, with the scales of blocks of 32 or 16
  // elements, and a reduction in bf16 (Megatron-LM, docs/api-guide/core/
  // generalized_tensor_parallel.md, section 1.3).
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  struct Case {
    double gathered, moved;
  };
  for (const Case& type : {Case{2, 6}, {1 + 1.0 / 32, 4.0625}, {0.5 + 1.0 / 16, 3.125}}) {
    tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 1}),
                         {.dp = replicas, .replicate = 2, .zero = 3});
    job.set_parameters(static_cast<std::uint64_t>(parameters));
    job.costs.gathered_element = type.gathered;
    job.costs.gathered.assign(2, 1000);
    job.costs.gathered_matrices.assign(2, 8);
    job.conditions.by_layer = true;
    job.conditions.sums_copies_once = job.conditions.shards_copies = true;
    job.conditions.shard_gradient_bytes = 2;
    const execution::Job run_job = job.job(cluster);
    const execution::ReplicaGroups groups(run_job);
    REQUIRE(groups.parts(0) == 8);
    REQUIRE(groups.weight_parts(0) == 8);
    const double moved = 8 * static_cast<double>(2 * groups.weights(0, false).front().bytes +
                                                 groups.gradients(0, false).front().bytes);
    CHECK(moved == Approx(type.moved * parameters).epsilon(1e-6));
    // Once in an iteration, copies sum up fp32 gradients of their half, and gather its weights.
    REQUIRE(groups.gradients(0).size() == 4);
    REQUIRE(groups.weights(0).size() == 4);
    CHECK(groups.gradients(0)[2].bytes == static_cast<std::uint64_t>(4 * parameters / 8 / 2));
    CHECK(groups.gradients(0)[2].collective.kind == workload::Collective::reduce_scatter);
    CHECK(static_cast<double>(groups.weights(0)[0].bytes) ==
          Approx(type.gathered * parameters / 8 / 2).epsilon(1e-6));
  }
}

TEST_CASE("layers that are gathered further ahead are requested together", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  constexpr std::uint32_t layers = 8;  // of a stage
  for (const std::uint32_t ahead : {1U, 3U})
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
      Job job(3, "gpipe");
      job.communication().global_norm = false;
      job.costs.gathers_ahead.assign(2, ahead);
      job.costs.gathered.assign(2,
                                static_cast<std::uint64_t>((1 + ahead) * 2 * parameters / layers));
      const trace::Trace trace = job.run(cluster, engine);
      const auto rows = tests::collectives(trace, 0, CollectiveKind::gather_weights);
      CAPTURE(ahead);
      REQUIRE(rows.size() == layers * 2 * microbatches);
      CHECK(std::ranges::count(rows, 0, &trace::CollectiveRow::posted) == ahead);
      // The device waits for its first layer only, and memory has the layers of the window.
      const double gather = part(2 * parameters / layers) / tests::nic + 3 * tests::outside;
      CHECK(tests::step_of(trace, 0).gathering == Approx(gather).epsilon(1e-6));
      CHECK(max_gathered(trace, 0) == job.costs.gathered[0]);
    }
}

TEST_CASE("shards are summed over their copies after reduction", "[zero]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  tests::HybridJob job(
      schedules::make_schedule("1f1b", {.devices = 2, .microbatches = microbatches}),
      {.dp = replicas, .replicate = 2, .zero = 3});
  job.set_parameters(static_cast<std::uint64_t>(parameters));
  const auto carried = tests::link_bytes(job, cluster);
  // In a reduction or a gather, each of the two ranks that share the weights sends half to the
  // other. For gradients, each half is also added to its copy in another shard group, as two
  // quarters.
  const double gradients = 4 * parameters / 2 + 2 * 4 * parameters / 4;
  const double weights = 2 * 2 * parameters / 2;
  for (std::uint32_t node = 0; node < replicas; ++node)
    CHECK(carried.at(fmt::format("nic-{}-0_UP", node)) ==
          Approx(microbatches * (gradients + weights)).epsilon(1e-6));

  // Only the last reduction is exposed: one hop for the step of the ring, and two for adding the
  // halves of both copies.
  job.conditions.communication.bucket = 1'000'000'000;
  const double last = (2 + 2) * parameters / tests::nic + (1 + 2) * tests::outside;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const trace::Trace trace = job.run(cluster, engine);
    const trace::StepRow& step = tests::step_of(trace, 0);
    CHECK(step.reduced - step.start == Approx(last).epsilon(1e-6));
  }
}

TEST_CASE("weights that are not resharded are gathered for forward passes and stay until backward",
          "[zero]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  const auto stage_bytes = 2 * static_cast<std::uint64_t>(parameters);
  for (const std::string schedule : {"gpipe", "zb-h1"}) {
    CAPTURE(schedule);
    Job job(3, schedule);
    job.conditions.reshards = false;
    const auto carried = tests::link_bytes(job, cluster);
    CHECK(carried.at("nic-0-0_UP") ==
          Approx(microbatches * part((4 + 2) * parameters)).epsilon(1e-6));
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing})
      // In 1F1B, the last device runs a microbatch's backward pass right after its forward pass, so
      // it holds the weights only once.
      CHECK(max_gathered(job.run(cluster, engine), 1) ==
            (schedule == "gpipe" ? microbatches : 1) * stage_bytes);
  }
}

TEST_CASE("compute beside gathers and reductions slows down", "[zero]") {
  const auto cluster = tests::mesh_cluster(2);
  tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 1}),
                       {.dp = 2, .zero = 3});
  // The stage has two layers. Gathering a layer's weights takes as long as reducing its gradients.
  job.set_parameters(400'000'000);
  job.costs.gathered = {800'000'000};
  job.conditions.by_layer = true;
  job.communication().gradient_bytes = 2;
  job.communication().overlap_slowdown = 2;
  const double part = tests::mesh_latency + 200e6 / tests::mesh_rate;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const auto trace = job.run(cluster, engine);
    REQUIRE(trace.passes.size() == 2);
    // F does half of its work at half speed beside the second layer's gather and beside the gather
    // of B's first layer. B does the same beside its second layer's gather and beside the reduction
    // of the first half's gradients.
    CHECK(trace.passes[0].start == Approx(part).epsilon(1e-9));
    CHECK(trace.passes[0].end - trace.passes[0].start == Approx(1 + 2 * part / 2).epsilon(1e-9));
    CHECK(trace.passes[1].end - trace.passes[1].start == Approx(2 + 2 * part / 2).epsilon(1e-9));
    CHECK(tests::step_of(trace, 0).reduced - trace.passes[1].end == Approx(part).epsilon(1e-9));
  }
  job.communication().overlap_slowdown = 1;
  CHECK(job.run(cluster).passes[1].end == Approx(part + 3).epsilon(1e-9));
}

TEST_CASE("a stage on two devices supports only optimizer sharding", "[zero]") {
  const auto cluster = tests::make_cluster({std::vector<int>(replicas, 2)});
  for (const std::uint32_t zero : {2U, 3U})
    CHECK_THROWS_WITH(
        Job(zero, "dualpipe").run(cluster),
        fmt::format("dualpipe keeps stage 0 on devices 0 and 1, which run different "
                    "microbatches, but ZeRO-{} synchronizes all copies of a stage after each "
                    "microbatch; allowed: zero 0 or 1",
                    zero));
  CHECK(tests::last_end(Job(1, "dualpipe").run(cluster)) > 0);
}
