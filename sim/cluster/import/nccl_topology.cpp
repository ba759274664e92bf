#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/base/numbers.hpp"
#include "sim/cluster/import/node_parts.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/text/value.hpp"

// Reads NCCL's topology XML (src/graph/xml.cc): either the dump of a node that NCCL_TOPO_DUMP_FILE
// writes, or the file for NCCL_TOPO_FILE that clouds provide, which has only the PCIe tree. AMD's
// RCCL writes <xgmi> in place of <nvlink>.
namespace pipewright::cluster {
namespace {

using pugi::xml_node;

bool has_tag(const xml_node& node, std::string_view tag) { return node.name() == tag; }

class NcclTopologyReader {
 public:
  explicit NcclTopologyReader(SourceText source)
      : file_(source.name, source.text), root_(file_.document().child("system")) {
    parts_.source = std::move(source);
  }

  NodeParts read() {
    if (!root_)
      parts_.source.fail(
          1,
          Error("has no <system>").suggest("run NCCL with NCCL_TOPO_DUMP_FILE=FILE to write one"));
    file_.for_each_element([&](const xml_node& node, int depth) {
      if (depth > max_depth) fail(node, "is nested deeper than any PCIe tree");
      if (has_tag(node, "gpu")) add_gpu(node.parent(), node);
      if (has_tag(node, "net")) add_nic(node);
    });
    if (parts_.gpus.empty()) add_by_class("0x03");
    if (parts_.nics.empty()) add_by_class("0x02");
    if (parts_.gpus.empty())
      fail(root_, Error("has no GPU: neither <gpu> nor a <pci> of class 0x0302..")
                      .suggest("run NCCL over all GPUs of a node with NCCL_TOPO_DUMP_FILE=FILE to "
                               "write a complete file"));
    find_links();
    find_near_gpus();
    return std::move(parts_);
  }

 private:
  static constexpr int max_depth = 64;

  [[noreturn]] void fail(const xml_node& node, const Error& error) const {
    parts_.source.fail(line_of(node), error);
  }
  int line_of(const xml_node& node) const { return file_.line_of(node.offset_debug()); }

  double number(const xml_node& node, const char* attribute) const {
    const std::string_view text = node.attribute(attribute).value();
    const std::optional<double> value = base::parse_number<double>(text);
    if (!value || !(*value >= 0) || *value > 1e9)
      fail(node,
           fmt::format("{}=\"{}\" of <{}> must be a number >= 0", attribute, text, node.name()));
    return *value;
  }
  int count(const xml_node& node, const char* attribute) const {
    const double value = number(node, attribute);
    if (value != static_cast<int>(value))
      fail(node, fmt::format("{}=\"{}\" of <{}> must be a whole number", attribute,
                             node.attribute(attribute).value(), node.name()));
    return static_cast<int>(value);
  }

  // Key of a PCI bus. It includes the host, because NCCL writes all hosts of an NVLink domain into
  // one file.
  static std::string bus_key(xml_node node, std::string_view bus) {
    while (node && !has_tag(node, "cpu")) node = node.parent();
    return fmt::format("{}/{}", node.attribute("host_hash").value(), bus);
  }

  void add_gpu(const xml_node& pci, const xml_node& gpu) {
    if (!has_tag(pci, "pci")) fail(gpu, "<gpu> is not inside a <pci>");
    const std::string bus = pci.attribute("busid").value();
    NodeParts::Gpu gpu_part{.name = bus, .line = line_of(gpu ? gpu : pci)};
    gpu_part.gcn = architecture_of(gpu);
    // RCCL's files, which have `gcn`, use `sm` for the number of compute units.
    if (gpu && gpu.attribute("sm"))
      (gpu_part.gcn.empty() ? gpu_part.sm : gpu_part.compute_units) = count(gpu, "sm");
    gpu_part.device = pci.attribute("device").value();
    if (!gpu_of_.emplace(bus_key(pci, bus), parts_.gpus.size()).second)
      fail(pci, fmt::format("two GPUs have the busid '{}'; was the file merged from several files?",
                            bus));
    note_pcie(pci);
    parts_.gpus.push_back(std::move(gpu_part));
    elements_.push_back(pci);
    gpu_elements_.push_back(gpu);
  }

  // Name of an AMD GPU's architecture: "gfx942". Older versions of RCCL write a number, "908" for
  // gfx908 and "910" for gfx90a. MI300 had the numbers 940 and 941 before it was gfx942.
  static std::string architecture_of(const xml_node& gpu) {
    std::string_view gcn = gpu.attribute("gcn").value();
    gcn = gcn.substr(0, gcn.find(':'));
    if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
    if (gcn.empty()) return "";
    return fmt::format("gfx{}", gcn == "910" ? "90a" : gcn == "940" || gcn == "941" ? "942" : gcn);
  }

