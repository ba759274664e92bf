#include "sim/cluster/make/node_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cluster {
namespace {

using config::Field;
using config::Key;
using config::ValueType;

constexpr config::Document node_document{"a node", "gpu, link_bandwidth and nic_bandwidth",
                                         "gpu: h100-sxm"};
constexpr std::array<std::string_view, 6> wiring_names{"nvswitch",  "mesh", "cube_mesh",
                                                       "twin_mesh", "pcie", "pairs"};

// Default latencies of half a ring step, in seconds; latency_source() says where they are from.
constexpr double nvlink_latency = 1.7e-6;
constexpr double pcie_latency = 2.85e-6;
constexpr double nic_latency = 14.3e-6;

constexpr std::uint32_t max_node_gpus = 4096;  // in one node

double read_bandwidth(const Field& field) {
  return config::parse_bandwidth(config::read_text(field, "a bandwidth such as 370 GB/s"),
                                 subject(field), "bandwidth of a link in one direction");
}
double read_speed(const Field& field) {
  return config::parse_flops(config::read_text(field, "a rate such as 989 TFLOP/s"), subject(field),
                             "a GPU's speed");
}
double read_seconds(const Field& field) {
  return config::parse_kernel_time(config::read_text(field, "a time such as 1.7 us"),
                                   subject(field), "a latency");
}
std::string read_memory(const Field& field) {
  std::string text = config::read_text(field, "a size such as 80 GiB");
  config::parse_memory(text, subject(field), "a GPU's memory");
  std::erase(text, ' ');
  return text;
}
// Reads a link class, which is part of the names of links.
std::string read_link_class(const Field& field) {
  constexpr std::string_view allowed = "letters, digits and hyphens, such as xgmi";
  const std::string& text = config::read_text(field, allowed);
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  if (!std::ranges::all_of(text, is_plain)) throw config::wrong(field, allowed);
  return text;
}
std::vector<std::string> read_sources(const Field& field) {
  std::vector<std::string> sources;
  for (const Field& item : config::items(field, "texts that say where numbers come from")) {
    std::string text = config::read_text(item, "a text that says where numbers come from");
    while (text.ends_with('\n')) text.pop_back();
    sources.push_back(std::move(text));
  }
  return sources;
}

// Reads two GPUs that links join, and the number of links: "0-1" or "0-1 x4".
PairLinks read_pair(const Field& field) {
  constexpr std::string_view allowed = "two GPUs and a number of links, such as 0-1 or 0-1 x4";
  const std::string& text = config::read_text(field, allowed);
  const std::size_t hyphen = text.find('-');
  const std::size_t times = text.find(" x");
  if (hyphen == std::string::npos) throw config::wrong(field, allowed);
  const std::string_view whole(text);
  const auto a = base::parse_number<std::uint32_t>(whole.substr(0, hyphen));
  const auto b = base::parse_number<std::uint32_t>(
      whole.substr(hyphen + 1, times == std::string::npos ? times : times - hyphen - 1));
  const auto links = times == std::string::npos ? std::optional<int>(1)
                                                : base::parse_number<int>(whole.substr(times + 2));
  constexpr int max_links = 64;
  if (!a || !b || !links || *a == *b || *links < 1 || *links > max_links)
    throw config::wrong(field, allowed);
  return {std::min(*a, *b), std::max(*a, *b), *links};
}
std::vector<PairLinks> read_pairs(const Field& field) {
  std::vector<PairLinks> pairs;
  for (const Field& item : config::items(field, "pairs of GPUs, such as [0-1, 2-3]"))
    pairs.push_back(read_pair(item));
  return pairs;
}
std::vector<std::uint32_t> read_places(const Field& field) {
  constexpr std::string_view allowed = "numbers of GPUs, such as [0, 1, 4, 5, 6, 7, 2, 3]";
  std::vector<std::uint32_t> places;
  for (const Field& item : config::items(field, allowed)) {
    const auto place = base::parse_number<std::uint32_t>(config::read_text(item, allowed));
    if (!place) throw config::wrong(item, allowed);
    places.push_back(*place);
  }
  return places;
}

template <auto member>
constexpr auto bandwidth = config::into<member, read_bandwidth>({ValueType::rate});
template <auto member>
constexpr auto seconds = config::into<member, read_seconds>({ValueType::time});

constexpr std::array host_table{
    Key<NodeHost>{{.name = "type", .help = "processors of the host"},
                  config::text<&NodeHost::type, "the name of a processor">},
    Key<NodeHost>{{.name = "launch_factor",
                   .help = "factor of the host times of a software stack",
                   .default_value = "1"},
                  config::within<&NodeHost::launch_factor, "a factor",
                                 "a factor above 0 and at most 100, such as 1.3", 0, 100>},
    Key<NodeHost>{{.name = "memory_bandwidth",
                   .help = "bandwidth of the node's host memory, which its GPUs share, as all "
                           "cores reach it"},
                  bandwidth<&NodeHost::memory_bandwidth>},
    Key<NodeHost>{{.name = "core_bandwidth",
                   .help = "bandwidth of host memory that a core reaches",
                   .default_value = "20 GB/s"},
                  bandwidth<&NodeHost::core_bandwidth>},
    Key<NodeHost>{{.name = "gpus",
                   .help = "GPUs of a host if a node has several hosts, as a rack has trays; "
                           "without the key, all GPUs of the node"},
                  config::count<&NodeHost::gpus>},
};

constexpr std::array table{
    Key<NodeKind>{{.name = "help", .help = "description of the node in one line"},
                  config::text<&NodeKind::help, "a line of text">},
    Key<NodeKind>{{.name = "sources", .help = "sources of the numbers, a list of texts"},
                  config::into<&NodeKind::sources, read_sources>({ValueType::text, true})},
    Key<NodeKind>{
        {.name = "gpu", .help = "GPU type: the name of a file in platforms/gpus", .required = true},
        config::text<&NodeKind::gpu, "the name of a GPU">},
    Key<NodeKind>{{.name = "gpus",
                   .help = "number of GPUs of a node, that is, of an NVLink domain",
                   .default_value = "8"},
                  config::count<&NodeKind::gpus>},
    Key<NodeKind>{
        {.name = "speed", .help = "dense bf16 FLOP/s of a GPU; default: from the GPU file"},
        config::into<&NodeKind::speed, read_speed>({ValueType::rate})},
    Key<NodeKind>{{.name = "memory", .help = "memory of a GPU; default: from the GPU file"},
                  config::into<&NodeKind::memory, read_memory>({ValueType::size})},
    Key<NodeKind>{
        {.name = "wiring", .help = "wiring between the GPUs", .default_value = "nvswitch"},
        config::choice<&NodeKind::wiring, wiring_names>},
    Key<NodeKind>{{.name = "nvlink", .help = "NVLink generation, if there are NVLinks"},
                  config::count<&NodeKind::nvlink, "4">},
    Key<NodeKind>{{.name = "link_class",
                   .help = "class of the links between GPUs, such as xgmi",
                   .default_value = "nvlink"},
                  config::into<&NodeKind::link_class, read_link_class>({ValueType::text})},
    Key<NodeKind>{
        {.name = "link_bandwidth",
         .help = "bandwidth of a GPU's link (in a mesh: of each pair's link), in one direction",
         .required = true},
        bandwidth<&NodeKind::link_bandwidth>},
    Key<NodeKind>{{.name = "link_latency",
                   .help = "latency of a GPU's link: half of a ring step, which crosses the links "
                           "of two GPUs",
                   .default_value = "1.7 us"},
                  seconds<&NodeKind::link_latency>},
    Key<NodeKind>{{.name = "pairs",
                   .help = "wiring pairs: GPUs that links join, and how many: [0-1 x2, 2-3]"},
                  config::into<&NodeKind::pairs, read_pairs>({ValueType::text, true})},
    Key<NodeKind>{{.name = "relay",
                   .help = "wiring pairs: GPUs without a common link communicate over the links of "
                           "GPUs between them, as with xGMI",
                   .default_value = "false"},
                  config::flag<&NodeKind::relay>},
    Key<NodeKind>{{.name = "pcie_bandwidth",
                   .help = "wiring cube_mesh and pairs: bandwidth of a GPU's PCIe link in one "
                           "direction, for GPUs that no links join",
                   .default_value = "10 GB/s"},
                  bandwidth<&NodeKind::pcie_bandwidth>},
    Key<NodeKind>{
        {.name = "places",
         .help = "wiring cube_mesh and twin_mesh: place of each GPU in the wiring, if the "
                 "GPUs are numbered otherwise"},
        config::into<&NodeKind::places, read_places>({ValueType::count, true})},
    Key<NodeKind>{{.name = "nics", .help = "number of NICs per node; default: one per GPU"},
                  config::count<&NodeKind::nics>},
    Key<NodeKind>{
        {.name = "nic_bandwidth", .help = "bandwidth of a NIC in one direction", .required = true},
        bandwidth<&NodeKind::nic_bandwidth>},
    Key<NodeKind>{{.name = "nic_latency",
                   .help = "latency of a NIC's link: half of a ring step between nodes, which "
                           "crosses the links of two NICs",
                   .default_value = "14.3 us"},
                  seconds<&NodeKind::nic_latency>},
    Key<NodeKind>{{.name = "nic_ll128_efficiency",
                   .help = "fraction of a NIC's bandwidth that NCCL's protocol LL128 reaches",
                   .default_value = "0.92"},
                  config::part<&NodeKind::nic_ll128, "a part of the NIC's bandwidth">},
    Key<NodeKind>{{.name = "nic_direct_efficiency",
                   .help = "fraction of a NIC's bandwidth that remains if many ranks exchange "
                           "messages directly, as in an all-to-all",
                   .default_value = "1"},
                  config::part<&NodeKind::nic_direct, "a part of the NIC's bandwidth">},
    Key<NodeKind>{{.name = "nic_message",
                   .help = "gap between successive messages of a GPU to other nodes, as in an "
                           "all-to-all",
                   .default_value = "2.5 us"},
                  seconds<&NodeKind::nic_message>},
    Key<NodeKind>{
        {.name = "launch", .help = "launch latency of a collective", .default_value = "10 us"},
        seconds<&NodeKind::launch>},
    Key<NodeKind>{
        {.name = "sharp_efficiency",
         .help = "fraction of the links' bandwidth that reductions in switches reach, if they are "
                 "supported"},
        config::part<&NodeKind::sharp, "a part of the links' bandwidth">},
    Key<NodeKind>{{.name = "host", .help = "host of the GPUs, which launches their kernels"},
                  config::map_of<&NodeKind::host, host_table>},
};

config::Error key_error(const config::Value& tree, std::string_view key,
                        const std::string& message) {
  return config::Error(config::origin_of(tree, key), message);
}

// Checks the keys that describe a wiring in detail. Throws config::Error.
void check_wiring(const config::Value& tree, const NodeKind& kind) {
  using Wiring = NodeKind::Wiring;
  const bool is_fixed = kind.wiring == Wiring::cube_mesh || kind.wiring == Wiring::twin_mesh;
  const bool has_pairs = kind.wiring == Wiring::pairs;
  if (is_fixed && kind.gpus != 8)
    throw key_error(tree, "gpus", fmt::format("gpus is {}", kind.gpus))
        .allow(fmt::format("8 for {}", kind.wiring == Wiring::cube_mesh ? "cube_mesh (DGX-1)"
                                                                        : "twin_mesh (MI250X)"));
  if (has_pairs == kind.pairs.empty())
    throw key_error(tree, has_pairs ? "wiring" : "pairs",
                    has_pairs ? "wiring is pairs, but the key pairs is missing"
                              : "pairs is given, but wiring is not pairs")
        .suggest(has_pairs ? "list the GPUs that links join, such as pairs: [0-1, 2-3]"
                           : "add wiring: pairs");
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const PairLinks& pair : kind.pairs)
    if (pair.b >= kind.gpus || !seen.insert({pair.a, pair.b}).second)
      throw key_error(
          tree, "pairs",
          fmt::format("pairs lists {}-{}{}", pair.a, pair.b, pair.b >= kind.gpus ? "" : " twice"))
          .allow(fmt::format("each pair of GPUs 0 to {} once", kind.gpus - 1));
  const std::set<std::uint32_t> distinct(kind.places.begin(), kind.places.end());
  const bool is_permutation = kind.places.size() == kind.gpus && distinct.size() == kind.gpus &&
                              *distinct.rbegin() + 1 == kind.gpus;
  if (!kind.places.empty() && (!is_fixed || !is_permutation))
    throw key_error(tree, "places",
                    is_fixed ? fmt::format("places is no order of {} GPUs", kind.gpus)
                             : "places is given, but wiring is neither cube_mesh nor twin_mesh")
        .allow("each place from 0 to 7 once, such as [0, 1, 4, 5, 6, 7, 2, 3]");
}

