#include "sim/goodput/make_setting.hpp"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/iteration.hpp"
#include "support/program.hpp"

using namespace pipewright;
using goodput::Setting;

namespace {

config::Goodput read(const std::string& map) {
  const std::string text =
      "{devices: 1, microbatches: 1, forward_times: 1, backward_times: 1, goodput: " + map + "}";
  return *config::read_scenario(config::read_yaml_text(text, "")).goodput;
}

// Returns an iteration of 10 s on 2048 nodes with eight GPUs each.
goodput::Iteration iteration() {
  return {.seconds = 10, .tokens = 1e6, .gpus = 16384, .nodes = 2048, .state_bytes = 5e12};
}

// Returns an iteration on 228 racks of 18 compute trays, each with four GPUs.
goodput::Iteration racks() {
  goodput::Iteration job = iteration();
  job.nodes = 4096;
  job.racks = 228;
  job.rack_nodes = 18;
  return job;
}

Setting setting_of(const std::string& map, std::optional<double> tokens = std::nullopt) {
  return goodput::make_setting(read(map), config::Parallel{}, iteration(), tokens);
}

std::string error_of(const std::string& map) {
  try {
    setting_of(map);
  } catch (const config::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Llama 3's published failures are 419 in 54 days of 2048 nodes") {
  const Setting setting = setting_of("{failures: llama-3}");
  CHECK(goodput::interruption_rate(setting) * 54 * 86400 == Approx(419));
  CHECK(1 / goodput::interruption_rate(setting) / 3600 == Approx(3.09).epsilon(0.002));  // hours
}

TEST_CASE("rates are for a thousand node-days") {
  const Setting setting = setting_of("{failures: {kind: nic, rate: 2}}");
  CHECK(goodput::interruption_rate(setting) == Approx(2 * 2048 / (1000 * 86400.0)));
  CHECK(setting.failures.front().units == 2048);
}

TEST_CASE("published failures count GPUs, whatever the size of a node") {
  const double of_eight = goodput::interruption_rate(setting_of("{failures: llama-3}"));
  // GB300: compute trays of 4 GPUs, of which a rack has 18; GH200: nodes of 4 GPUs.
  for (const goodput::Iteration& job :
       {racks(),
        goodput::Iteration{.seconds = 10, .gpus = 16384, .nodes = 4096, .state_bytes = 5e12}}) {
    for (const char* const map :
         {"{failures: llama-3}", "{failures: rsc-1}", "{failures: rsc-2}"}) {
      const Setting setting = goodput::make_setting(read(map), config::Parallel{}, job);
      CHECK(goodput::interruption_rate(setting) ==
            Approx(goodput::interruption_rate(setting_of(map))));
      CHECK(setting.storage == Approx(setting_of(map).storage));
    }
    const Setting setting = goodput::make_setting(read("{failures: llama-3}"), {}, job);
    CHECK(1 / goodput::interruption_rate(setting) == Approx(1 / of_eight));
  }
}

TEST_CASE("rates may count GPUs, nodes or racks, and a rack fails as a whole") {
  const Setting setting = goodput::make_setting(
      read("{failures: [{kind: gpu, rate: 1, per: gpu}, {kind: node, rate: 1}, {kind: rack, rate: "
           "1}, {kind: network, rate: 1, per: rack, nodes: 2}]}"),
      config::Parallel{}, racks());
  constexpr double thousand_days = 1000 * 86400.0;
  const std::vector<std::uint32_t> units{16384, 4096, 228, 228};
  const std::vector<std::uint32_t> nodes{1, 1, 18, 2};
  for (std::size_t i = 0; i < units.size(); ++i) {
    CHECK(setting.failures[i].rate == Approx(units[i] / thousand_days));
    CHECK(setting.failures[i].units == units[i]);
    CHECK(setting.failures[i].nodes == nodes[i]);
    CHECK(setting.failures[i].drained == 0);
  }
  CHECK_THAT(
      error_of("{failures: {kind: rack, rate: 1}}"),
      Catch::Contains("goodput.failures.per needs racks, but each node of this cluster is an "
                      "NVLink domain of its own"));
}

TEST_CASE("spares and replacements may be whole racks") {
  const Setting setting =
      goodput::make_setting(read("{failures: [{kind: gpu, rate: 1}, {kind: software, rate: 1}, "
                                 "{kind: network, rate: 1, nodes: 20}], spares: 2 racks, replaces: "
                                 "rack}"),
                            config::Parallel{}, racks());
  CHECK(setting.spares == 36U);
  CHECK(setting.drained == 17);
  CHECK(setting.failures[0].drained == 17);  // the other trays of the rack
  CHECK(setting.failures[1].drained == 0);
  CHECK(setting.failures[2].drained == 16);  // of two racks
  CHECK_THAT(error_of("{spares: 1 rack}"), Catch::Contains("goodput.spares needs racks"));
  CHECK_THAT(error_of("{replaces: rack}"), Catch::Contains("goodput.replaces needs racks"));
}

TEST_CASE("spares can be the nodes of the cluster that the job does not use") {
  goodput::Iteration job = iteration();
  job.cluster_nodes = 2100;
  const config::Goodput goodput = read("{spares: rest}");
  CHECK(goodput::make_setting(goodput, config::Parallel{}, job).spares == 52U);
  job.cluster_nodes = 2048;
  CHECK(goodput::make_setting(goodput, config::Parallel{}, job).spares == 0U);
  CHECK_THAT(error_of("{spares: rest}"), Catch::Contains("give the cluster, or a number of nodes"));
}

TEST_CASE("the default failures are those of Meta's RSC-1") {
  CHECK(goodput::interruption_rate(setting_of("{}")) == Approx(6.5 * 2.048 / 86400));
}

TEST_CASE("software failures take down no node, and switch failures take down several") {
  const Setting setting =
      setting_of("{failures: [{kind: software, rate: 1}, {kind: network, rate: 0.1, nodes: 16}]}");
  CHECK(setting.failures[0].nodes == 0);
  CHECK(setting.failures[1].nodes == 16);
}

TEST_CASE("the default interval is Daly's") {
  const Setting setting = setting_of("{checkpoint: {storage: 100 GB/s, interval: auto}}");
  CHECK(goodput::stall(setting) == Approx(50));  // 5 TB at 100 GB/s
  CHECK(setting.interval ==
        Approx(goodput::daly_interval(50, 1 / goodput::interruption_rate(setting))));
}

TEST_CASE("intervals are at least one iteration", "[goodput]") {
  CHECK_THAT(error_of("{checkpoint: {interval: 1 s}}"),
             Catch::Contains("goodput.checkpoint.interval is 1.000 s, but a checkpoint is taken "
                             "at the end of an iteration, which takes 10.00 s; allowed: 10.00 s "
                             "or longer, or auto"));
  CHECK_THAT(error_of("{checkpoint: {mode: peer, peer_interval: 9 s}}"),
             Catch::Contains("goodput.checkpoint.peer_interval is 9.000 s"));
  CHECK(setting_of("{checkpoint: {interval: 10 s}}").interval == 10);
  // Daly's formula gives a tenth of a second, which is raised to the duration of an iteration.
  const std::string fast = "{checkpoint: {bytes: 1 B, storage: 1 TB/s}}";
  CHECK(setting_of(fast).interval == 10);
  goodput::Iteration stand_in = iteration();
  stand_in.limits_intervals = false;
  CHECK(goodput::make_setting(read(fast), config::Parallel{}, stand_in).interval < 10);
}

TEST_CASE("copies to peers are a minute apart, or an iteration if that is longer", "[goodput]") {
  goodput::Iteration slow = iteration();
  const config::Goodput goodput = read("{checkpoint: {mode: peer}}");
  CHECK(goodput::make_setting(goodput, config::Parallel{}, slow).peer_interval == 60);
  slow.seconds = 90;
  CHECK(goodput::make_setting(goodput, config::Parallel{}, slow).peer_interval == 90);
}

TEST_CASE("with copies to peers, the storage's interval is Daly's for the time of a write",
          "[goodput]") {
  const Setting setting = setting_of("{checkpoint: {mode: peer, storage: 100 GB/s}}");
  const goodput::DalyModel model = goodput::daly_model(setting);
  CHECK(model.storage_stall == Approx(50));  // 5 TB at 100 GB/s
  CHECK(setting.interval == Approx(goodput::daly_interval(50, model.mean)));
  // After a failure, the model restarts the job from the copies on other nodes, so it uses their
  // interval and times.
  CHECK(model.interval == 60);
  CHECK(model.stall == Approx(setting.copy));
  CHECK(model.restart == Approx(300 + setting.peer));
}

TEST_CASE("more than a million incidents per seed are rejected", "[goodput]") {
  const std::string often = "{failures: [{kind: nic, rate: 1}, {kind: gpu, rate: 1e6}]}";
  const std::string words = error_of(often);
  CHECK_THAT(words, Catch::Contains("1:"));  // The second failure kind.
  CHECK_THAT(words, Catch::Contains("goodput.failures causes 61.4 M incidents in the 30 days of a "
                                    "seed"));
  CHECK_THAT(words, Catch::Contains("; lower the rate or shorten goodput.duration; "
                                    "allowed: at most 1 M"));
  CHECK_THAT(error_of("{stragglers: {rate: 1e6, factor: 2}}"),
             Catch::Contains("goodput.stragglers causes"));
  CHECK(error_of("{failures: [{kind: gpu, rate: 1e4}]}") == "no error");
  // The job fails more often than it can restart, so it never trains its tokens.
  CHECK_THROWS_WITH(setting_of("{failures: {kind: gpu, rate: 7e2}, restart: 1 h}", 1e12),
                    Catch::Contains("incidents until the tokens are trained"));
}

TEST_CASE("notes name spares beyond the cluster and failures of more nodes than the job has",
          "[goodput]") {
  goodput::Iteration job = iteration();
  job.cluster_nodes = 2050;
  const auto notes = [&](const std::string& map) { return goodput::notes_of(read(map), job); };
  CHECK(notes("{spares: 2, failures: {kind: gpu, rate: 1, nodes: 2048}}").empty());
  REQUIRE(notes("{spares: 3}").size() == 1);
  CHECK_THAT(notes("{spares: 3}").front(),
             Catch::Contains("goodput.spares is 3, but the cluster has 2050 nodes and the job uses "
                             "2048"));
  CHECK_THAT(notes("{failures: {kind: network, rate: 1, nodes: 3000}}").front(),
             Catch::Contains("nodes is 3000, but the job has 2048"));
  job.cluster_nodes = 0;  // Without a cluster.
  CHECK(notes("{spares: 3}").empty());
}

TEST_CASE("a note names spare nodes that complete no rack", "[goodput]") {
  const auto notes = [&](const std::string& map) { return goodput::notes_of(read(map), racks()); };
  REQUIRE(notes("{spares: 17, replaces: rack}").size() == 1);
  CHECK_THAT(notes("{spares: 17, replaces: rack}").front(),
             Catch::Contains("goodput.spares is 17") &&
                 Catch::Contains("17 spare nodes have no effect; give a multiple of 18 nodes"));
  CHECK_THAT(notes("{spares: 19, replaces: rack}").front(),
             Catch::Contains("1 spare node has no effect"));
  CHECK(notes("{spares: 36, replaces: rack}").empty());
  CHECK(notes("{spares: 1 rack, replaces: rack}").empty());
  CHECK(notes("{spares: 17}").empty());
  CHECK(notes("{spares: 0, replaces: rack}").empty());
}

TEST_CASE("a number of tokens is converted to seconds of training") {
  const Setting setting = setting_of("{}", 1e9);
  CHECK(setting.target == Approx(1000 * 10));
  CHECK(setting.duration == goodput::never);
}

TEST_CASE("a copy to the hosts takes the part of a GPU divided by the copy rate") {
  const Setting setting = setting_of("{checkpoint: {mode: async, copy: 10 GB/s}}");
  CHECK(goodput::stall(setting) == Approx(5e12 / 16384 / 10e9));
}

TEST_CASE("checkpoints of models have their published sizes") {
  // Sizes are from NVIDIA/dgxc-benchmarking, llama3.1/README.md and nemotron/README.md, which write
  // GB for GiB.
  const auto [model, gib] = GENERATE(table<std::string, double>({{"llama-3-8b", 105},
                                                                 {"llama-3-70b", 920},
                                                                 {"llama-3-405b", 5200},
                                                                 {"nemotron-4-15b", 204}}));
  const std::string text =
      "{model: " + model + ", gpu: h100-sxm, devices: 2, microbatches: 2, engine: timing}";
  const goodput::Iteration simulated =
      goodput::simulate_iteration(config::read_scenario(config::read_yaml_text(text, "")));
  CHECK(simulated.state_bytes / 0x1.0p+30 == Approx(gib).epsilon(0.02));
}

TEST_CASE("errors in the map have a key, a fault and the allowed values") {
  const auto starts = [](const std::string& map, const std::string& words) {
    std::string message;
    try {
      setting_of(map);
    } catch (const config::Error& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find(words) != std::string::npos);
  };
  starts("{failures: llama-9}",
         "allowed: {kind: node, rate: 6.5}, a list of them, rsc-1, rsc-2 or");
  starts("{failures: {kind: disk, rate: 1}}", "goodput.failures.kind");
  starts("{failures: {kind: node}}", "rate");
  starts("{checkpoint: {interval: 0}}", "a time above 0 such as 20 min, or auto");
  starts("{checkpoint: {network: 1 GB/s, traffic: 2 GB/s}}", "of the network that it shares");
  starts("{spares: many}", "goodput.spares");
  starts("{spares: -1}",
         "allowed: a whole number from 0 to 2147483648, such as 4, 2 racks, or rest");
  starts("{failures: {rate: 1, nodes: -1}}", "allowed: a whole number from 0 to");
}
