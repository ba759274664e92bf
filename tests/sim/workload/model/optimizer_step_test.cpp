#include "sim/workload/model/optimizer_step.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/workload/model/newton_schulz.hpp"
#include "sim/workload/plan/planner.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

// Tests of optimizers other than Adam. The model, Llama 3 8B, has 32 layers with matrices of
// 218,103,808 elements, and a vocabulary of 128,256 in an embedding and an output matrix.

using namespace pipewright;
using namespace pipewright::test;
using config::test::error_of;
using workload::Collective;
using workload::Matrix;

namespace {

constexpr double matrices = 32.0 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336.0 * 4096);
constexpr double vocabulary = 2 * 128'256.0 * 4096;
constexpr double norms = 65 * 4096.0;
constexpr double others = vocabulary + norms;

workload::StageCosts costs(const std::string& optimizer, const std::string& more = "") {
  const config::Scenario scenario = config::read_scenario(
      config::read_yaml_text("{model: llama-3-8b, devices: 1, microbatches: 8, gpu: h100-sxm, " +
                                 more + " training: {optimizer: {" + optimizer + "}}}",
                             "s.yaml"));
  return workload::make_plan(scenario, scenario.schedules.front(), workload::Gpus(1, *scenario.gpu))
      .costs;
}

double state(const std::string& optimizer, const std::string& more = "") {
  return static_cast<double>(costs(optimizer, more).state[0].optimizer);
}

std::string replicas(int dp, int zero) {
  return "parallel: {dp: " + std::to_string(dp) + ", zero: " + std::to_string(zero) + "},";
}

workload::MatrixStep step_of(const Matrix& matrix, const std::string& optimizer,
                             std::uint32_t ranks) {
  const config::Value name = config::make_text("h100-sxm", {});
  return matrix_step(matrix, training_of("{optimizer: {name: muon, " + optimizer + "}}"), ranks,
                     config::read_gpu({name, "gpu"}));
}

double flops(double m, double n, int steps) { return steps * (4 * m * m * n + 2 * m * m * m); }

}  // namespace

TEST_CASE("optimizers differ in the bytes of their state", "[muon]") {
  const double parameters = matrices + others;
  CHECK(state("name: adam") == Approx(12 * parameters));
  // Muon: main weights and a momentum for matrices; Adam's state for the rest.
  CHECK(state("name: muon") == Approx(8 * matrices + 12 * others));
  CHECK(state("name: ademamix") == Approx(16 * parameters));
  CHECK(state("name: adam_8bit") == Approx((4 + 2 + 8.0 / 256) * parameters));
  // Adafactor: a number per row and per column of each matrix.
  const double rows = 32 * (4096 + 6144 + 2 * 14336 + 4096) + 2 * 128'256;
  const double columns = 32 * (4096 + 4096 + 4096 + 14336) + 2 * 4096;
  CHECK(state("name: adafactor") == Approx(4 * parameters + 4 * (rows + columns + norms)));
}

TEST_CASE("Newton-Schulz iterations multiply along the shorter side", "[muon]") {
  const Matrix tall{.rows = 2048, .columns = 512};
  CHECK(step_of(tall, "ns_steps: 5", 1).flops == Approx(flops(512, 2048, 5)));
  CHECK(step_of(tall, "ns_steps: 3", 1).flops == Approx(flops(512, 2048, 3)));
  const Matrix wide{.rows = 512, .columns = 2048};
  CHECK(step_of(wide, "ns_steps: 5", 1).flops == Approx(flops(512, 2048, 5)));
}

TEST_CASE("queries, keys and values are orthogonalized one by one", "[muon]") {
  const Matrix fused{.rows = 6144, .columns = 4096, .fused = {4096, 1024, 1024}};
  CHECK(step_of(fused, "ns_steps: 1", 1).flops ==
        Approx(flops(4096, 4096, 1) + 2 * flops(1024, 4096, 1)));
  CHECK(step_of(fused, "ns_steps: 1, split_qkv: false", 1).flops == Approx(flops(4096, 6144, 1)));
}

TEST_CASE("ranks of tp gather a matrix, share its products, or update their parts", "[muon]") {
  const Matrix part{.rows = 1024, .columns = 2048, .cut = Matrix::Cut::rows};
  const auto gathered = step_of(part, "tp_mode: duplicated, ns_steps: 1", 4);
  CHECK(gathered.flops == Approx(flops(2048, 4096, 1)));
  REQUIRE(gathered.calls.size() == 1);
  CHECK(gathered.calls[0].collective.kind == Collective::all_gather);
  CHECK(gathered.calls[0].bytes == 4ULL * 4096 * 2048);

  const auto shared = step_of(part, "tp_mode: distributed, ns_steps: 3", 4);
  CHECK(shared.flops == Approx(flops(2048, 1024, 3)));
  REQUIRE(shared.calls.size() == 1);
  CHECK(shared.calls[0].collective.kind == Collective::all_reduce);
  CHECK(shared.calls[0].bytes == 2ULL * 2048 * 2048);
  CHECK(shared.calls[0].times == 3);

  const auto alone = step_of(part, "tp_mode: blockwise, ns_steps: 1", 4);
  CHECK(alone.flops == Approx(flops(1024, 2048, 1)));
  CHECK(alone.calls.empty());
}

