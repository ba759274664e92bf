#include "sim/evaluation/placing.hpp"

#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/evaluation/hardware.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using config::test::error_of;

namespace {

// A cluster of GB200 NVL72 racks, or of nodes with eight H100s.
struct Racks {
  config::test::Folder folder;
  std::string file;

  explicit Racks(std::uint32_t count, const char* node = "gb200-nvl72")
      : file(folder.write(
            "racks.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind(node), count}},
                                                 .fabric = "leaf-spine"}))) {}

  config::Scenario scenario(const std::string& parallel, const std::string& more = "") const {
    return config::read_scenario(config::read_yaml_text(
        fmt::format("{{cluster: {}, model: mixtral-8x7b, microbatches: 8, parallel: {{{}}}, "
                    "training: {{sequence: 512}}{}}}",
                    file, parallel, more),
        "t.yaml"));
  }
};

// Counts the GPUs of the job in each NVLink domain, in the order in which ranks enter the domains.
std::vector<std::size_t> domain_counts(const evaluation::Hardware& hardware) {
  std::vector<std::size_t> counts;
  std::uint32_t last = ~0U;
  for (const cluster::Host* host : hardware.hosts) {
    const std::uint32_t domain = hardware.cluster.node_of(host);
    if (domain != last) counts.push_back(0);
    last = domain;
    ++counts.back();
  }
  return counts;
}

using Counts = std::vector<std::size_t>;

}  // namespace

TEST_CASE("racks of 72 are used by 64 where that keeps groups of 32 or 64 whole", "[placement]") {
  const Racks racks(3);
  evaluation::Hardware hardware =
      evaluation::open_hardware(racks.scenario("ep: 8, etp: 4, tp: 4, sp: true, dp: 32"));
  CHECK(domain_counts(hardware) == Counts{64, 64});
  CHECK(cluster::name_of(hardware.hosts[64]) == "node-1-gpu-0");
  const auto place = [&](const std::string& parallel, const std::string& more = "") {
    hardware = evaluation::place_on(hardware.cluster, racks.scenario(parallel, more));
    return domain_counts(hardware);
  };
  const auto note = [&] {
    return evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).note();
  };
  // The groups have 4 and 8 ranks, or 12 ranks of cp x tp. These sizes divide 72, so groups fill
  // whole domains.
  CHECK(place("ep: 8, etp: 1, dp: 136") == Counts{72, 64});
  CHECK(place("tp: 4, sp: true, cp: 3, etp: 1, dp: 12, ep: 4", "") == Counts{72, 72});
  CHECK(note().empty());
  // Groups of 16 ranks (tp x cp) fit four times into a domain of 72. With 208 ranks this would need
  // more than three domains, so only groups of tp stay whole.
  CHECK(place("tp: 2, sp: true, cp: 8, dp: 12") == Counts{64, 64, 64});
  CHECK(note().empty());
  CHECK(place("tp: 2, sp: true, cp: 8, dp: 13") == Counts{72, 72, 64});
  CHECK_THAT(note(), Contains("groups of cp (8 ranks) straddle"));
}

TEST_CASE("the number of GPUs of each domain can be set", "[placement]") {
  const Racks racks(3);
  evaluation::Hardware hardware =
      evaluation::open_hardware(racks.scenario("ep: 8, dp: 64", ", placement: {domain: 32}"));
  CHECK(domain_counts(hardware) == Counts{32, 32});
  const auto place = [&](const std::string& parallel, const std::string& more) {
    hardware = evaluation::place_on(hardware.cluster, racks.scenario(parallel, more));
    return domain_counts(hardware);
  };
  const std::string folded = "ep: 8, etp: 4, tp: 4, sp: true, dp: ";
  CHECK(place(folded + "32", ", placement: {domain: 72}") == Counts{72, 56});
  const evaluation::Straddling result =
      evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster);
  CHECK(result.groups == "ep (8 ranks)");
  CHECK(result.note() ==
        "groups of ep (8 ranks) straddle NVLink domains; placement.domain=64 (GPUs "
        "used per domain) keeps them whole");
  // Hosts that the scenario names are used in that order, whatever their domains.
  CHECK(place("dp: 2", ", placement: [node-2-gpu-0, node-0-gpu-7]") == Counts{1, 1});

  const auto fault = [&](const std::string& parallel, const std::string& more) {
    return error_of([&] { place(parallel, more); });
  };
  CHECK_THAT(fault("dp: 2", ", placement: {domain: 96}"),
             Contains("t.yaml:1:") &&
                 Contains("placement.domain is 96, but the largest NVLink "
                          "domain of") &&
                 Contains("has 72 GPUs; allowed: 1 to 72"));
  CHECK_THAT(fault("dp: 100", ", placement: {domain: 32}"),
             Contains("placement.domain is 32: 3 NVLink domains of") &&
                 Contains("then offer 96 GPUs, but the job takes 100; allowed: 34 to 72"));
  CHECK_THAT(fault("dp: 300", ", placement: {domain: 32}"),
             Contains("allowed: a job of fewer GPUs, or a larger cluster"));
}

