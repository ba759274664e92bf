#include "sim/cluster/make/node_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include <fmt/format.h>

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
constexpr std::array<std::string_view, 5> wiring_names{"nvswitch", "mesh", "cube_mesh", "twin_mesh",
                                                       "pcie"};

// What a file leaves out, in seconds: see latency_source().
constexpr double nvlink_latency = 1.7e-6;
constexpr double pcie_latency = 2.85e-6;
constexpr double nic_latency = 6.8e-6;

constexpr std::uint32_t most_gpus = 4096;  // that links without a network join

double read_bandwidth(const Field& field) {
  return config::parse_bandwidth(config::read_text(field, "a bandwidth such as 370 GB/s"),
                                 subject(field), "the bandwidth of a link each way");
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
// Part of the names of links.
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

template <auto member>
constexpr auto bandwidth = config::into<member, read_bandwidth>({ValueType::rate});
template <auto member>
constexpr auto seconds = config::into<member, read_seconds>({ValueType::time});

constexpr std::array table{
    Key<NodeKind>{{.name = "help", .help = "what it is, in a line"},
                  config::text<&NodeKind::help, "a line of text">},
    Key<NodeKind>{{.name = "sources", .help = "where its numbers come from, a list of texts"},
                  config::into<&NodeKind::sources, read_sources>({ValueType::text, true})},
    Key<NodeKind>{
        {.name = "gpu", .help = "type of its GPUs, as in platforms/gpus", .required = true},
        config::text<&NodeKind::gpu, "the name of a GPU">},
    Key<NodeKind>{{.name = "gpus", .help = "how many that links join", .default_value = "8"},
                  config::count<&NodeKind::gpus>},
    Key<NodeKind>{
        {.name = "speed", .help = "of a GPU, dense FLOP/s in bf16; else the GPU's file's"},
        config::into<&NodeKind::speed, read_speed>({ValueType::rate})},
    Key<NodeKind>{{.name = "memory", .help = "of a GPU; else the GPU's file's"},
                  config::into<&NodeKind::memory, read_memory>({ValueType::size})},
    Key<NodeKind>{{.name = "wiring", .help = "what joins its GPUs", .default_value = "nvswitch"},
                  config::choice<&NodeKind::wiring, wiring_names>},
    Key<NodeKind>{{.name = "nvlink", .help = "generation of its NVLinks, if it has them"},
                  config::count<&NodeKind::nvlink, "4">},
    Key<NodeKind>{{.name = "link_class",
                   .help = "what its links between GPUs are called, such as xgmi",
                   .default_value = "nvlink"},
                  config::into<&NodeKind::link_class, read_link_class>({ValueType::text})},
    Key<NodeKind>{{.name = "link_bandwidth",
                   .help = "of a GPU's link, or of each pair's in a mesh, one way",
                   .required = true},
                  bandwidth<&NodeKind::link_bandwidth>},
    Key<NodeKind>{{.name = "link_latency",
                   .help = "a ring's step over it, of which each end has half",
                   .default_value = "1.7 us"},
                  seconds<&NodeKind::link_latency>},
    Key<NodeKind>{{.name = "nics", .help = "of the node; as many as GPUs unless told"},
                  config::count<&NodeKind::nics>},
    Key<NodeKind>{{.name = "nic_bandwidth", .help = "of one of them, one way", .required = true},
                  bandwidth<&NodeKind::nic_bandwidth>},
    Key<NodeKind>{
        {.name = "nic_latency", .help = "as link_latency, of NICs", .default_value = "6.8 us"},
        seconds<&NodeKind::nic_latency>},
    Key<NodeKind>{{.name = "launch",
                   .help = "of a collective, before its first step",
                   .default_value = "10 us"},
                  seconds<&NodeKind::launch>},
    Key<NodeKind>{{.name = "sharp_efficiency",
                   .help = "part of the links' bandwidth that sums in switches reach, if they can"},
                  config::part<&NodeKind::sharp, "a part of the links' bandwidth">},
};

config::Error refused(const config::Value& tree, std::string_view key, const std::string& what) {
  return config::Error(config::origin_of(tree, key), what);
}

}  // namespace

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
  const bool is_fixed = kind.wiring == Wiring::cube_mesh || kind.wiring == Wiring::twin_mesh;
  if (is_fixed && kind.gpus != 8)
    throw refused(tree, "gpus",
                  fmt::format("gpus is {}; a {} has 8", kind.gpus,
                              kind.wiring == Wiring::cube_mesh ? "cube_mesh, as of DGX-1,"
                                                               : "twin_mesh, as of MI250X,"));
  if (kind.gpus > most_gpus)
    throw refused(tree, "gpus",
                  fmt::format("gpus is {}; allowed: as many as links join, at most {}", kind.gpus,
                              most_gpus));
  if (kind.nics > kind.gpus && kind.wiring != Wiring::pcie)
    throw refused(
        tree, "nics",
        fmt::format("nics is {}, more than its {} GPUs; allowed: one for each GPU at most, "
                    "of the bandwidth of all that it has",
                    kind.nics, kind.gpus));
  return kind;
}

const NodeKind& find_node_kind(const std::string& name) {
  static std::map<std::string, NodeKind> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, read_node_kind(node_kind_tree(name), name)).first->second;
}

std::vector<std::string> node_kind_names() { return config::library_names("nodes", ".yaml"); }

std::string_view latency_source() {
  return "Latency: a step of a ring takes 3.4 us over NVLink, 5.7 over PCIe and 14 over a network\n"
         "with two switches on the way (NCCL, src/graph/tuning.cc, hwLat, ring, Simple; quoted in\n"
         "github.com/NVIDIA/nccl, issue 1334); half of it at each end. A switch and its cable "
         "take\n"
         "0.2 us of it (assumption).";
}

}  // namespace pipewright::cluster
