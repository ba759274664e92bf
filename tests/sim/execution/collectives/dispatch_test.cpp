#include <algorithm>
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"
#include "support/reference.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;
using workload::Dispatch;

namespace {

constexpr double S = 960e6;  // bytes of a rank's tokens

std::map<std::pair<std::uint32_t, std::uint32_t>, double> flows_of(const Phase& phase) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const Flow& flow : phase.flows) bytes[{flow.source, flow.destination}] += flow.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("tokens cross the network once and are forwarded inside nodes", "[dispatch]") {
  const auto cluster = make_cluster({{4, 4}});
  const RankPlacement placement(cluster, cluster.gpus());
  // Each rank has one expert, and a token visits two. A node has at least one of them for 1 - (4 x
  // 3) / (8 x 7) of the tokens, a rank for a quarter of the tokens.
  const Dispatch dispatch{.experts = 8, .top_k = 2};
  const auto phases = execution::plan({Collective::dispatch, dispatch}, S, ranks(8),
                                      Algorithm::automatic, placement);
  REQUIRE(phases.size() == 1);
  const auto flows = flows_of(phases[0]);
  CHECK(flows.at({0, 4}) == Approx(S * (1 - 12.0 / 56)));
  CHECK(flows.at({6, 2}) == Approx(S * (1 - 12.0 / 56)));
  CHECK(flows.count({0, 5}) == 0);
  // A GPU forwards its own tokens and those that arrived from its peer on the same rail.
  CHECK(flows.at({0, 3}) == Approx(2 * S / 4));
  CHECK(phases[0].latency == Approx(outside));
}

TEST_CASE("nodes of different size get tokens directly from rank to rank", "[dispatch]") {
  const auto cluster = make_cluster({{4, 2}});
  const RankPlacement placement(cluster, cluster.gpus());
  const Dispatch dispatch{.experts = 6, .top_k = 1, .outside_latency = 90e-6};
  const auto phases = execution::plan({Collective::dispatch, dispatch}, S, ranks(6),
                                      Algorithm::automatic, placement);
  REQUIRE(phases.size() == 1);
  const auto flows = flows_of(phases[0]);
  CHECK(flows.size() == 30);
  for (const auto& [pair, bytes] : flows) CHECK(bytes == Approx(S / 6));
  CHECK(phases[0].latency == Approx(outside + 90e-6));
}

TEST_CASE("the library's kernel may be slower than the links", "[dispatch]") {
  const auto cluster = make_cluster({{4}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto seconds = [&](double rate) {
    const Dispatch dispatch{.experts = 4, .top_k = 1, .inside_rate = rate};
    return execution::uncontended_seconds(
        execution::plan({Collective::dispatch, dispatch}, S, ranks(4), Algorithm::automatic,
                        placement),
        placement);
  };
  const double bytes = S * 3 / 4;
  CHECK(seconds(0) == Approx(bytes / nvlink + inside));
  CHECK(seconds(2 * nvlink) == Approx(bytes / nvlink + inside));
  CHECK(seconds(nvlink / 2) == Approx(2 * bytes / nvlink + inside));
}

TEST_CASE("the library's kernel is slower where tokens also come from other nodes", "[dispatch]") {
  const auto cluster = make_cluster({{4, 4}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto bytes_to_peer = [&](double rate) {
    const Dispatch dispatch{.experts = 8, .top_k = 2, .inside_rate = rate};
    const auto phases = execution::plan({Collective::dispatch, dispatch}, S, ranks(8),
                                        Algorithm::automatic, placement);
    return flows_of(phases[0]).at({0, 3});
  };
  // At the rate of the links, tokens from another node are written with 0.6 of this rate.
  CHECK(bytes_to_peer(2 * nvlink) == Approx(bytes_to_peer(0)));
  CHECK(bytes_to_peer(nvlink) == Approx(bytes_to_peer(0) / 0.6));
}

// Compares with AIConfigurator's tables of DeepEP on one and four nodes of H100: 8 of 256 experts
// per token, FP8 for dispatch and bf16 for combine.
TEST_CASE("DeepEP takes as long as measured on H100", "[dispatch]") {
  const auto file = tests::reference_folder() / "2026" / "aic_deepep_dispatch_combine.csv";
  if (!std::filesystem::exists(file)) {
    WARN("skipped: " << file.string() << " is not there");
    return;
  }
  const auto cluster =
      cluster::Cluster::load(config::library_file("clusters", "dgx-h100-8", ".xml"));
  const RankPlacement placement(cluster, cluster.gpus());
  std::map<std::string, std::vector<double>> errors;
  for (const auto& row : tests::read_csv(file)) {
    const auto number = [&](const char* name) { return std::stod(row.at(name)); };
    const double tokens = number("tokens_per_gpu");
    if (row.at("system") != "h100_sxm" || tokens < 1024) continue;
    const auto error = [&](double element, double measured) {
      const Dispatch dispatch =
          workload::dispatch_of({.count = 256, .top_k = 8, .top_groups = 1},
                                {.dispatcher = config::Dispatcher::deepep,
                                 .sms = static_cast<std::uint32_t>(number("sms"))});
      const auto plan = execution::plan(
          {Collective::dispatch, dispatch}, element * tokens * number("hidden"),
          ranks(static_cast<std::uint32_t>(number("gpus"))), Algorithm::automatic, placement);
      return execution::uncontended_seconds(plan, placement) / (measured * 1e-6) - 1;
    };
    const std::string kind = row.at("nodes") + (number("sms") < 16 ? " nodes, few SMs" : " nodes");
    errors[kind].push_back(error(config::element_bytes(config::DataType::fp8_block),
                                 number("dispatch_us") + number("dispatch_notify_us")));
    errors[kind].push_back(error(2, number("combine_us") + number("combine_notify_us")));
  }
  REQUIRE(errors.size() == 3);
  for (auto& [kind, list] : errors) {
    for (double& error : list) error = std::abs(error);
    std::sort(list.begin(), list.end());
    INFO(kind << ": median " << list[list.size() / 2] << ", largest " << list.back());
    CHECK(list[list.size() / 2] < (kind == "4 nodes, few SMs" ? 0.13 : 0.08));
  }
}
