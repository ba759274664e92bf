#include "sim/cluster/import/node_file.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/gpu_types.hpp"
#include "sim/cluster/make/pair_links.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cluster {
namespace {

std::string microseconds(double seconds) { return fmt::format("{:g} us", seconds * 1e6); }

// Wiring of a node's GPUs: a switch, links between pairs, or PCIe.
struct NodeWiring {
  std::string wiring;
  int links = 0;  // per GPU to the switch, or per pair in a mesh; 1 in a cube_mesh
  std::vector<PairLinks> pairs;
  std::vector<std::uint32_t> places;
  bool counts_known = true;
};

// Interfaces of virtual machines and containers, which are no NICs.
bool is_virtual(const std::string& name) {
  constexpr std::array<std::string_view, 5> beginnings{"veth", "virbr", "docker", "br-", "lo"};
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) {
    return name.starts_with(beginning) && (beginning != "lo" || name == "lo");
  });
}

class NodeImporter {
 public:
  NodeImporter(const NodeParts& parts, const NodeOptions& options, const std::string& name)
      : parts_(parts), options_(options), name_(name) {
    tree_.origin = {parts.source.name};
  }

  ImportedNode import() {
    choose_gpu();
    set("gpus", std::to_string(parts_.gpus.size()), location(parts_.gpus.front().line));
    set_wires();
    set_nics();
    const bool is_pcie = find(tree_, "wiring")->text == "pcie";
    if (find(tree_, "link_latency") == nullptr)
      set("link_latency", is_pcie ? "2.85 us" : "1.7 us", "default: half of NCCL's step latency");
    // On PCIe, a step between nodes crosses the links of the GPUs as well as those of the NICs.
    // Both latencies together are those of a NIC alone in other nodes.
    set("nic_latency", is_pcie ? "11.45 us" : "14.3 us", "default: half of a step over InfiniBand");
    // NVLink generations have a default launch latency, which node files need not repeat.
    if (type_ == nullptr || type_->launch > 0)
      set("launch", microseconds(type_ != nullptr ? type_->launch : 10e-6), type_default());
    ImportedNode node{.kind = read_node_kind(tree_, name_), .yaml = {}, .findings = findings_};
    node.yaml = text(node.kind);
    return node;
  }

 private:
  [[noreturn]] void fail(int line, const Error& error) const { parts_.source.fail(line, error); }
  std::string location(int line) const { return parts_.source.location(line); }
  std::string type_default() const { return fmt::format("default of {}", gpu_); }
  bool has_option(const std::string& key) const { return options_.contains(key); }

  // Sets a key of the node file and records where its value is from. Options override values from
  // the imported file.
  void set(const std::string& key, std::string value, std::string from) {
    config::Origin origin{parts_.source.name};
    if (const auto option = options_.find(key); option != options_.end()) {
      value = option->second;
      from = "--" + option_of(key);
      origin = {from};
    }
    config::set_value(tree_, key, config::make_text(value, origin));
    findings_.push_back({key, std::move(value), std::move(from)});
  }
  static std::string option_of(const std::string& key) {
    if (key == "gpus") return "gpus-per-node";
    if (key == "link_bandwidth") return "nvlink";
    if (key == "nic_bandwidth") return "nic";
    return key;
  }