// Checks that the NICs can be divided among the GPUs. GPUs on PCIe share all NICs. Throws
// config::Error with the NICs that have the same bandwidth together.
void check_nics(const config::Value& tree, const NodeKind& kind) {
  if (kind.wiring == NodeKind::Wiring::pcie) return;
  if (kind.nics > kind.gpus)
    throw key_error(tree, "nics", fmt::format("nics is {} for {} GPUs", kind.nics, kind.gpus))
        .allow("at most one per GPU, with the combined bandwidth of its ports");
  if (kind.nics == 0 || kind.gpus % kind.nics == 0) return;
  const EvenNics even = even_nics(kind.gpus, kind.nics, kind.nic_bandwidth);
  throw key_error(
      tree, "nics",
      fmt::format("nics is {}, which {} GPUs cannot share evenly", kind.nics, kind.gpus))
      .suggest(fmt::format("use {} with the same bandwidth together: --nics {} --nic '{:.6g} GB/s'",
                           even.nics, even.nics, even.bandwidth / 1e9));
}

}  // namespace

EvenNics even_nics(std::uint32_t gpus, std::uint32_t nics, double bandwidth) {
  std::uint32_t even = std::min(gpus, nics);
  while (gpus % even != 0) --even;
  return {even, bandwidth * nics / even};
}

