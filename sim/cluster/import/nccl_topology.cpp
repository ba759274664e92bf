#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/import/node_parts.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/text/value.hpp"

// NCCL's topology XML (src/graph/xml.cc): what NCCL_TOPO_DUMP_FILE writes of a node, and what
// clouds give by NCCL_TOPO_FILE, which has the PCIe tree alone. AMD's RCCL writes <xgmi> for
// <nvlink>.
namespace pipewright::cluster {
namespace {

using pugi::xml_node;

bool is(const xml_node& node, std::string_view tag) { return node.name() == tag; }

class Reader {
 public:
  explicit Reader(SourceText source)
      : file_(source.name, source.text), root_(file_.document().child("system")) {
    parts_.source = std::move(source);
  }

  NodeParts read() {
    if (!root_)
      parts_.source.fail(1, "has no <system>; NCCL_TOPO_DUMP_FILE=FILE has NCCL write one");
    file_.for_each_element([&](const xml_node& node, int depth) {
      if (depth > most_depth) fail(node, "stands in more elements than any PCIe tree has");
      if (is(node, "gpu")) add_gpu(node.parent(), node);
      if (is(node, "net")) add_nic(node);
    });
    if (parts_.gpus.empty()) add_by_class("0x03");
    if (parts_.nics.empty()) add_by_class("0x02");
    if (parts_.gpus.empty())
      fail(
          root_,
          "has no GPU: neither <gpu> nor a <pci> of class 0x0302..; a run of NCCL over all GPUs of "
          "a node with NCCL_TOPO_DUMP_FILE=FILE writes a file that has");
    find_links();
    find_near();
    return std::move(parts_);
  }

 private:
  static constexpr int most_depth = 64;

  [[noreturn]] void fail(const xml_node& node, const std::string& what) const {
    parts_.source.fail(line_of(node), what);
  }
  int line_of(const xml_node& node) const { return file_.line_of(node.offset_debug()); }

  double number(const xml_node& node, const char* attribute) const {
    const std::string_view text = node.attribute(attribute).value();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e9)
      fail(node,
           fmt::format("{}=\"{}\" of <{}> must be a number from 0", attribute, text, node.name()));
    return value;
  }
  int count(const xml_node& node, const char* attribute) const {
    const double value = number(node, attribute);
    if (value != static_cast<int>(value))
      fail(node, fmt::format("{}=\"{}\" of <{}> must be a whole number", attribute,
                             node.attribute(attribute).value(), node.name()));
    return static_cast<int>(value);
  }

  // A bus of the hosts that NVLink joins, whose files NCCL puts into one.
  static std::string place_of(xml_node node, std::string_view bus) {
    while (node && !is(node, "cpu")) node = node.parent();
    return fmt::format("{}/{}", node.attribute("host_hash").value(), bus);
  }

  void add_gpu(const xml_node& pci, const xml_node& gpu) {
    if (!is(pci, "pci")) fail(gpu, "<gpu> stands in no <pci>");
    const std::string bus = pci.attribute("busid").value();
    NodeParts::Gpu one{.name = bus, .line = line_of(gpu ? gpu : pci)};
    // RCCL's sm is a number of compute units.
    if (gpu && gpu.attribute("sm") && !gpu.attribute("gcn")) one.sm = count(gpu, "sm");
    one.device = pci.attribute("device").value();
    if (!gpu_of_.emplace(place_of(pci, bus), parts_.gpus.size()).second)
      fail(pci, fmt::format("a second GPU has the busid '{}'; was the file put together of "
                            "several?",
                            bus));
    note_pcie(pci);
    parts_.gpus.push_back(std::move(one));
    elements_.push_back(pci);
    gpu_elements_.push_back(gpu);
  }

  // "16.0 GT/s PCIe" x 16 lanes; with 128b/130b from 8 GT/s on.
  void note_pcie(const xml_node& pci) {
    const double lane = std::strtod(pci.attribute("link_speed").value(), nullptr);
    const double width = std::strtod(pci.attribute("link_width").value(), nullptr);
    if (lane > 0 && lane <= 128 && width > 0 && width <= 32)
      parts_.pcie = lane * 1e9 * width / 8 * (lane < 8 ? 0.8 : 128.0 / 130.0);
  }

