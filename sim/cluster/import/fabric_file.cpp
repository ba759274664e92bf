#include "sim/cluster/import/fabric_file.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/fabric_graph.hpp"
#include "sim/cluster/make/leaves.hpp"

namespace pipewright::cluster {
namespace {

using Host = FabricParts::Host;
using Port = FabricParts::Port;

class Writer {
 public:
  Writer(FabricParts parts, const NodeKind& kind, const FabricChoices& choices)
      : parts_(std::move(parts)), kind_(kind), choices_(choices) {}

  ImportedFabric write() {
    findings_.push_back({"node", kind_.name + ": " + kind_.help, choices_.node_from});
    const HostShare share = settle_hosts(parts_, kind_, choices_, findings_);
    host_gpus_ = share.gpus;
    host_nics_ = share.nics;
    const FabricGraph graph = make_graph(parts_, graph_rates());
    for (const Finding& finding : parts_.findings) findings_.push_back(finding);
    tell(graph);
    XmlText xml;
    std::vector<std::string> remarks;
    for (const Finding& one : findings_)
      remarks.push_back(fmt::format("{}: {} ({}).", one.what, one.value, one.from));
    open_platform(xml, {.nodes = {{&kind_, nodes()}}, .made_by = choices_.made_by}, remarks);
    write_gpus(xml);
    write_fabric(xml, graph);
    return {close_platform(xml), std::move(findings_)};
  }

 private:
  bool has_ports() const { return kind_.wiring != NodeKind::Wiring::pcie; }
  std::uint32_t nodes() const {
    return static_cast<std::uint32_t>(parts_.domains.empty() ? parts_.hosts.size()
                                                             : parts_.domains.size());
  }

  FabricRates graph_rates() const {
    const bool told = parts_.tells_ports;
    return {.host_bandwidth = host_nics_ * kind_.nic_bandwidth,
            .nic_bandwidth = kind_.nic_bandwidth,
            .oversubscription = told ? 1 : choices_.oversubscription};
  }

  void tell(const FabricGraph& graph) {
    const std::string& file = parts_.source.name;
    findings_.push_back({parts_.domains.empty() ? "nodes" : "NVLink domains",
                         fmt::format("{}, {} GPUs", nodes(), host_gpus_ * parts_.hosts.size()),
                         file});
    findings_.push_back({"switches", graph.summary, file});
    if (graph.pruned > 0)
      findings_.push_back({"left out", fmt::format("{} switches", graph.pruned),
                           "on no shortest way between GPUs"});
    if (parts_.tells_ports) {
      findings_.push_back({"cables between switches",
                           fmt::format("{} on {} links", graph.cables, graph.links.size()), file});
      findings_.push_back(
          {"rates", graph.rates, file + ", payload 0.96 of up to 25 GB/s, 0.94 above"});
      if (graph.without_rate > 0)
        findings_.push_back(
            {"rate of the others",
             fmt::format("{} of {} cables", rate_text(kind_.nic_bandwidth), graph.without_rate),
             "default: a NIC's of the node"});
    } else {
      findings_.push_back({"NIC", rate_text(kind_.nic_bandwidth), "the node"});
      findings_.push_back({"uplinks",
                           fmt::format("what is below them, over {:g}", choices_.oversubscription),
                           choices_.oversubscription == 1 ? "default: --oversubscription 1"
                                                          : "--oversubscription"});
    }
    findings_.push_back(
        {"latency",
         fmt::format("NIC {:g} us, switch {:g} us", kind_.nic_latency * 1e6, switch_latency * 1e6),
         "the node; default"});
  }

  std::string port_name(const Host& host, std::size_t nic) const {
    return fmt::format("{}-nic-{}", host.name, nic);
  }
  std::string ports_of(const Host& host) const {
    return host_nics_ == 1 ? port_name(host, 0)
                           : fmt::format("{}-nic-[0-{}]", host.name, host_nics_ - 1);
  }

  void write_gpus(XmlText& xml) {
    if (!has_ports()) return;
    xml.open("<zone id=\"nodes\" routing=\"None\">");
    if (parts_.domains.empty()) {
      for (const Host& host : parts_.hosts)
        write_node(xml, kind_, host.name, ports_of(host), kind_.link_class);
    } else {
      std::vector<std::vector<const Host*>> hosts(parts_.domains.size());
      for (const Host& host : parts_.hosts) hosts[host.domain].push_back(&host);
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (hosts[i].empty()) continue;
        NodeKind part = kind_;
        part.gpus = host_gpus_ * static_cast<std::uint32_t>(hosts[i].size());
        std::vector<std::string> nics;
        for (const Host* host : hosts[i]) nics.push_back(ports_of(*host));
        write_node(xml, part, parts_.domains[i].name, fmt::format("{}", fmt::join(nics, " ")),
                   kind_.link_class);
      }
    }
    xml.close("zone");
  }

