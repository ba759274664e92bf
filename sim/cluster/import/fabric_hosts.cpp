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

// A name that other names of the file and the property `nic` can hold.
std::string plain(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-')
      c = '-';
  return text;
}

class Settler {
 public:
  Settler(FabricParts& parts, const NodeKind& kind, const FabricChoices& choices,
          Findings& findings)
      : parts_(parts), kind_(kind), choices_(choices), findings_(findings) {}

  HostShare settle() {
    choose_hosts();
    share_domains();
    check_ports();
    name_all();
    return share_;
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    parts_.source.fail(line, what);
  }

  void choose_hosts() {
    std::size_t left = 0;
    const auto unwanted = [&](const Host& host) {
      const bool is = (!choices_.only.empty() && !matches(choices_.only, host.name)) ||
                      matches(choices_.skip, host.name);
      left += is ? 1 : 0;
      return is;
    };
    std::erase_if(parts_.hosts, unwanted);
    if (left > 0)
      findings_.push_back({"left out", fmt::format("{} hosts", left), "--only, --skip"});
    if (parts_.hosts.empty())
      fail(1, fmt::format("no host is left by --only {} and --skip {}",
                          fmt::join(choices_.only, " "), fmt::join(choices_.skip, " ")));
  }

  // Blocks are NVLink domains: the GPUs of the kind are those of the largest.
  void share_domains() {
    if (parts_.domains.empty()) {
      share_.gpus = kind_.gpus;
      share_.nics = kind_.nics;
      if (choices_.host_gpus)
        throw Error("--host-gpus is of files with blocks, whose hosts NVLink joins");
      return;
    }
    std::vector<std::uint32_t> hosts(parts_.domains.size(), 0);
    for (const Host& host : parts_.hosts) ++hosts.at(host.domain);
    const auto largest = *std::max_element(hosts.begin(), hosts.end());
    const std::uint32_t of_kind =
        choices_.host_gpus && *choices_.host_gpus > 0 ? kind_.gpus / *choices_.host_gpus : largest;
    const auto line = parts_.domains.front().line;
    if (of_kind == 0 || of_kind < largest || kind_.gpus % of_kind != 0 || kind_.nics % of_kind != 0)
      fail(line,
           fmt::format("{} GPUs and {} NICs of {} are no whole number for each of {} hosts of "
                       "a block; say with --host-gpus how many GPUs a host has, and with "
                       "--node what joins them",
                       kind_.gpus, kind_.nics, kind_.name, largest));
    share_.gpus = kind_.gpus / of_kind;
    share_.nics = kind_.nics / of_kind;
    if (kind_.wiring != NodeKind::Wiring::nvswitch)
      fail(line, fmt::format("blocks are NVLink domains, but the GPUs of {} are on no NVSwitch",
                             kind_.name));
    findings_.push_back(
        {"GPUs of a host", fmt::format("{}, with {} NICs", share_.gpus, share_.nics),
         choices_.host_gpus
             ? "--host-gpus"
             : fmt::format("{} GPUs over {} hosts of the largest block", kind_.gpus, largest)});
  }

  void check_ports() {
    if (!parts_.tells_ports) return;
    const auto is_odd = [&](const Host& host) { return host.ports.size() != share_.nics; };
    const auto odd = std::ranges::find_if(parts_.hosts, is_odd);
    if (odd == parts_.hosts.end()) return;
    const auto count = std::count_if(parts_.hosts.begin(), parts_.hosts.end(), is_odd);
    const auto all = static_cast<std::ptrdiff_t>(parts_.hosts.size());
    if (!choices_.skip_incomplete || count == all) {
      std::vector<std::string> devices;
      for (const Port& port : odd->ports) devices.push_back(port.device);
      fail(odd->line,
           fmt::format("host '{}'{} has {} ports of NICs here ({}), but {} has {}; allowed: a "
                       "--node with as many, --skip '{}' to leave hosts out, or --skip-incomplete "
                       "for all like it",
                       odd->name, count > 1 ? fmt::format(" (and {} more)", count - 1) : "",
                       odd->ports.size(), fmt::join(devices, ", "), kind_.name, share_.nics,
                       odd->name));
    }
    findings_.push_back({"left out",
                         fmt::format("{} hosts without {} NICs: {}{}", count, share_.nics,
                                     odd->name, count > 1 ? ", .." : ""),
                         "--skip-incomplete"});
    std::erase_if(parts_.hosts, is_odd);
  }

  // Zones, routers and hosts have one name each.
  void name_all() {
    std::set<std::string> taken{"cluster", "nodes", "fabric"};
    const auto take = [&](const std::string& name) {
      return !taken.contains(name) && !taken.contains(name + "-switch") &&
             taken.insert(name).second && taken.insert(name + "-switch").second;
    };
    const auto named = [&](std::string& name, int line, std::string_view what) {
      name = plain(name);
      if (!take(name)) fail(line, fmt::format("a second {} has the name '{}'", what, name));
    };
    if (parts_.domains.empty())
      for (Host& host : parts_.hosts) named(host.name, host.line, "host");
    for (FabricParts::Domain& domain : parts_.domains) named(domain.name, domain.line, "block");
    if (!parts_.domains.empty())
      for (Host& host : parts_.hosts) host.name = plain(host.name);
    for (FabricParts::Switch& one : parts_.switches) {
      one.name = plain(one.name);
      while (!take(one.name)) one.name += "-switch";
    }
    check_gpus(std::uint64_t{share_.gpus} * parts_.hosts.size());
  }

  FabricParts& parts_;
  const NodeKind& kind_;
  const FabricChoices& choices_;
  Findings& findings_;
  HostShare share_;
};

}  // namespace

HostShare settle_hosts(FabricParts& parts, const NodeKind& kind, const FabricChoices& choices,
                       Findings& findings) {
  return Settler(parts, kind, choices, findings).settle();
}

}  // namespace pipewright::cluster