TEST_CASE("groups of tp stay whole if GPUs are too few for all groups", "[placement]") {
  const Racks racks(2);
  // Keeping groups of 16 ranks whole would leave room for only 128 of 144 ranks. Groups of tp have
  // 4 ranks, which divides 72.
  const evaluation::Hardware hardware =
      evaluation::open_hardware(racks.scenario("ep: 4, etp: 4, tp: 4, sp: true, dp: 36"));
  CHECK(domain_counts(hardware) == Counts{72, 72});
  CHECK(evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).note() ==
        "groups of ep (4 ranks) straddle NVLink domains; no number of GPUs per "
        "domain keeps them whole and leaves enough for 144 ranks in 2 domains of 72 GPUs; use more "
        "domains, or fewer replicas");
}

TEST_CASE("nodes of eight are used in order", "[placement]") {
  const Racks nodes(4, "dgx-h100");
  evaluation::Hardware hardware =
      evaluation::open_hardware(nodes.scenario("tp: 8, sp: true, ep: 4, dp: 4"));
  CHECK(domain_counts(hardware) == Counts{8, 8, 8, 8});
  // Groups that are larger than a domain straddle in any case and are not reported.
  CHECK(evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).groups.empty());
}

TEST_CASE("devices with their own tp keep it within a domain", "[placement]") {
  const Racks nodes(4, "dgx-h100");
  evaluation::Hardware hardware =
      evaluation::open_hardware(nodes.scenario("tp_by_device: [4, 8, 4], sp: true"));
  // Devices 0 and 2 with 4 GPUs each share a node, and device 1 has a node of its own.
  CHECK(domain_counts(hardware) == Counts{4, 8, 4});
  CHECK(cluster::name_of(hardware.hosts[0]) == "node-0-gpu-0");
  CHECK(cluster::name_of(hardware.hosts[4]) == "node-1-gpu-0");
  CHECK(cluster::name_of(hardware.hosts[12]) == "node-0-gpu-4");
  const auto place = [&](const std::string& parallel, const std::string& more = "") {
    hardware = evaluation::place_on(hardware.cluster, nodes.scenario(parallel, more));
    return domain_counts(hardware);
  };
  CHECK(place("tp_by_device: [2, 8], dp: 2, sp: true") == Counts{4, 8, 8});
  CHECK(place("tp_by_device: [4, 2], dp: 2, sp: true", ", placement: {domain: 4}") ==
        Counts{4, 4, 4});
  CHECK(evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).groups.empty());
}

TEST_CASE("a search notes which groups of a layout straddle domains", "[placement]") {
  const Racks racks(3);
  const auto tree = [&](const std::string& more) {
    return racks
        .scenario("ep: 8, etp: 4, tp: 4, sp: true, dp: 32, zero: 1",
                  ", symmetric: true, gpu: h100-sxm" + more)
        .tree;
  };
  const config::Scenario scenario = racks.scenario("dp: 1");
  evaluation::Evaluator evaluator(scenario, 1ULL << 50);
  const auto by_72 = evaluator.simulate(tree(", placement: {domain: 72}"));
  const auto by_default = evaluator.simulate(tree(""));
  const auto by_64 = evaluator.simulate(tree(", placement: {domain: 64}"));
  CHECK_THAT(by_72.note, Contains("placement.domain=64"));
  CHECK(by_default.note.empty());
  CHECK(by_64.time_s == Approx(by_default.time_s));
  CHECK(by_64.time_s < by_72.time_s);
}

TEST_CASE("layouts that distribute heads differently have different times", "[placement]") {
  const Racks racks(1);
  evaluation::Evaluator evaluator(racks.scenario("dp: 1"), 1ULL << 50);
  const auto seconds = [&](const char* sizes, const char* more = "") {
    return evaluator
        .simulate(racks
                      .scenario(fmt::format("cp: 4, cp_comm_type: a2a+p2p, "
                                            "hierarchical_context_parallel_sizes: {}",
                                            sizes),
                                more)
                      .tree)
        .time_s;
  };
  const double all_heads = seconds("[4, 1]");
  const double both = seconds("[2, 2]");
  CHECK(both != all_heads);
  CHECK(both == Approx(seconds("[2, 2]", ", symmetric: true")));
}