std::vector<config::KeyRow> node_kind_keys() { return config::rows_of(table); }

config::Value node_kind_tree(const std::string& name_or_path) {
  const config::Value text = config::make_text(name_or_path, {"--node"});
  return config::library_map({text, "the kind"}, "nodes", node_document);
}

NodeKind read_node_kind(const config::Value& tree, const std::string& name) {
  NodeKind kind = config::read_map<table>({tree, ""});
  using Wiring = NodeKind::Wiring;
  kind.name = name;
  const bool has_gpu_file = kind.speed == 0 || kind.memory.empty();
  if (has_gpu_file) {
    const config::Gpu gpu = config::read_gpu({*find(tree, "gpu"), "gpu"});
    if (kind.speed == 0) kind.speed = gpu.flops;
    if (kind.memory.empty())
      kind.memory = fmt::format("{:.10g}GiB", static_cast<double>(gpu.memory) / 0x1p30);
  }
  if (find(tree, "nics") == nullptr) kind.nics = kind.gpus;
  const bool pcie = kind.wiring == Wiring::pcie;
  if (kind.link_class.empty()) kind.link_class = pcie ? "pcie" : "nvlink";
  if (kind.link_latency == 0) kind.link_latency = pcie ? pcie_latency : nvlink_latency;
  if (kind.nic_latency == 0) kind.nic_latency = nic_latency;
  if (kind.help.empty()) kind.help = fmt::format("{} {}", kind.gpus, kind.gpu);
  if (kind.gpus > max_node_gpus)
    throw key_error(tree, "gpus", fmt::format("gpus is {}", kind.gpus))
        .allow(fmt::format("at most {}", max_node_gpus));
  if (kind.host.gpus > 0 && kind.gpus % kind.host.gpus != 0)
    throw key_error(tree, "host", fmt::format("host.gpus is {}", kind.host.gpus))
        .allow(fmt::format("a divisor of the node's {} GPUs", kind.gpus));
  check_wiring(tree, kind);
  check_nics(tree, kind);
  return kind;
}

const NodeKind& find_node_kind(const std::string& name) {
  static std::map<std::string, NodeKind> cache;
  const auto it = cache.find(name);
  if (it != cache.end()) return it->second;
  return cache.emplace(name, read_node_kind(node_kind_tree(name), name)).first->second;
}

std::vector<std::string> node_kind_names() { return config::library_names("nodes", ".yaml"); }

std::string_view latency_source() {
  return "Latency: a step of a ring takes 3.4 us over NVLink and 5.7 over PCIe (NCCL,\n"
         "src/graph/tuning.cc, hwLat, ring, Simple). Over InfiniBand with two switches on the way\n"
         "it takes 29 us, twice the 14 us of NCCL's model, and over RoCE 30.4: what public tables\n"
         "of nccl-tests between two nodes show where the step is exposed (docs/accuracy.md). Half "
         "of\n"
         "it is at each end. A switch and its cable take 0.2 us of it (assumption).";
}

}  // namespace pipewright::cluster