  void choose_gpu() {
    const NodeParts::Gpu& first = parts_.gpus.front();
    for (const NodeParts::Gpu& gpu : parts_.gpus)
      if (gpu.sm != first.sm || gpu.device != first.device || gpu.gcn != first.gcn)
        fail(gpu.line, Error(fmt::format("GPU {} has a different type than {} at line {}", gpu.name,
                                         first.name, first.line))
                           .allow("nodes with GPUs of one type"));
    std::vector<std::string_view> types_with_sm;
    const GpuType* device = nullptr;
    for (const GpuType& type : gpu_types()) {
      if (first.sm != 0 && type.sm == first.sm) types_with_sm.push_back(type.name);
      if (!first.device.empty() &&
          std::ranges::find(type.devices, first.device) != type.devices.end())
        device = &type;
    }
    if (const auto amd = amd_gpus(first.device, first.gcn, first.compute_units);
        !first.gcn.empty() || !amd.empty()) {
      choose_amd_gpu(first, amd);
    } else if (device != nullptr) {
      set("gpu", std::string(device->name),
          fmt::format("{}, device {}", location(first.line), first.device));
    } else if (!types_with_sm.empty()) {
      std::string origin = fmt::format("{}, sm {}", location(first.line), first.sm);
      if (!first.device.empty())
        origin += fmt::format(" (device {} is unknown)", config::shown(first.device));
      if (types_with_sm.size() > 1)
        origin += fmt::format("; the first of {}; override it with --gpu",
                              fmt::join(types_with_sm, ", "));
      set("gpu", std::string(types_with_sm.front()), origin);
    } else if (has_option("gpu")) {
      set("gpu", "", "");
    } else {
      fail(first.line,
           Error(fmt::format("the file does not name the GPU type{}",
                             first.sm != 0 ? fmt::format(" (sm {} is unknown)", first.sm) : ""))
               .suggest("give it with --gpu, such as --gpu h100-sxm"));
    }
    config::read_gpu({*find(tree_, "gpu"), "gpu"});  // reports an unknown name first
    gpu_ = find(tree_, "gpu")->text;
    for (const GpuType& type : gpu_types()) {
      if (type.name == gpu_) type_ = &type;
      for (const AmdGpu* amd : amd_gpus(first.device, first.gcn, first.compute_units))
        is_twin_ = is_twin_ || (type.is_twin && amd->type == type.name);
    }
    is_twin_ = is_twin_ || (type_ != nullptr && type_->is_twin);
  }

  // Chooses the type of an AMD GPU by its device, or by its architecture and compute units.
  void choose_amd_gpu(const NodeParts::Gpu& first, const std::vector<const AmdGpu*>& candidates) {
    std::string facts = first.gcn.empty() ? "" : fmt::format("gcn {}", first.gcn);
    if (!first.device.empty())
      facts += fmt::format("{}device {}", facts.empty() ? "" : ", ", config::shown(first.device));
    if (first.compute_units > 0) facts += fmt::format(", {} compute units", first.compute_units);
    std::vector<std::string_view> products;
    std::vector<std::string_view> types;
    for (const AmdGpu* gpu : candidates) {
      products.push_back(gpu->product);
      if (!gpu->type.empty()) types.push_back(gpu->type);
    }
    const std::string product = fmt::format("{}", fmt::join(products, " or "));
    if (has_option("gpu")) {
      const bool agrees =
          products.empty() || std::ranges::find(types, options_.at("gpu")) != types.end();
      if (!agrees)
        findings_.push_back(
            {"GPU of the file", product,
             fmt::format("{}, {}; --gpu overrides it", location(first.line), facts)});
      return set("gpu", "", "");
    }
    if (candidates.empty())
      fail(first.line, Error(fmt::format("the GPU type is unknown ({})", facts))
                           .suggest("give it with --gpu, such as --gpu mi300x"));
    if (types.empty())
      fail(first.line,
           Error(fmt::format("the GPUs are {} ({}), of which the library has no file", product,
                             facts))
               .suggest("give --gpu with a file of your own (docs/gpus.md), or with the name of a "
                        "similar GPU"));
    if (candidates.size() > 1)
      fail(first.line,
           Error(fmt::format("the GPUs are {}, which have the same architecture ({})", product,
                             facts))
               .suggest(fmt::format("choose with --gpu {}", fmt::join(types, " or --gpu "))));
    set("gpu", std::string(types.front()), fmt::format("{}, {}", location(first.line), facts));
  }

  // Wiring according to the file. In the matrix of nvidia-smi, a GPU behind a switch shows all of
  // its links in the column of every other GPU.
  std::optional<NodeWiring> listed_wiring() const {
    const auto count = static_cast<int>(parts_.gpus.size());
    int switch_links = 0;
    int linked = 0;
    std::set<int> pairs;
    std::vector<int> sums;
    for (const NodeParts::Gpu& gpu : parts_.gpus) {
      switch_links = std::max(switch_links, gpu.switch_links);
      int sum = 0;
      for (const auto& [peer, links] : gpu.links) {
        ++linked;
        sum += links;
        pairs.insert(links);
      }
      sums.push_back(sum);
    }
    if (!parts_.has_links) return std::nullopt;
    if (switch_links > 0) {
      for (const NodeParts::Gpu& gpu : parts_.gpus)
        if (gpu.switch_links != switch_links)
          fail(gpu.line,
               Error(fmt::format("GPU {} has {} NVLinks to switches, but other GPUs have {}",
                                 gpu.name, gpu.switch_links, switch_links))
                   .suggest(
                       "check for links that are down, or override with --wiring and --nvlink"));
      return NodeWiring{"nvswitch", switch_links};
    }
    if (linked == 0) return NodeWiring{"pcie", 0};
    const bool is_full = linked == count * (count - 1) && pairs.size() == 1;
    const int max_links = type_ != nullptr && type_->links > 0 ? type_->links : 18;
    if (is_full && parts_.is_matrix && sums.front() > max_links)
      return NodeWiring{"nvswitch", *pairs.begin()};
    if (is_full) return NodeWiring{"mesh", *pairs.begin()};
    return paired_wiring();
  }

