#include "sim/cluster/import/node_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/gpu_types.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cluster {
namespace {

std::string microseconds(double seconds) { return fmt::format("{:g} us", seconds * 1e6); }

// What a node's GPUs are wired by, as far as the file tells: a switch, links of pairs, or neither.
struct Wires {
  std::string wiring;
  int links = 0;  // of a GPU to the switch; of a pair in a mesh; each is one in a cube_mesh
};

class Importer {
 public:
  Importer(const NodeParts& parts, const NodeWords& words, const std::string& name)
      : parts_(parts), words_(words), name_(name) {
    tree_.origin = {parts.source.name};
  }

  ImportedNode import() {
    choose_gpu();
    set("gpus", std::to_string(parts_.gpus.size()), place(parts_.gpus.front().line));
    set_wires();
    set_nics();
    const bool is_pcie = find(tree_, "wiring")->text == "pcie";
    if (find(tree_, "link_latency") == nullptr)
      set("link_latency", is_pcie ? "2.85 us" : "1.7 us", "default: half of NCCL's step");
    // With PCIe on the way a step between nodes takes no longer.
    set("nic_latency", is_pcie ? "3.95 us" : "6.8 us", "default: half of NCCL's step");
    // What generations of NVLinks begin with, nodes' files need not say.
    if (type_ == nullptr || type_->launch > 0)
      set("launch", microseconds(type_ != nullptr ? type_->launch : 10e-6), of_type());
    ImportedNode node{.kind = read_node_kind(tree_, name_), .yaml = {}, .findings = findings_};
    node.yaml = text(node.kind);
    return node;
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    parts_.source.fail(line, what);
  }
  std::string place(int line) const { return parts_.source.place(line); }
  std::string of_type() const { return fmt::format("default of {}", gpu_); }
  bool is_told(const std::string& key) const { return words_.contains(key); }

