#include "sim/cluster/make/message_costs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/cluster/make/pair_links.hpp"

namespace pipewright::cluster {
namespace {

// Message costs of GPUs with one NVLink generation. Latencies and efficiencies of LL and LL128 are
// fractions of those of the links.
struct Costs {
  std::uint32_t generation;
  double launch;  // seconds, like the next three
  double simple_launch;
  double ll128_launch;
  double message;
  double ring_ends;  // steps
  double direct_ends;
  double ll_latency;
  double ll_efficiency;
  double ll128_latency;
  double ll128_efficiency;
  double sharp_latency;  // seconds, like the next one
  double sharp_gpu_latency;
};
bool is_amd(const NodeKind& kind) { return kind.link_class == "xgmi"; }

// Costs that are assumed without measurements: for V100, links other than NVLink, and PCIe.
constexpr Costs unmeasured{.generation = 0,
                           .launch = 10e-6,
                           .simple_launch = 0,
                           .ll128_launch = 7e-6,
                           .message = 0.5e-6,
                           .ring_ends = 0.33,
                           .direct_ends = 0.5,
                           .ll_latency = 0.18,
                           .ll_efficiency = 0.38,
                           .ll128_latency = 0.56,
                           .ll128_efficiency = 0.92,
                           .sharp_latency = 11e-6,
                           .sharp_gpu_latency = 5.5e-6};
// xGMI of MI300X and later: the steps of RCCL's model for trees by LL (0.9 us of 3.4).
constexpr Costs xgmi = [] {
  Costs costs = unmeasured;
  costs.ll_latency = 0.26;
  return costs;
}();
constexpr std::array measured{Costs{.generation = 3,
                                    .launch = 9.6e-6,
                                    .simple_launch = 18e-6,
                                    .ll128_launch = 6.7e-6,
                                    .message = 0.5e-6,
                                    .ring_ends = 0.5,
                                    .direct_ends = 0.5,
                                    .ll_latency = 0.25,
                                    .ll_efficiency = 0.46,
                                    .ll128_latency = 0.56,
                                    .ll128_efficiency = 0.8,
                                    .sharp_latency = 0,
                                    .sharp_gpu_latency = 0},
                              Costs{.generation = 4,
                                    .launch = 5e-6,
                                    .simple_launch = 3e-6,
                                    .ll128_launch = 5e-6,
                                    .message = 0.5e-6,
                                    .ring_ends = 0.48,
                                    .direct_ends = 0.35,
                                    .ll_latency = 0.24,
                                    .ll_efficiency = 0.44,
                                    .ll128_latency = 0.56,
                                    .ll128_efficiency = 0.92,
                                    .sharp_latency = 11e-6,
                                    .sharp_gpu_latency = 5.5e-6},
                              Costs{.generation = 5,
                                    .launch = 8.2e-6,
                                    .simple_launch = 3.8e-6,
                                    .ll128_launch = 5e-6,
                                    .message = 0.3e-6,
                                    .ring_ends = 0.55,
                                    .direct_ends = 0.5,
                                    .ll_latency = 0.38,
                                    .ll_efficiency = 0.45,
                                    .ll128_latency = 0.56,
                                    .ll128_efficiency = 0.75,
                                    .sharp_latency = 21e-6,
                                    .sharp_gpu_latency = 5.75e-6}};

const Costs& costs_of(const NodeKind& kind) {
  if (is_amd(kind)) return xgmi;
  const auto* const it = std::ranges::find(measured, kind.nvlink, &Costs::generation);
  return it == measured.end() ? unmeasured : *it;
}

// Default version of NCCL for choosing algorithms and protocols; PyTorch 2.8 to 2.10 ship it.
constexpr std::string_view default_nccl = "2.27";

struct Links {
  std::uint32_t generation = 0;
  const Costs* costs = nullptr;
  double sharp = 0;
};

double smallest(const PlatformRequest& request, double NodeKind::*member) {
  double number = std::numeric_limits<double>::infinity();
  for (const NodeGroup& group : request.nodes) number = std::min(number, group.kind->*member);
  return number;
}
double largest(const PlatformRequest& request, double NodeKind::*member) {
  double number = 0;
  for (const NodeGroup& group : request.nodes) number = std::max(number, group.kind->*member);
  return number;
}

// Seconds that the host needs to post a message to the network (NCCL's getNetOverhead).
double longest_post(const PlatformRequest& request) {
  const bool has_amd_host = std::ranges::any_of(request.nodes, [](const NodeGroup& group) {
    return group.kind->host.type.starts_with("AMD");
  });
  return has_amd_host ? 2e-6 : 1e-6;
}

// Fraction of a NIC's bandwidth that payload reaches by LL: half of it is flags, and the host's
// thread that checks the flags passes 5 GB/s (NCCL's llMaxBws: 39 GB/s over the eight NICs of a
// node with an Intel CPU).
double ll_efficiency(const PlatformRequest& request) {
  constexpr double max_ll_rate = 5e9;  // bytes/s
  return std::min(0.5, max_ll_rate / largest(request, &NodeKind::nic_bandwidth));
}

double longest(const PlatformRequest& request, double Costs::*member) {
  double longest_time = 0;
  for (const NodeGroup& group : request.nodes)
    longest_time = std::max(longest_time, costs_of(*group.kind).*member);
  return longest_time;
}

}  // namespace

std::string_view message_source() {
  return "Protocols LL and LL128 over the network: a step takes 0.25 and 0.55 of Simple's (with "
         "AMD's\n"
         "GPUs by LL 0.375: RCCL's model), fitted to public tables of nccl-tests between two "
         "nodes.\n"
         "LL passes 5 GB/s of a NIC, or half of a slower one (NCCL's tuning.cc, llMaxBws: 39 GB/s "
         "of\n"
         "eight NICs). A message of a ring takes 1 us to post, and 2 with AMD's CPUs (tuning.cc,\n"
         "getNetOverhead). PCIe: parts of latency and bandwidth as in NCCL's model (1, 2.5 and 5.7 "
         "us).\n"
         "Of NVLinks of A100, H100 and Blackwell what an operation takes to begin (launch;\n"
         "simple-launch, ll128-launch more), steps and bytes by LL, the copies at the ends of "
         "rings,\n"
         "the gap between messages and sums in switches: fitted to every other size of nccl-tests "
         "in\n"
         "one NVLink domain (github.com/ai-dynamo/aiconfigurator; docs/accuracy.md says how well "
         "the\n"
         "others are met). A GPU's copy of its own part: public tables of 4 H100 and 4 GB300. "
         "Without\n"
         "NVLink, and of V100: steps as in NCCL's model, and launches of public logs of "
         "nccl-tests.\n"
         "Further messages to other nodes: 2.5 us each (all-to-all of 8 B over 16 A100, 60 us), 9 "
         "over\n"
         "EFA (all-to-all of 2 KiB over 16 GPUs, 107 us).";
}

double launch_of(const NodeKind& kind) {
  return kind.launch > 0 ? kind.launch : costs_of(kind).launch;
}

void write_message_costs(XmlText& xml, const PlatformRequest& request) {
  std::map<std::string, Links> classes;
  bool has_pcie = false;
  double launch = 0;
  for (const NodeGroup& group : request.nodes) {
    const NodeKind& kind = *group.kind;
    using Wiring = NodeKind::Wiring;
    launch = std::max(launch, launch_of(kind));
    has_pcie = has_pcie || kind.wiring == Wiring::pcie || has_pcie_pairs(kind);
    if (kind.wiring == Wiring::pcie) continue;
    const Links links{kind.nvlink, &costs_of(kind), kind.sharp};
    const auto [entry, is_new] = classes.try_emplace(link_class(kind, request.nodes), links);
    entry->second.sharp = std::min(entry->second.sharp, kind.sharp);
  }
  const auto write = [&](std::string_view name, const auto& value) {
    xml.line("<prop id=\"{}\" value=\"{}\"/>", name, value);
  };
  const bool has_nvlink =
      std::ranges::any_of(classes, [](const auto& entry) { return entry.second.generation > 0; });
  if (has_nvlink) write("collective.nccl", default_nccl);
  write("collective.launch", latency_text(launch));
  if (const double extra_latency = longest(request, &Costs::simple_launch); extra_latency > 0)
    write("collective.simple-launch", latency_text(extra_latency));
  write("collective.ll128-launch", latency_text(longest(request, &Costs::ll128_launch)));
  write("collective.post", latency_text(longest_post(request)));
  write("collective.message", latency_text(largest(request, &NodeKind::nic_message)));
  write("collective.ring-ends", longest(request, &Costs::ring_ends));
  write("collective.direct-ends", longest(request, &Costs::direct_ends));
  for (const auto& [name, links] : classes) {
    const Costs& costs = *links.costs;
    if (links.generation > 0) write(name + ".generation", links.generation);
    write(name + ".message", latency_text(costs.message));
    write(name + ".ll-latency", costs.ll_latency);
    write(name + ".ll-efficiency", costs.ll_efficiency);
    write(name + ".ll128-latency", costs.ll128_latency);
    write(name + ".ll128-efficiency", costs.ll128_efficiency);
    if (links.sharp == 0) continue;
    write(name + ".sharp-latency", latency_text(costs.sharp_latency));
    write(name + ".sharp-gpu-latency", latency_text(costs.sharp_gpu_latency));
    write(name + ".sharp-efficiency", links.sharp);
  }
  if (has_pcie) {
    write("pcie.ll-latency", "0.18");
    write("pcie.ll-efficiency", "0.38");
  }
  const bool has_amd = std::ranges::any_of(
      request.nodes, [](const NodeGroup& group) { return is_amd(*group.kind); });
  write("nic.ll-latency", has_amd ? "0.375" : "0.25");
  write("nic.ll-efficiency", fmt::format("{:.2g}", ll_efficiency(request)));
  if (const double direct = smallest(request, &NodeKind::nic_direct); direct < 1)
    write("nic.direct-efficiency", direct);
  // NCCL uses LL128 over a network if NVLink leads to the NICs.
  if (classes.empty()) return;
  write("nic.ll128-latency", "0.55");
  write("nic.ll128-efficiency", smallest(request, &NodeKind::nic_ll128));
}

}  // namespace pipewright::cluster