  void add_nic(const xml_node& net) {
    NodeParts::Nic one{.name = net.attribute("name").value(), .line = line_of(net)};
    if (net.attribute("speed")) one.rate = number(net, "speed") * 1e6 / 8;  // Mb/s
    constexpr double most = 400e9;
    if (one.rate > most)
      fail(net, fmt::format("speed=\"{}\" of NIC '{}' is in Mb/s, and no NIC has {}; as in 400000",
                            net.attribute("speed").value(), one.name, rate_text(one.rate)));
    const xml_node pci = net.parent().parent();
    if (is(pci, "pci")) one.card = place_of(pci, pci.attribute("busid").value());
    nic_elements_.push_back(net);
    parts_.nics.push_back(std::move(one));
  }

  // In files without <gpu> and <net>: by PCI's class of display and network controllers.
  void add_by_class(std::string_view begin) {
    file_.for_each_element([&](const xml_node& node, int /*depth*/) {
      if (!is(node, "pci") || !std::string_view(node.attribute("class").value()).starts_with(begin))
        return;
      if (begin == "0x03") return add_gpu(node, xml_node());
      parts_.nics.push_back({.name = node.attribute("busid").value(), .line = line_of(node)});
      nic_elements_.push_back(node);
    });
  }

  void find_links() {
    for (std::size_t i = 0; i < gpu_elements_.size(); ++i)
      for (const xml_node& link : gpu_elements_[i].children()) {
        if (!is(link, "nvlink") && !is(link, "xgmi")) continue;
        parts_.tells_links = true;
        const int links = count(link, "count");
        const auto peer =
            gpu_of_.find(place_of(gpu_elements_[i], link.attribute("target").value()));
        NodeParts::Gpu& gpu = parts_.gpus[i];
        if (peer != gpu_of_.end()) {
          if (peer->second != i) gpu.links[peer->second] += links;
        } else if (std::string_view(link.attribute("tclass").value()).starts_with("0x0680")) {
          gpu.switch_links += links;
        } else {
          fail(link, fmt::format("NVLinks lead to '{}', which is neither a GPU of this file nor a "
                                 "switch (tclass 0x068000); a dump of a run over all GPUs of the "
                                 "node has it",
                                 link.attribute("target").value()));
        }
      }
    // A dump of a run tells of each GPU that it saw; a static file has none of what runs find.
    const bool is_dump = std::any_of(gpu_elements_.begin(), gpu_elements_.end(),
                                     [](const xml_node& gpu) { return bool(gpu); });
    const bool has_devices = !parts_.gpus.front().device.empty();
    parts_.tells_links = parts_.tells_links || (is_dump && has_devices);
  }

  static bool is_below(const xml_node& node, const xml_node& up) {
    for (xml_node at = node.parent(); at; at = at.parent())
      if (at == up) return true;
    return false;
  }
  // The first PCIe switch on the way up from a NIC that has GPUs below as well.
  void find_near() {
    for (std::size_t i = 0; i < nic_elements_.size(); ++i)
      for (xml_node up = nic_elements_[i].parent(); is(up, "pci") || is(up, "nic");
           up = up.parent()) {
        std::vector<std::size_t>& near = parts_.nics[i].near;
        for (std::size_t gpu = 0; gpu < elements_.size(); ++gpu)
          if (is_below(elements_[gpu], up)) near.push_back(gpu);
        if (!near.empty()) break;
      }
  }

  PlatformFile file_;
  xml_node root_;
  NodeParts parts_;
  std::unordered_map<std::string, std::size_t> gpu_of_;  // by bus
  std::vector<xml_node> elements_;                       // <pci> of GPUs
  std::vector<xml_node> gpu_elements_;                   // <gpu>, if there is one
  std::vector<xml_node> nic_elements_;
};

}  // namespace

NodeParts read_nccl_topology(SourceText source) { return Reader(std::move(source)).read(); }

}  // namespace pipewright::cluster