  // What an option says stands before what the file says.
  void set(const std::string& key, std::string value, std::string from) {
    config::Origin origin{parts_.source.name};
    if (const auto told = words_.find(key); told != words_.end()) {
      value = told->second;
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
      if (gpu.sm != first.sm || gpu.device != first.device)
        fail(gpu.line, fmt::format("GPU {} is of another type than {} at line {}; allowed: a node "
                                   "of one type",
                                   gpu.name, first.name, first.line));
    std::vector<std::string_view> of_sm;
    const GpuType* device = nullptr;
    for (const GpuType& type : gpu_types()) {
      if (first.sm != 0 && type.sm == first.sm) of_sm.push_back(type.name);
      if (!first.device.empty() &&
          std::ranges::find(type.devices, first.device) != type.devices.end())
        device = &type;
    }
    if (device != nullptr) {
      set("gpu", std::string(device->name),
          fmt::format("{}, device {}", place(first.line), first.device));
    } else if (!of_sm.empty()) {
      std::string why = fmt::format("{}, sm {}", place(first.line), first.sm);
      if (!first.device.empty())
        why += fmt::format(" (device {} is unknown)", config::shown(first.device));
      if (of_sm.size() > 1)
        why += fmt::format("; default of {}, else --gpu", fmt::join(of_sm, ", "));
      set("gpu", std::string(of_sm.front()), why);
    } else if (is_told("gpu")) {
      set("gpu", "", "");
    } else {
      fail(first.line,
           fmt::format("the file does not say which GPUs these are{}; --gpu NAME does, "
                       "as in --gpu h100-sxm",
                       first.sm != 0 ? fmt::format(" (sm {} is unknown)", first.sm) : ""));
    }
    config::read_gpu({*find(tree_, "gpu"), "gpu"});  // so that a wrong name is told first
    gpu_ = find(tree_, "gpu")->text;
    for (const GpuType& type : gpu_types())
      if (type.name == gpu_) type_ = &type;
  }

  // Of a matrix a GPU behind a switch has all its links to each other GPU.
  std::optional<Wires> told_wires() const {
    const auto count = static_cast<int>(parts_.gpus.size());
    int switch_links = 0;
    int linked = 0;
    std::set<int> pairs;
    std::vector<int> sums;
    for (const NodeParts::Gpu& gpu : parts_.gpus) {
      switch_links = std::max(switch_links, gpu.switch_links);
      int sum = 0;
      for (const auto& [other, links] : gpu.links) {
        ++linked;
        sum += links;
        pairs.insert(links);
      }
      sums.push_back(sum);
    }
    if (!parts_.tells_links) return std::nullopt;
    if (switch_links > 0) {
      for (const NodeParts::Gpu& gpu : parts_.gpus)
        if (gpu.switch_links != switch_links)
          fail(gpu.line,
               fmt::format("GPU {} has {} NVLinks to switches, others {}; are links down? "
                           "--wiring and --nvlink say what counts",
                           gpu.name, gpu.switch_links, switch_links));
      return Wires{"nvswitch", switch_links};
    }
    if (linked == 0) return Wires{"pcie", 0};
    const bool is_full = linked == count * (count - 1) && pairs.size() == 1;
    const int most = type_ != nullptr && type_->links > 0 ? type_->links : 18;
    if (is_full && parts_.sums_links && sums.front() > most)
      return Wires{"nvswitch", *pairs.begin()};
    if (is_full) return Wires{"mesh", *pairs.begin()};
    const bool is_cube =
        count == 8 && linked == 32 && std::ranges::all_of(sums, [](int sum) { return sum == 6; });
    if (is_cube) return Wires{"cube_mesh", 1};
    fail(uneven_line(), fmt::format("NVLinks join some pairs of GPUs and not others, or by other "
                                    "numbers, which a node's file cannot say (allowed: nvswitch, "
                                    "mesh, DGX-1's cube_mesh, pcie); --wiring pcie leaves NVLinks "
                                    "out"));
  }
  int uneven_line() const {
    const auto& gpus = parts_.gpus;
    const auto found = std::ranges::find_if(
        gpus, [&](const NodeParts::Gpu& gpu) { return gpu.links.size() + 1 < gpus.size(); });
    return found == gpus.end() ? gpus.front().line : found->line;
  }

  void set_wires() {
    const std::string here = place(parts_.gpus.front().line);
    std::optional<Wires> told;
    if (!is_told("wiring")) told = told_wires();
    Wires wires = told.value_or(Wires{});
    if (!told) {
      const bool has_links = type_ != nullptr && type_->links > 0;
      const bool is_cube = type_ != nullptr && type_->nvlink == 2 && parts_.gpus.size() == 8;
      wires.wiring = !has_links       ? "pcie"
                     : type_->is_xgmi ? "mesh"
                     : is_cube        ? "cube_mesh"
                                      : "nvswitch";
      if (is_told("wiring")) wires.wiring = words_.at("wiring");
      wires.links =
          !has_links                   ? 0
          : wires.wiring == "nvswitch" ? type_->links
          : wires.wiring == "mesh"
              ? std::max(1,
                         type_->links / std::max<int>(1, static_cast<int>(parts_.gpus.size()) - 1))
              : 1;
    }
    set("wiring", wires.wiring,
        told ? (wires.wiring == "pcie" ? here + ", no NVLinks" : here + ", NVLinks")
             : fmt::format("{}: the file tells of no NVLinks", of_type()));
    if (wires.wiring == "pcie") return set_pcie();
    if (type_ == nullptr && !is_told("link_bandwidth"))
      fail(parts_.gpus.front().line, fmt::format("what a link of {} carries is not known; --nvlink "
                                                 "'370 GB/s' says it",
                                                 gpu_));
    if (type_ != nullptr && type_->nvlink > 0)
      set("nvlink", std::to_string(type_->nvlink), of_type());
    if (type_ != nullptr && type_->is_xgmi) set("link_class", "xgmi", of_type());
    const double each = type_ != nullptr ? type_->link_bandwidth : 0;
    set("link_bandwidth", rate_text(wires.links * each),
        fmt::format("{} x {} {}", wires.links, rate_text(each),
                    told ? "of payload, links by " + here : "of payload, " + of_type()));
    if (wires.wiring == "cube_mesh") set("link_latency", "3.4 us", "default of DGX-1");
    if (wires.wiring == "nvswitch" && type_ != nullptr && type_->sharp > 0)
      set("sharp_efficiency", fmt::format("{:g}", type_->sharp), of_type());
  }

  void set_pcie() {
    constexpr double usual = 31.5e9;  // 4.0 x16
    constexpr double part = 0.8;      // an assumption
    const double nominal = parts_.pcie > 0 ? parts_.pcie : usual;
    set("link_bandwidth", rate_text(part * nominal),
        parts_.pcie > 0 ? fmt::format("0.8 of PCIe's {}, {}", rate_text(nominal),
                                      place(parts_.gpus.front().line))
                        : "default: 0.8 of PCIe 4.0 x16");
  }

  // Those on PCIe switches with GPUs, if there are such, and of these the fastest: others are for
  // storage and management.
  std::vector<const NodeParts::Nic*> chosen_nics() {
    std::vector<const NodeParts::Nic*> all;
    for (const NodeParts::Nic& nic : parts_.nics) all.push_back(&nic);
    const auto keep = [&](auto&& test, const std::string& why) {
      std::vector<std::string> left;
      for (const auto* nic : all)
        if (!test(*nic)) left.push_back(nic->name);
      if (left.empty() || left.size() == all.size()) return;
      std::erase_if(all, [&](const auto* nic) { return !test(*nic); });
      findings_.push_back({"left out", fmt::format("{}", fmt::join(left, ", ")), why});
    };
    keep([](const NodeParts::Nic& nic) { return !nic.near.empty(); },
         "on no PCIe switch with a GPU; else --nics, --nic");
    double fastest = 0;
    for (const auto* nic : all) fastest = std::max(fastest, nic->rate);
    keep([&](const NodeParts::Nic& nic) { return nic.rate == fastest; },
         fmt::format("slower than {}; else --nics, --nic", rate_text(fastest)));
    return all;
  }

  void set_nics() {
    const bool is_all_told = is_told("nics") && is_told("nic_bandwidth");
    if (is_all_told) return set("nics", "", ""), set("nic_bandwidth", "", "");
    const std::vector<const NodeParts::Nic*> all = chosen_nics();
    if (all.empty())
      fail(parts_.gpus.front().line,
           "tells of no NIC, without which nodes do not reach each other; --nics N and --nic "
           "'47 GB/s' say what it has");
    const std::size_t gpus = parts_.gpus.size();
    std::size_t count = all.size();
    std::size_t ports = 1;  // of each
    if (!is_told("nics") && find(tree_, "wiring")->text != "pcie") {
      std::set<std::string> cards;
      for (const auto* nic : all) cards.insert(nic->card.empty() ? nic->name : nic->card);
      const bool is_even = count <= gpus ? gpus % count == 0 : count % gpus == 0;
      if (!is_even && !cards.empty() && count % cards.size() == 0 && gpus % cards.size() == 0)
        count = cards.size();
      else if (is_even && count > gpus)
        count = gpus;
      else if (!is_even)
        fail(all.front()->line,
             fmt::format("{} NICs cannot be shared out evenly among {} GPUs ({}); --nics N and "
                         "--nic RATE say what counts",
                         count, gpus, named(all)));
      ports = all.size() / count;
    }
    const std::string here = place(all.front()->line);
    const std::string of_each = ports > 1 ? fmt::format(", {} ports each", ports) : "";
    const std::size_t hosts = hosts_of_domain();
    set("nics", std::to_string(count * hosts),
        fmt::format("{}, {}{}{}", here, named(all), of_each,
                    hosts > 1 ? fmt::format(", of each of {} hosts", hosts) : ""));
    tell_nearest(all);
    const double rate = all.front()->rate;
    if (rate > 0)
      set("nic_bandwidth", rate_text(static_cast<double>(ports) * payload_of(rate)),
          fmt::format("{}{} nominal, {:g} of it payload, {}",
                      ports > 1 ? fmt::format("{} x ", ports) : "", rate_text(rate),
                      payload_of(rate) / rate, here));
    else if (type_ != nullptr)
      set("nic_bandwidth", rate_text(type_->nic_bandwidth), of_type() + ": no rate in the file");
    else if (is_told("nic_bandwidth"))
      set("nic_bandwidth", "", "");
    else
      fail(all.front()->line, "tells of no NIC's rate; --nic '47 GB/s' says it");
  }
  // NVLink may join several hosts, of which the file tells of one: --gpus-per-node 72, of 4 in
  // each.
  std::size_t hosts_of_domain() const {
    const auto told = std::strtoul(find(tree_, "gpus")->text.c_str(), nullptr, 10);
    const std::size_t gpus = parts_.gpus.size();
    return told > gpus && told % gpus == 0 ? told / gpus : 1;
  }

  // A node's file shares NICs out to GPUs in order, which may be another than that of PCIe
  // switches.
  void tell_nearest(const std::vector<const NodeParts::Nic*>& nics) {
    if (nics.front()->near.empty()) return;
    const std::size_t gpus = parts_.gpus.size();
    std::vector<std::string> pairs;
    bool in_order = true;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      const std::size_t first = gpu * nics.size() / gpus;
      const std::size_t last = std::max(first + 1, (gpu + 1) * nics.size() / gpus);
      std::vector<const NodeParts::Nic*> near;
      for (std::size_t i = 0; i < nics.size(); ++i) {
        const bool is_near = std::ranges::find(nics[i]->near, gpu) != nics[i]->near.end();
        if (is_near) near.push_back(nics[i]);
        in_order = in_order && (is_near || i < first || i >= last);
      }
      pairs.push_back(fmt::format("{}: {}", gpu, near.empty() ? "none" : named(near)));
    }
    findings_.push_back({"NICs of GPUs", in_order ? "in order" : "in order, not by PCIe switch",
                         fmt::format("{}", fmt::join(pairs, ", "))});
  }
  static std::string named(const std::vector<const NodeParts::Nic*>& nics) {
    return nics.size() == 1 ? nics.front()->name
                            : fmt::format("{} .. {}", nics.front()->name, nics.back()->name);
  }

  std::string text(const NodeKind& kind) {
    std::string yaml = fmt::format(
        "help: {}",
        config::to_yaml(config::make_text(
            fmt::format("{} {}, {} NICs, by {}", kind.gpus, kind.gpu, kind.nics, name_), {})));
    yaml += "sources:\n";
    for (const Finding& one : findings_)
      yaml += fmt::format("  - |\n    {}: {} ({}).\n", one.what, one.value, one.from);
    return yaml + config::to_yaml(tree_);
  }

  const NodeParts& parts_;
  const NodeWords& words_;
  const std::string& name_;
  config::Value tree_{.kind = config::Value::Kind::map};
  Findings findings_;
  std::string gpu_;
  const GpuType* type_ = nullptr;  // none if the GPU is one of the user's own
};

}  // namespace

ImportedNode import_node(const NodeParts& parts, const NodeWords& words, const std::string& name) {
  return Importer(parts, words, name).import();
}

}  // namespace pipewright::cluster