  struct Nic {
    std::string name;
    double bandwidth;
  };

  // The NICs of hosts around their switch, a path each.
  void write_leaf(XmlText& xml, const std::string& name, const std::vector<Nic>& nics) const {
    xml.open("<zone id=\"{}\" routing=\"Floyd\">", name);
    for (const Nic& nic : nics) xml.line("<host id=\"{}\" speed=\"1f\"/>", nic.name);
    xml.line("<router id=\"{}-switch\"/>", name);
    for (const Nic& nic : nics) {
      xml.open("<link id=\"{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\">",
               nic.name, bandwidth_text(nic.bandwidth), latency_text(kind_.nic_latency));
      xml.line("<prop id=\"class\" value=\"nic\"/>");
      xml.close("link");
    }
    for (const Nic& nic : nics) {
      xml.open("<route src=\"{}\" dst=\"{}-switch\">", nic.name, name);
      xml.line("<link_ctn id=\"{}\" direction=\"UP\"/>", nic.name);
      xml.close("route");
    }
    xml.close("zone");
  }

  void write_fabric(XmlText& xml, const FabricGraph& graph) {
    std::vector<std::vector<Nic>> nics(parts_.switches.size());
    std::vector<Uplink> uplinks;
    for (const Host& host : parts_.hosts) {
      if (!has_ports()) {
        write_pcie_host(host, uplinks);
        continue;
      }
      for (std::size_t nic = 0; nic < host_nics_; ++nic) {
        const Port& port = host.ports[parts_.tells_ports ? nic : 0];
        nics[port.on].push_back({port_name(host, nic), bandwidth_of(port)});
      }
    }
    xml.open("<zone id=\"fabric\" routing=\"Floyd\">");
    for (const Host& host : parts_.hosts)
      if (!has_ports()) write_node(xml, kind_, host.name, "", kind_.link_class);
    for (std::size_t i = 0; i < parts_.switches.size(); ++i) {
      if (!graph.used[i]) continue;
      if (nics[i].empty())
        write_switch(xml, parts_.switches[i].name);
      else
        write_leaf(xml, parts_.switches[i].name, nics[i]);
    }
    for (const FabricGraph::Link& link : graph.links) {
      const std::string& below = parts_.switches[link.below].name;
      const std::string& above = parts_.switches[link.above].name;
      uplinks.push_back({.name = fmt::format("{}--{}", below, above),
                         .link_class = link.link_class,
                         .bandwidth = link.bandwidth,
                         .below = below,
                         .below_switch = below + "-switch",
                         .above = above,
                         .above_switch = above + "-switch"});
    }
    write_uplinks(xml, uplinks);
    xml.close("zone");
  }

  // GPUs on PCIe reach any of the host's NICs: those on one switch are one link.
  void write_pcie_host(const Host& host, std::vector<Uplink>& uplinks) const {
    std::map<std::uint32_t, double> on;
    for (std::size_t nic = 0; nic < host_nics_; ++nic) {
      const Port& port = host.ports[parts_.tells_ports ? nic : 0];
      on[port.on] += bandwidth_of(port);
    }
    for (const auto& [index, bandwidth] : on) {
      const std::string& above = parts_.switches[index].name;
      uplinks.push_back({.name = fmt::format("{}--{}", host.name, above),
                         .link_class = "nic",
                         .bandwidth = bandwidth,
                         .latency = kind_.nic_latency,
                         .below = host.name,
                         .below_switch = host.name + "-switch",
                         .above = above,
                         .above_switch = above + "-switch"});
    }
  }

  double bandwidth_of(const Port& port) const {
    return port.rate > 0 ? payload_of(port.rate) : kind_.nic_bandwidth;
  }

  FabricParts parts_;
  const NodeKind& kind_;
  const FabricChoices& choices_;
  Findings findings_;
  std::uint32_t host_gpus_ = 0;
  std::uint32_t host_nics_ = 0;
};

}  // namespace

ImportedFabric import_fabric(FabricParts parts, const NodeKind& kind,
                             const FabricChoices& choices) {
  return Writer(std::move(parts), kind, choices).write();
}

}  // namespace pipewright::cluster