  LinkCounts listed_links() const {
    const std::size_t count = parts_.gpus.size();
    LinkCounts links(count, std::vector<int>(count, 0));
    for (std::size_t a = 0; a < count; ++a)
      for (const auto& [b, number] : parts_.gpus[a].links) links[a][b] = number;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b)
        if (links[a][b] > links[b][a])
          fail(
              parts_.gpus[a].line,
              Error(fmt::format("{} links lead from GPU {} to GPU {}, but {} lead back",
                                links[a][b], parts_.gpus[a].name, parts_.gpus[b].name, links[b][a]))
                  .suggest("check for links that are down, or ignore all links with --wiring "
                           "pcie"));
    return links;
  }

  // Wiring of GPUs of which links join some pairs: that of a DGX-1 or of MI250X, or any other.
  NodeWiring paired_wiring() const {
    const LinkCounts links = listed_links();
    using Wiring = NodeKind::Wiring;
    const auto in_table = [&](Wiring wiring, const char* name,
                              bool counts_known) -> std::optional<NodeWiring> {
      auto places = places_in(wiring, links, counts_known);
      if (!places) return std::nullopt;
      if (std::ranges::is_sorted(*places)) places->clear();
      return NodeWiring{name, 1, {}, std::move(*places), counts_known};
    };
    if (auto wiring = in_table(Wiring::twin_mesh, "twin_mesh", true)) return *wiring;
    if (auto wiring = in_table(Wiring::cube_mesh, "cube_mesh", true)) return *wiring;
    // Virtual machines show one link for each pair that has any.
    if (is_twin_ && is_single(links))
      if (auto wiring = in_table(Wiring::twin_mesh, "twin_mesh", false)) return *wiring;
    NodeWiring wiring{"pairs", 0, {}, {}, true};
    for (std::uint32_t a = 0; a < links.size(); ++a)
      for (std::uint32_t b = a + 1; b < links.size(); ++b)
        if (links[a][b] > 0) {
          wiring.pairs.push_back({a, b, links[a][b]});
          wiring.links = std::gcd(wiring.links, links[a][b]);
        }
    for (PairLinks& pair : wiring.pairs) pair.links /= wiring.links;
    return wiring;
  }
  static bool is_single(const LinkCounts& links) {
    return std::ranges::all_of(links, [](const auto& row) {
      return std::ranges::all_of(row, [](int n) { return n <= 1; });
    });
  }

  void set_wires() {
    const std::string here = location(parts_.gpus.front().line);
    std::optional<NodeWiring> listed;
    if (!has_option("wiring")) listed = listed_wiring();
    NodeWiring wires = listed.value_or(NodeWiring{});
    if (!listed) {
      const bool type_has_links = type_ != nullptr && type_->links > 0;
      const bool is_cube = type_ != nullptr && type_->nvlink == 2 && parts_.gpus.size() == 8;
      const bool is_twin = is_twin_ && parts_.gpus.size() == 8;
      wires.wiring = !type_has_links  ? "pcie"
                     : is_twin        ? "twin_mesh"
                     : type_->is_xgmi ? "mesh"
                     : is_cube        ? "cube_mesh"
                                      : "nvswitch";
      if (has_option("wiring")) wires.wiring = options_.at("wiring");
      wires.links =
          !type_has_links              ? 0
          : wires.wiring == "nvswitch" ? type_->links
          : wires.wiring == "mesh"
              ? std::max(1,
                         type_->links / std::max<int>(1, static_cast<int>(parts_.gpus.size()) - 1))
              : 1;
    }
    set("wiring", wires.wiring,
        listed ? fmt::format("{}, {}{}", here, wires.wiring == "pcie" ? "no " : "",
                             parts_.has_xgmi ? "xGMI links" : "NVLinks")
               : fmt::format("{}: the file does not list NVLinks", type_default()));
    if (wires.wiring == "pcie") return set_pcie("link_bandwidth");
    if ((type_ == nullptr || type_->link_bandwidth == 0) && !has_option("link_bandwidth"))
      fail(parts_.gpus.front().line,
           Error(fmt::format("the bandwidth of a link of {} is unknown", gpu_))
               .suggest("give it with --nvlink, such as --nvlink '370 GB/s'"));
    if (type_ != nullptr && type_->nvlink > 0)
      set("nvlink", std::to_string(type_->nvlink), type_default());
    if (parts_.has_xgmi)
      set("link_class", "xgmi", here + ", xGMI links");
    else if (type_ != nullptr && type_->is_xgmi)
      set("link_class", "xgmi", type_default());
    set_pairs(wires, here);
    const double per_link = type_ != nullptr ? type_->link_bandwidth : 0;
    set("link_bandwidth", rate_text(wires.links * per_link),
        fmt::format("{} x {} {}", wires.links, rate_text(per_link),
                    listed ? "of payload, links from " + here : "of payload, " + type_default()));
    if (wires.wiring == "cube_mesh") set("link_latency", "3.4 us", "default of DGX-1");
    if (wires.wiring == "nvswitch" && type_ != nullptr && type_->sharp > 0)
      set("sharp_efficiency", fmt::format("{:g}", type_->sharp), type_default());
  }

  // Sets the keys that say which GPUs links join.
  void set_pairs(const NodeWiring& wires, const std::string& here) {
    if (!wires.places.empty()) {
      set_list("places", texts_of(wires.places),
               here + ", GPUs in another order than the wiring's");
    } else if (!wires.counts_known) {
      findings_.push_back({"links of pairs", "those of twin_mesh",
                           here + " shows one link for each pair that has any"});
    }
    if (wires.pairs.empty()) return;
    note_missing_links(here);
    std::vector<std::string> pairs;
    for (const PairLinks& pair : wires.pairs)
      pairs.push_back(pair.links == 1 ? fmt::format("{}-{}", pair.a, pair.b)
                                      : fmt::format("{}-{} x{}", pair.a, pair.b, pair.links));
    set_list("pairs", pairs, here);
    if (parts_.has_xgmi)
      set("relay", "true", "default of xGMI: messages to further GPUs go over those between");
    set_pcie("pcie_bandwidth");
  }
  void note_missing_links(const std::string& here) {
    const bool has_number = type_ != nullptr && type_->links > 0 && !type_->is_twin;
    std::vector<std::string> gpus;
    for (std::size_t i = 0; i < parts_.gpus.size() && has_number; ++i) {
      int links = 0;
      for (const auto& [peer, number] : parts_.gpus[i].links) links += number;
      if (links < type_->links) gpus.push_back(fmt::format("GPU {} has {}", i, links));
    }
    if (!gpus.empty())
      findings_.push_back({"links missing", fmt::format("{}", fmt::join(gpus, ", ")),
                           fmt::format("{}; other {} have {}", here, gpu_, type_->links)});
  }
  template <class Numbers>
  static std::vector<std::string> texts_of(const Numbers& numbers) {
    std::vector<std::string> texts;
    for (const auto number : numbers) texts.push_back(std::to_string(number));
    return texts;
  }
  void set_list(const std::string& key, const std::vector<std::string>& texts,
                const std::string& from) {
    config::Value list{.kind = config::Value::Kind::list};
    list.origin = {parts_.source.name};
    for (const std::string& item : texts)
      list.items.push_back(config::make_text(item, {parts_.source.name}));
    config::set_value(tree_, key, std::move(list));
    findings_.push_back({key, fmt::format("{}", fmt::join(texts, ", ")), from});
  }

  void set_pcie(const std::string& key) {
    constexpr double default_rate = 31.5e9;  // 4.0 x16
    constexpr double payload_part = 0.8;     // assumed payload fraction
    const double nominal = parts_.pcie > 0 ? parts_.pcie : default_rate;
    set(key, rate_text(payload_part * nominal),
        parts_.pcie > 0 ? fmt::format("0.8 of PCIe's {}, {}", rate_text(nominal),
                                      location(parts_.gpus.front().line))
                        : "default: 0.8 of PCIe 4.0 x16");
  }

  // Payload rate of a NIC. A rate that the file does not know is that of --nic, or else the GPU
  // type's default.
  double rate_or_default(const NodeParts::Nic& nic) const {
    if (nic.rate > 0) return payload_of(nic.rate);
    if (!has_option("nic_bandwidth")) return type_ != nullptr ? type_->nic_bandwidth : 0;
    return config::parse_bandwidth(options_.at("nic_bandwidth"), "--nic", "bandwidth of a NIC");
  }

  // NICs that carry training traffic: those on PCIe switches with GPUs, if there are any, and of
  // these the fastest. The remaining NICs are assumed to serve storage and management.
  std::vector<const NodeParts::Nic*> chosen_nics() {
    std::vector<const NodeParts::Nic*> nics;
    for (const NodeParts::Nic& nic : parts_.nics) nics.push_back(&nic);
    const auto keep_only = [&](auto&& test, const std::string& reason) {
      std::vector<std::string> removed;
      for (const auto* nic : nics)
        if (!test(*nic)) removed.push_back(nic->name);
      if (removed.empty() || removed.size() == nics.size()) return;
      std::erase_if(nics, [&](const auto* nic) { return !test(*nic); });
      findings_.push_back({"left out", fmt::format("{}", fmt::join(removed, ", ")), reason});
    };
    keep_only([](const NodeParts::Nic& nic) { return !nic.near_gpus.empty(); },
              "not on a PCIe switch with a GPU; override with --nics and --nic");
    keep_only([](const NodeParts::Nic& nic) { return !is_virtual(nic.name); },
              "no NICs but interfaces of virtual machines or containers");
    double fastest = 0;
    for (const auto* nic : nics) fastest = std::max(fastest, rate_or_default(*nic));
    keep_only([&](const NodeParts::Nic& nic) { return rate_or_default(nic) == fastest; },
              fmt::format("slower than {}; override with --nics and --nic", rate_text(fastest)));
    return nics;
  }

  void set_nics() {
    const bool has_options = has_option("nics") && has_option("nic_bandwidth");
    if (has_options) return set("nics", "", ""), set("nic_bandwidth", "", "");
    const std::vector<const NodeParts::Nic*> nics = chosen_nics();
    if (nics.empty())
      fail(parts_.gpus.front().line,
           Error("lists no NIC, which nodes need to reach each other")
               .suggest("give --nics and --nic, such as --nics 8 --nic '47 GB/s'"));
    const std::size_t gpus = parts_.gpus.size();
    std::size_t count = nics.size();
    std::size_t ports = 1;  // per NIC
    if (!has_option("nics") && find(tree_, "wiring")->text != "pcie") {
      std::set<std::string> cards;
      for (const auto* nic : nics) cards.insert(nic->card.empty() ? nic->name : nic->card);
      const bool is_even = count <= gpus ? gpus % count == 0 : count % gpus == 0;
      if (!is_even && !cards.empty() && count % cards.size() == 0 && gpus % cards.size() == 0)
        count = cards.size();
      else if (is_even && count > gpus)
        count = gpus;
      else if (!is_even)
        fail_uneven(nics);
      ports = nics.size() / count;
    }
    const std::string here = location(nics.front()->line);
    const std::string port_text = ports > 1 ? fmt::format(", {} ports each", ports) : "";
    const std::size_t hosts = hosts_of_domain();
    set("nics", std::to_string(count * hosts),
        fmt::format("{}, {}{}{}", here, range_text(nics), port_text,
                    hosts > 1 ? fmt::format(", on each of {} hosts", hosts) : ""));
    report_nearest(nics);
    const double rate = nics.front()->rate;
    if (!nics.front()->bad_speed.empty() && !has_option("nic_bandwidth"))
      fail(
          nics.front()->line,
          Error(fmt::format("speed=\"{}\" of NIC '{}' is no plausible rate; it is in Mb/s, such as "
                            "400000",
                            config::shown(nics.front()->bad_speed), nics.front()->name))
              .suggest("give the rate with --nic, such as --nic '47 GB/s'"));
    constexpr double min_rate = 1e9;            // of a node file
    constexpr double management_rate = 1.25e9;  // 10 Gb/s
    if (rate > 0 && rate <= management_rate && !has_option("nic_bandwidth")) {
      const Error error(fmt::format("the only NICs are of {} nominal ({}), as for management",
                                    rate_text(rate), range_text(nics)));
      if (payload_of(rate) < min_rate)
        fail(nics.front()->line,
             Error(error).suggest("give those of the training traffic, such as --nics 8 --nic '47 "
                                  "GB/s'"));
      findings_.push_back(
          {"NICs are slow", range_text(nics), "as for management; override with --nics and --nic"});
    }
    if (rate > 0)
      set("nic_bandwidth", rate_text(static_cast<double>(ports) * payload_of(rate)),
          fmt::format("{}{} nominal x {:g} payload, {}",
                      ports > 1 ? fmt::format("{} x ", ports) : "", rate_text(rate),
                      payload_of(rate) / rate, here));
    else if (type_ != nullptr)
      set("nic_bandwidth", rate_text(type_->nic_bandwidth),
          type_default() + ": no rate in the file");
    else if (has_option("nic_bandwidth"))
      set("nic_bandwidth", "", "");
    else
      fail(nics.front()->line,
           Error("lists no NIC rate").suggest("give it with --nic, such as --nic '47 GB/s'"));
  }
  [[noreturn]] void fail_uneven(const std::vector<const NodeParts::Nic*>& nics) const {
    const EvenNics even =
        even_nics(static_cast<std::uint32_t>(parts_.gpus.size()),
                  static_cast<std::uint32_t>(nics.size()), rate_or_default(*nics.front()));
    fail(nics.front()->line,
         Error(fmt::format("{} NICs cannot be shared evenly among {} GPUs ({})", nics.size(),
                           parts_.gpus.size(), range_text(nics)))
             .suggest(even.bandwidth > 0
                          ? fmt::format("use {} with the same bandwidth together: --nics {} --nic "
                                        "'{}'; or give others with --nics N and --nic RATE",
                                        even.nics, even.nics, rate_text(even.bandwidth))
                          : "give --nics N and --nic RATE"));
  }

  // Number of hosts in an NVLink domain of which the file describes one: --gpus-per-node 72 with 4
  // GPUs in the file is 18 hosts.
  std::size_t hosts_of_domain() const {
    const auto option_gpus = std::strtoul(find(tree_, "gpus")->text.c_str(), nullptr, 10);
    const std::size_t gpus = parts_.gpus.size();
    return option_gpus > gpus && option_gpus % gpus == 0 ? option_gpus / gpus : 1;
  }

  // Reports the nearest NICs of each GPU. A node file distributes NICs to GPUs in order, which can
  // differ from the order by PCIe switches.
  void report_nearest(const std::vector<const NodeParts::Nic*>& nics) {
    if (nics.front()->near_gpus.empty()) return;
    const std::size_t gpus = parts_.gpus.size();
    std::vector<std::string> pairs;
    bool in_order = true;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      const std::size_t first = gpu * nics.size() / gpus;
      const std::size_t last = std::max(first + 1, (gpu + 1) * nics.size() / gpus);
      std::vector<const NodeParts::Nic*> nearest;
      for (std::size_t i = 0; i < nics.size(); ++i) {
        const bool is_near = std::ranges::find(nics[i]->near_gpus, gpu) != nics[i]->near_gpus.end();
        if (is_near) nearest.push_back(nics[i]);
        in_order = in_order && (is_near || i < first || i >= last);
      }
      pairs.push_back(fmt::format("{}: {}", gpu, nearest.empty() ? "none" : range_text(nearest)));
    }
    findings_.push_back({"NICs of GPUs", in_order ? "in order" : "in order, not by PCIe switch",
                         fmt::format("{}", fmt::join(pairs, ", "))});
  }
  static std::string range_text(const std::vector<const NodeParts::Nic*>& nics) {
    return nics.size() == 1 ? nics.front()->name
                            : fmt::format("{} .. {}", nics.front()->name, nics.back()->name);
  }

  std::string text(const NodeKind& kind) {
    std::string yaml = fmt::format(
        "help: {}",
        config::to_yaml(config::make_text(
            fmt::format("{} {}, {} NICs, imported from {}", kind.gpus, kind.gpu, kind.nics, name_),
            {})));
    yaml += "sources:\n";
    for (const Finding& finding : findings_)
      yaml +=
          fmt::format("  - |\n    {}: {} ({}).\n", finding.subject, finding.value, finding.origin);
    return yaml + config::to_yaml(tree_);
  }

  const NodeParts& parts_;
  const NodeOptions& options_;
  const std::string& name_;
  config::Value tree_{.kind = config::Value::Kind::map};
  Findings findings_;
  std::string gpu_;
  const GpuType* type_ = nullptr;  // null if the GPU is defined by the user
  bool is_twin_ = false;           // GPUs are dies of MI250X, by the file or by --gpu
};

}  // namespace

ImportedNode import_node(const NodeParts& parts, const NodeOptions& options,
                         const std::string& name) {
  return NodeImporter(parts, options, name).import();
}

}  // namespace pipewright::cluster