TEST_CASE("layer-wise Muon pads the buffers of gradients and weights", "[muon]") {
  const workload::StageCosts adam = costs("name: adam", replicas(256, 1));
  const workload::StageCosts muon = costs("name: muon", replicas(256, 1));
  const double padding = 3.3077 * matrices;  // 4.3077 times the matrices at 256 ranks
  const auto more = [&](std::uint64_t workload::DeviceState::*member) {
    return static_cast<double>(muon.state[0].*member) - static_cast<double>(adam.state[0].*member);
  };
  CHECK(more(&workload::DeviceState::gradients) == Approx(4 * padding).epsilon(1e-3));
  CHECK(more(&workload::DeviceState::weights) == Approx(2 * padding).epsilon(1e-3));
  CHECK(static_cast<double>(muon.traffic[0].parameters) ==
        Approx(matrices + others + padding).epsilon(1e-3));
  // All matrices are one bucket, and embeddings and norms five of 256 M parameters.
  CHECK(muon.traffic[0].buckets == 1 + 5);
  // One of 256 ranks has at most one matrix of gate and input, and a part of the rest.
  CHECK(static_cast<double>(muon.state[0].optimizer) ==
        Approx(8 * 2 * 14336.0 * 4096 + 12 * others / 256));
}

TEST_CASE("without padding, matrices are dealt to ranks by size", "[muon]") {
  const std::string by_size = "name: muon, layout: ping_pong";
  const workload::StageCosts muon = costs(by_size, replicas(8, 1));
  CHECK(muon.state[0].gradients == costs("name: adam", replicas(8, 1)).state[0].gradients);
  CHECK(muon.traffic[0].buckets == 0);
  // The rank with a whole embedding or output matrix has most state.
  CHECK(static_cast<double>(muon.state[0].optimizer) > 12 * vocabulary / 2);
}

TEST_CASE("fewer Newton-Schulz iterations and more ranks make a shorter step", "[muon]") {
  const auto seconds = [](const std::string& optimizer, const std::string& more) {
    return costs(optimizer, more).optimizer_seconds[0];
  };
  const double alone = seconds("name: muon", "");
  CHECK(seconds("name: muon, ns_steps: 2", "") < alone);
  CHECK(seconds("name: muon", replicas(8, 1)) < alone / 7);
  CHECK(seconds("name: adam", replicas(8, 1)) < seconds("name: muon", replicas(8, 1)));
  CHECK(seconds("name: muon, ns_precision: tf32", "") > alone);
}

TEST_CASE("distributed Muon gathers the momentum and repeats work at shard bounds", "[muon]") {
  const workload::StageCosts muon = costs("name: muon, mode: distributed", replicas(8, 1));
  CHECK(static_cast<double>(muon.state[0].optimizer) == Approx((8 * matrices + 12 * others) / 8));
  REQUIRE(muon.step_calls[0].size() == 1);
  const workload::Call& gather = muon.step_calls[0][0];
  CHECK(gather.collective.kind == Collective::all_gather);
  CHECK(static_cast<double>(gather.bytes) * gather.times == Approx(2 * matrices));
  CHECK(muon.state[0].step > costs("name: muon", replicas(8, 1)).state[0].step);
}

TEST_CASE("Muon with FSDP exchanges batches of equal matrices", "[muon]") {
  const workload::StageCosts muon = costs("name: muon", replicas(16, 3));
  double bytes = 0;
  for (const workload::Call& call : muon.step_calls[0]) {
    CHECK(call.collective.kind == Collective::all_to_all);
    bytes += static_cast<double>(call.bytes) * call.times;
  }
  // There and back, each rank has a 16th of the matrices in 16 bits. All numbers of equal matrices
  // are multiples of 16.
  CHECK(bytes == Approx(2 * 2 * matrices / 16));
  CHECK(static_cast<double>(muon.state[0].optimizer) == Approx((8 * matrices + 12 * others) / 16));
}

TEST_CASE("a layout that Muon's mode does not fit is refused", "[muon]") {
  const auto refusal = [](const std::string& optimizer, const std::string& more) {
    return error_of([&] { costs(optimizer, more); });
  };
  CHECK_THAT(refusal("name: muon, mode: fsdp", replicas(8, 1)),
             Catch::Contains("training.optimizer.mode is fsdp, but parallel.zero is 1"));
  CHECK_THAT(refusal("name: muon, mode: layer_wise", replicas(8, 3)),
             Catch::Contains("training.optimizer.mode is layer_wise, but parallel.zero is 3"));
  CHECK_THAT(refusal("name: muon, offload: {}", replicas(8, 1)),
             Catch::Contains("the CPU updates parameters by Adam only"));
  CHECK_THAT(refusal("name: muon", "parallel: {tp: 2, dp: 8, zero: 3},"),
             Catch::Contains("parallel.tp is 2"));
}