  // Reads the PCIe rate: "16.0 GT/s PCIe" x 16 lanes, with 128b/130b encoding from 8 GT/s.
  void note_pcie(const xml_node& pci) {
    const double lane = std::strtod(pci.attribute("link_speed").value(), nullptr);
    const double width = std::strtod(pci.attribute("link_width").value(), nullptr);
    if (lane > 0 && lane <= 128 && width > 0 && width <= 32)
      parts_.pcie = lane * 1e9 * width / 8 * (lane < 8 ? 0.8 : 128.0 / 130.0);
  }

  // Reads the rate of a NIC, in Mb/s. A rate of 0 or -1 means that the driver does not know it.
  static void set_rate(const xml_node& net, NodeParts::Nic& nic_part) {
    const std::string_view text = net.attribute("speed").value();
    const std::optional<double> speed = base::parse_number<double>(text);
    if (text.empty() || speed == 0.0 || speed == -1.0) return;
    constexpr double max_rate = 400e9;
    const double rate = speed.value_or(-1) * 1e6 / 8;
    if (rate > 0 && rate <= max_rate)
      nic_part.rate = rate;
    else
      nic_part.bad_speed = text;
  }

  void add_nic(const xml_node& net) {
    NodeParts::Nic nic_part{.name = net.attribute("name").value(), .line = line_of(net)};
    set_rate(net, nic_part);
    const xml_node pci = net.parent().parent();
    if (has_tag(pci, "pci")) nic_part.card = bus_key(pci, pci.attribute("busid").value());
    nic_elements_.push_back(net);
    parts_.nics.push_back(std::move(nic_part));
  }

  // Adds GPUs or NICs by the PCI class of display and network controllers, for files without <gpu>
  // and <net>.
  void add_by_class(std::string_view begin) {
    file_.for_each_element([&](const xml_node& node, int /*depth*/) {
      if (!has_tag(node, "pci") ||
          !std::string_view(node.attribute("class").value()).starts_with(begin))
        return;
      if (begin == "0x03") return add_gpu(node, xml_node());
      parts_.nics.push_back({.name = node.attribute("busid").value(), .line = line_of(node)});
      nic_elements_.push_back(node);
    });
  }

  void find_links() {
    for (std::size_t i = 0; i < gpu_elements_.size(); ++i)
      for (const xml_node& link : gpu_elements_[i].children()) {
        if (!has_tag(link, "nvlink") && !has_tag(link, "xgmi")) continue;
        parts_.has_links = true;
        parts_.has_xgmi = parts_.has_xgmi || has_tag(link, "xgmi");
        const int links = count(link, "count");
        const auto peer = gpu_of_.find(bus_key(gpu_elements_[i], link.attribute("target").value()));
        NodeParts::Gpu& gpu = parts_.gpus[i];
        if (peer != gpu_of_.end()) {
          if (peer->second != i) gpu.links[peer->second] += links;
        } else if (std::string_view(link.attribute("tclass").value()).starts_with("0x0680")) {
          gpu.switch_links += links;
        } else {
          fail(link, Error(fmt::format("NVLinks lead to '{}', which is neither a GPU of this file "
                                       "nor a switch (tclass 0x068000)",
                                       link.attribute("target").value()))
                         .suggest("use a dump of a run over all GPUs of the node"));
        }
      }
    // A dump lists the links of every GPU, so a GPU without links has none; a static file lists no
    // links at all.
    const bool is_dump = std::any_of(gpu_elements_.begin(), gpu_elements_.end(),
                                     [](const xml_node& gpu) { return bool(gpu); });
    const bool has_devices = !parts_.gpus.front().device.empty();
    parts_.has_links = parts_.has_links || (is_dump && has_devices);
  }

  static bool is_below(const xml_node& node, const xml_node& ancestor) {
    for (xml_node at = node.parent(); at; at = at.parent())
      if (at == ancestor) return true;
    return false;
  }
  // Finds the GPUs near each NIC: those below the first PCIe switch above the NIC that also has
  // GPUs.
  void find_near_gpus() {
    for (std::size_t i = 0; i < nic_elements_.size(); ++i)
      for (xml_node ancestor = nic_elements_[i].parent();
           has_tag(ancestor, "pci") || has_tag(ancestor, "nic"); ancestor = ancestor.parent()) {
        std::vector<std::size_t>& near_gpus = parts_.nics[i].near_gpus;
        for (std::size_t gpu = 0; gpu < elements_.size(); ++gpu)
          if (is_below(elements_[gpu], ancestor)) near_gpus.push_back(gpu);
        if (!near_gpus.empty()) break;
      }
  }

  PlatformFile file_;
  xml_node root_;
  NodeParts parts_;
  std::unordered_map<std::string, std::size_t> gpu_of_;  // by bus key
  std::vector<xml_node> elements_;                       // <pci> elements of GPUs
  std::vector<xml_node> gpu_elements_;                   // <gpu> elements, if any
  std::vector<xml_node> nic_elements_;
};

}  // namespace

NodeParts read_nccl_topology(SourceText source) {
  return NcclTopologyReader(std::move(source)).read();
}

}  // namespace pipewright::cluster
