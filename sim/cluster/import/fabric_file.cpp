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

class ImportedFabricWriter {
 public:
  ImportedFabricWriter(FabricParts parts, const NodeKind& kind, const FabricOptions& options)
      : parts_(std::move(parts)), node_kind_(kind), options_(options) {}

  ImportedFabric write() {
    findings_.push_back({"node", node_kind_.name + ": " + node_kind_.help, options_.node_origin});
    const HostShare share = select_hosts(parts_, node_kind_, options_, findings_);
    host_gpus_ = share.gpus;
    host_nics_ = share.nics;
    const FabricGraph graph = make_graph(parts_, graph_rates());
    for (const Finding& finding : parts_.findings) findings_.push_back(finding);
    report_findings(graph);
    XmlText xml;
    std::vector<std::string> remarks;
    for (const Finding& finding : findings_)
      remarks.push_back(
          fmt::format("{}: {} ({}).", finding.subject, finding.value, finding.origin));
    open_platform(xml, {.nodes = {{&node_kind_, nodes()}}, .made_by = options_.made_by}, remarks);
    write_gpus(xml);
    write_fabric(xml, graph);
    return {close_platform(xml), std::move(findings_)};
  }

 private:
  bool has_ports() const { return node_kind_.wiring != NodeKind::Wiring::pcie; }
  std::uint32_t nodes() const {
    return static_cast<std::uint32_t>(parts_.domains.empty() ? parts_.hosts.size()
                                                             : parts_.domains.size());
  }

  FabricRates graph_rates() const {
    const bool has_rates = parts_.has_port_rates;
    return {.host_bandwidth = host_nics_ * node_kind_.nic_bandwidth,
            .nic_bandwidth = node_kind_.nic_bandwidth,
            .oversubscription = has_rates ? 1 : options_.oversubscription};
  }

  void report_findings(const FabricGraph& graph) {
    const std::string& file = parts_.source.name;
    findings_.push_back({parts_.domains.empty() ? "nodes" : "NVLink domains",
                         fmt::format("{}, {} GPUs", nodes(), host_gpus_ * parts_.hosts.size()),
                         file});
    findings_.push_back({"switches", graph.summary, file});
    if (graph.pruned > 0)
      findings_.push_back({"left out", fmt::format("{} switches", graph.pruned),
                           "not on a shortest path between GPUs"});
    if (parts_.has_port_rates) {
      findings_.push_back({"cables between switches",
                           fmt::format("{} in {} links", graph.cables, graph.links.size()), file});
      findings_.push_back(
          {"rates", graph.rates, file + "; payload 0.96 of rates up to 25 GB/s, 0.94 above"});
      for (const FabricGraph::SlowCables& slow : graph.slow)
        findings_.push_back(
            {"trained lower",
             fmt::format("{} of {} {} cables: {}{} at {} of {}", slow.count, slow.cables, slow.kind,
                         slow.first, slow.count > 1 ? ", .." : "", rate_text(slow.rate),
                         rate_text(slow.full_rate)),
             parts_.source.location(slow.line) +
                 "; most cables, or the ports at both ends, have the higher rate"});
      if (graph.without_rate > 0)
        findings_.push_back({"unknown rates",
                             fmt::format("{} of {} cables", rate_text(node_kind_.nic_bandwidth),
                                         graph.without_rate),
                             "default: NIC rate of the node"});
    } else {
      findings_.push_back({"NIC", rate_text(node_kind_.nic_bandwidth), "the node"});
      findings_.push_back(
          {"uplinks", fmt::format("bandwidth of the hosts below / {:g}", options_.oversubscription),
           options_.oversubscription == 1 ? "default: --oversubscription 1"
                                          : "--oversubscription"});
    }
    findings_.push_back({"latency",
                         fmt::format("NIC {:g} us, switch {:g} us", node_kind_.nic_latency * 1e6,
                                     switch_latency * 1e6),
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
        write_node(xml, node_kind_, host.name, ports_of(host), node_kind_.link_class);
    } else {
      std::vector<std::vector<const Host*>> hosts(parts_.domains.size());
      for (const Host& host : parts_.hosts) hosts[host.domain].push_back(&host);
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (hosts[i].empty()) continue;
        NodeKind domain_kind = node_kind_;
        domain_kind.gpus = host_gpus_ * static_cast<std::uint32_t>(hosts[i].size());
        std::vector<std::string> nics;
        for (const Host* host : hosts[i]) nics.push_back(ports_of(*host));
        write_node(xml, domain_kind, parts_.domains[i].name,
                   fmt::format("{}", fmt::join(nics, " ")), node_kind_.link_class);
      }
    }
    xml.close("zone");
  }

  struct Nic {
    std::string name;
    double bandwidth;
  };

  // Writes a leaf switch with the NICs of its hosts. Each NIC has a link of its own.
  void write_leaf(XmlText& xml, const std::string& name, const std::vector<Nic>& nics) const {
    xml.open("<zone id=\"{}\" routing=\"Floyd\">", name);
    for (const Nic& nic : nics) xml.line("<host id=\"{}\" speed=\"1f\"/>", nic.name);
    xml.line("<router id=\"{}-switch\"/>", name);
    for (const Nic& nic : nics) {
      xml.open("<link id=\"{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\">",
               nic.name, bandwidth_text(nic.bandwidth), latency_text(node_kind_.nic_latency));
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
        const Port& port = host.ports[parts_.has_port_rates ? nic : 0];
        nics[port.switch_index].push_back({port_name(host, nic), bandwidth_of(port)});
      }
    }
    xml.open("<zone id=\"fabric\" routing=\"Floyd\">");
    for (const Host& host : parts_.hosts)
      if (!has_ports()) write_node(xml, node_kind_, host.name, "", node_kind_.link_class);
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

  // GPUs on PCIe reach every NIC of their host, so NICs on the same switch are merged into one
  // link.
  void write_pcie_host(const Host& host, std::vector<Uplink>& uplinks) const {
    std::map<std::uint32_t, double> bandwidth_by_switch;
    for (std::size_t nic = 0; nic < host_nics_; ++nic) {
      const Port& port = host.ports[parts_.has_port_rates ? nic : 0];
      bandwidth_by_switch[port.switch_index] += bandwidth_of(port);
    }
    for (const auto& [index, bandwidth] : bandwidth_by_switch) {
      const std::string& above = parts_.switches[index].name;
      uplinks.push_back({.name = fmt::format("{}--{}", host.name, above),
                         .link_class = "nic",
                         .bandwidth = bandwidth,
                         .latency = node_kind_.nic_latency,
                         .below = host.name,
                         .below_switch = host.name + "-switch",
                         .above = above,
                         .above_switch = above + "-switch"});
    }
  }

  double bandwidth_of(const Port& port) const {
    return port.rate > 0 ? payload_of(port.rate) : node_kind_.nic_bandwidth;
  }

  FabricParts parts_;
  const NodeKind& node_kind_;
  const FabricOptions& options_;
  Findings findings_;
  std::uint32_t host_gpus_ = 0;
  std::uint32_t host_nics_ = 0;
};

}  // namespace

ImportedFabric import_fabric(FabricParts parts, const NodeKind& kind,
                             const FabricOptions& options) {
  return ImportedFabricWriter(std::move(parts), kind, options).write();
}

}  // namespace pipewright::cluster
