#include "sim/cluster/import/fabric_hosts.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "sim/cluster/make/leaves.hpp"
#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {
namespace {

using Host = FabricParts::Host;
using Port = FabricParts::Port;

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

// Replaces characters that are not allowed in platform files or in the property `nic`.
std::string sanitize_name(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-')
      c = '-';
  return text;
}

class HostSelector {
 public:
  HostSelector(FabricParts& parts, const NodeKind& kind, const FabricOptions& options,
               Findings& findings)
      : parts_(parts), kind_(kind), options_(options), findings_(findings) {}

  HostShare select() {
    choose_hosts();
    divide_domains();
    check_ports();
    assign_names();
    return share_;
  }

 private:
  [[noreturn]] void fail(int line, const Error& error) const { parts_.source.fail(line, error); }

  void choose_hosts() {
    std::size_t excluded = 0;
    const auto is_excluded = [&](const Host& host) {
      const bool excludes = (!options_.only.empty() && !matches(options_.only, host.name)) ||
                            matches(options_.skip, host.name);
      excluded += excludes ? 1 : 0;
      return excludes;
    };
    std::erase_if(parts_.hosts, is_excluded);
    if (excluded > 0)
      findings_.push_back({"left out", fmt::format("{} hosts", excluded), "--only, --skip"});
    if (parts_.hosts.empty())
      fail(1, fmt::format("--only {} and --skip {} exclude every host",
                          fmt::join(options_.only, " "), fmt::join(options_.skip, " ")));
  }

  // Divides the GPUs and NICs of the node kind among the hosts of the largest block: a block is an
  // NVLink domain, and the node kind describes a whole domain.
  void divide_domains() {
    if (parts_.domains.empty()) {
      share_.gpus = kind_.gpus;
      share_.nics = kind_.nics;
      if (options_.host_gpus)
        throw Error("--host-gpus needs a file with blocks, whose hosts are joined by NVLink");
      return;
    }
    std::vector<std::uint32_t> hosts(parts_.domains.size(), 0);
    for (const Host& host : parts_.hosts) ++hosts.at(host.domain);
    const auto largest = *std::max_element(hosts.begin(), hosts.end());
    const std::uint32_t hosts_per_kind =
        options_.host_gpus && *options_.host_gpus > 0 ? kind_.gpus / *options_.host_gpus : largest;
    const auto line = parts_.domains.front().line;
    if (hosts_per_kind == 0 || hosts_per_kind < largest || kind_.gpus % hosts_per_kind != 0 ||
        kind_.nics % hosts_per_kind != 0)
      fail(line,
           Error(fmt::format(
                     "{} GPUs and {} NICs of {} cannot be divided evenly among {} hosts of a block",
                     kind_.gpus, kind_.nics, kind_.name, largest))
               .suggest("give the number of GPUs per host with --host-gpus, and the node kind with "
                        "--node"));
    share_.gpus = kind_.gpus / hosts_per_kind;
    share_.nics = kind_.nics / hosts_per_kind;
    if (kind_.wiring != NodeKind::Wiring::nvswitch)
      fail(line,
           Error(fmt::format(
                     "blocks are NVLink domains, but the GPUs of node kind {} have no NVSwitch",
                     kind_.name))
               .suggest("choose another kind with --node"));
    findings_.push_back({"GPUs per host", fmt::format("{}, with {} NICs", share_.gpus, share_.nics),
                         options_.host_gpus ? "--host-gpus"
                                            : fmt::format("{} GPUs / {} hosts of the largest block",
                                                          kind_.gpus, largest)});
  }

  void check_ports() {
    if (!parts_.has_port_rates) return;
    const auto is_incomplete = [&](const Host& host) { return host.ports.size() != share_.nics; };
    const auto incomplete = std::ranges::find_if(parts_.hosts, is_incomplete);
    if (incomplete == parts_.hosts.end()) return;
    const auto count = std::count_if(parts_.hosts.begin(), parts_.hosts.end(), is_incomplete);
    const auto total = static_cast<std::ptrdiff_t>(parts_.hosts.size());
    if (!options_.skip_incomplete || count == total) {
      std::vector<std::string> devices;
      for (const Port& port : incomplete->ports) devices.push_back(port.device);
      fail(incomplete->line,
           Error(fmt::format(
                     "host '{}'{} has {} NIC ports here ({}), but {} has {}", incomplete->name,
                     count > 1 ? fmt::format(" (and {} more)", count - 1) : "",
                     incomplete->ports.size(), fmt::join(devices, ", "), kind_.name, share_.nics))
               .allow(fmt::format("a --node with the same number, --skip '{}' to leave out the "
                                  "host, or --skip-incomplete to leave out all such hosts",
                                  incomplete->name)));
    }
    findings_.push_back({"left out",
                         fmt::format("{} hosts without {} NICs: {}{}", count, share_.nics,
                                     incomplete->name, count > 1 ? ", .." : ""),
                         "--skip-incomplete"});
    std::erase_if(parts_.hosts, is_incomplete);
  }

  // Gives every host, block and switch a unique name; zones, routers and hosts share one namespace.
  void assign_names() {
    std::set<std::string> used_names{"cluster", "nodes", "fabric"};
    const auto reserve_name = [&](const std::string& name) {
      return !used_names.contains(name) && !used_names.contains(name + "-switch") &&
             used_names.insert(name).second && used_names.insert(name + "-switch").second;
    };
    const auto set_name = [&](std::string& name, int line, std::string_view kind) {
      name = sanitize_name(name);
      if (!reserve_name(name))
        fail(line, fmt::format("the name '{}' is used twice (by a {})", name, kind));
    };
    if (parts_.domains.empty())
      for (Host& host : parts_.hosts) set_name(host.name, host.line, "host");
    for (FabricParts::Domain& domain : parts_.domains) set_name(domain.name, domain.line, "block");
    if (!parts_.domains.empty())
      for (Host& host : parts_.hosts) host.name = sanitize_name(host.name);
    for (FabricParts::Switch& network_switch : parts_.switches) {
      network_switch.name = sanitize_name(network_switch.name);
      while (!reserve_name(network_switch.name)) network_switch.name += "-switch";
    }
    check_gpus(std::uint64_t{share_.gpus} * parts_.hosts.size());
  }

  FabricParts& parts_;
  const NodeKind& kind_;
  const FabricOptions& options_;
  Findings& findings_;
  HostShare share_;
};

}  // namespace

HostShare select_hosts(FabricParts& parts, const NodeKind& kind, const FabricOptions& options,
                       Findings& findings) {
  return HostSelector(parts, kind, options, findings).select();
}

}  // namespace pipewright::cluster
