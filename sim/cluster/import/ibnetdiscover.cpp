#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/cluster/import/fabric_parts.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/text/value.hpp"

// Reads the output of rdma-core's ibnetdiscover: one block per switch and channel adapter, which
// lists the ports and their remote ends. Every cable is therefore listed twice, once for each end.
namespace pipewright::cluster {
namespace {

// Data rate of one lane, by its speed: InfiniBand Architecture Specification 1.7, volume 2, section
// 5.
struct LaneRate {
  std::string_view name;
  double bytes_per_second;
};
constexpr std::array lane_rates{
    LaneRate{"SDR", 0.25e9},   LaneRate{"DDR", 0.5e9},  LaneRate{"QDR", 1e9},
    LaneRate{"FDR10", 1.25e9}, LaneRate{"FDR", 1.70e9}, LaneRate{"EDR", 3.125e9},
    LaneRate{"HDR", 6.25e9},   LaneRate{"NDR", 12.5e9}, LaneRate{"XDR", 25e9},
};

// Speed of the ports of switches, by the device identifier: PCI ID Repository (Switch-IB, Switch-IB
// 2, Quantum, Quantum-2, Quantum-3). Ports have four lanes.
struct SwitchSpeed {
  std::string_view device;
  std::string_view speed;
};
constexpr std::array switch_speeds{
    SwitchSpeed{"0xcb20", "EDR"}, SwitchSpeed{"0xcf08", "EDR"}, SwitchSpeed{"0xd2f0", "HDR"},
    SwitchSpeed{"0xd2f2", "NDR"}, SwitchSpeed{"0xd2f4", "XDR"},
};

// Parses a link rate: "4xNDR" is 50 GB/s. Returns nothing if the word is not a rate.
std::optional<double> rate_of(std::string_view word) {
  const std::size_t x = word.find('x');
  if (x == 0 || x == std::string_view::npos) return std::nullopt;
  const std::optional<int> lanes = base::parse_number<int>(word.substr(0, x));
  if (!lanes || *lanes < 1 || *lanes > 12) return std::nullopt;
  for (const LaneRate& lane : lane_rates)
    if (word.substr(x + 1) == lane.name) return *lanes * lane.bytes_per_second;
  return std::nullopt;
}

// Rate of a switch's ports; 0 if its device is unknown.
double port_rate_of(std::string_view device) {
  const auto* const known = std::ranges::find(switch_speeds, device, &SwitchSpeed::device);
  return known == switch_speeds.end() ? 0 : *rate_of(fmt::format("4x{}", known->speed));
}

// Returns the next quoted text at or after `at`, and moves `at` behind the closing quote.
std::optional<std::string> quoted(std::string_view line, std::size_t& at) {
  const std::size_t open = line.find('"', at);
  const std::size_t close = open == std::string_view::npos ? open : line.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  at = close + 1;
  return std::string(line.substr(open + 1, close - open - 1));
}

struct End {         // remote end of a cable, as a port lists it
  std::string peer;  // "S-2c5eab0300c26280"
  int peer_port = 0;
  std::string description;  // description of the peer
  double rate = 0;
  int line = 0;
};
struct Device {
  bool is_switch = false;
  std::string guid;
  std::string description;
  int line = 0;
  std::map<int, End> ports;
  double port_rate = 0;  // of a switch; 0 if unknown
};

class IbnetdiscoverReader {
 public:
  explicit IbnetdiscoverReader(SourceText source) { parts_.source = std::move(source); }

  FabricParts read() {
    const std::vector<std::string> lines = lines_of(parts_.source);
    for (std::size_t i = 0; i < lines.size(); ++i) take_line(lines[i], static_cast<int>(i) + 1);
    check_ends();
    name_switches();
    add_cables();
    add_hosts();
    parts_.has_port_rates = true;
    return std::move(parts_);
  }

 private:
  [[noreturn]] void fail(int line, const Error& error) const { parts_.source.fail(line, error); }

  void take_line(std::string_view line, int number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '[') return take_port(line, number);
    const std::string_view word = line.substr(0, line.find_first_of(" \t="));
    if (word == "devid") device_ = line.substr(line.find('=') + 1);
    if (word == "Switch" || word == "Ca" || word == "Rt") return take_device(line, word, number);
    constexpr std::array keys{"vendid", "devid",  "sysimgguid", "switchguid",
                              "caguid", "rtguid", "Chassis",    "Spine",
                              "Leaf",   "Line",   "DDR",        "chassisguid"};
    const auto is_word = [&](const char* key) { return word == key; };
    if (std::none_of(keys.begin(), keys.end(), is_word))
      fail(number, Error(fmt::format("{} is not a line of ibnetdiscover", config::in_quotes(word)))
                       .allow("Switch, Ca, [PORT], vendid=.. and similar keys"));
  }

  void take_device(std::string_view line, std::string_view word, int number) {
    std::size_t at = 0;
    auto guid = quoted(line, at);
    if (!guid || guid->empty())
      fail(number, fmt::format("a {} needs its GUID in quotes after its number of ports, such as "
                               "{} 41 \"S-08c0eb03008cc87c\"",
                               word, word));
    const auto description = quoted(line, at);
    const auto [entry, is_new] = index_.try_emplace(*guid, devices_.size());
    if (!is_new)
      fail(number, fmt::format("'{}' has a second block; the first one is at line {}", *guid,
                               devices_[entry->second].line));
    devices_.push_back({.is_switch = word != "Ca",
                        .guid = *guid,
                        .description = description.value_or(""),
                        .line = number,
                        .ports = {},
                        .port_rate = port_rate_of(std::exchange(device_, {}))});
  }

  // Reads a port: [23](port's GUID) "S-08c0eb0300539a5c"[23](port's GUID) # "description" lid 1
  // 4xHDR
  void take_port(std::string_view line, int number) {
    if (devices_.empty()) fail(number, "a port comes before the first Switch or Ca");
    constexpr std::string_view expected =
        R"(expected a line such as [1] "S-08c0eb0300539a5c"[23] # "name" lid 1 4xHDR)";
    std::size_t at = 0;
    End end{.line = number};
    const auto port = bracketed(line, at);
    const std::size_t quote = at;
    const auto peer = quoted(line, at);
    const auto peer_port =
        peer && line.substr(at).starts_with('[') ? bracketed(line, at) : std::nullopt;
    if (!port || !peer || !peer_port || line.substr(0, quote).find('#') != std::string_view::npos)
      fail(number,
           fmt::format("the number of the port or of its remote end is missing; {}", expected));
    end.peer = *peer;
    end.peer_port = *peer_port;
    end.description = quoted(line, at).value_or("");
    const auto words = words_of(line.substr(at));
    for (const std::string_view word : words)
      if (const auto rate = rate_of(word)) end.rate = *rate;
    if (!words.empty() && end.rate == 0 && words.back().find('x') != std::string_view::npos)
      fail(number, Error(fmt::format("{} is not a rate", config::in_quotes(words.back())))
                       .allow(fmt::format("lanes and speed, such as 4xNDR ({})", speeds())));
    Device& device = devices_.back();
    const auto [entry, is_new] = device.ports.try_emplace(*port, std::move(end));
    if (!is_new)
      fail(number, fmt::format("port {} of '{}' is listed twice, first at line {}", *port,
                               device.guid, entry->second.line));
  }

  static std::string speeds() {
    std::string names;
    for (const LaneRate& lane : lane_rates)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", lane.name);
    return names;
  }

  static std::optional<int> bracketed(std::string_view line, std::size_t& at) {
    const std::size_t open = line.find('[', at);
    const std::size_t close = open == std::string_view::npos ? open : line.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto number = base::parse_number<int>(line.substr(open + 1, close - open - 1));
    if (!number || *number < 0) return std::nullopt;
    at = close + 1;
    return number;
  }

  // Checks that both ends of a cable agree, if both are listed.
  void check_ends() {
    if (devices_.empty()) fail(1, "has neither a Switch nor a Ca; is the output truncated?");
    for (const Device& device : devices_)
      for (const auto& [number, end] : device.ports) {
        const auto peer = index_.find(end.peer);
        if (peer == index_.end()) continue;
        const auto& ports = devices_[peer->second].ports;
        const auto back = ports.find(end.peer_port);
        if (back == ports.end()) continue;
        if (back->second.peer != device.guid || back->second.peer_port != number)
          fail(end.line, fmt::format("port {} of '{}' leads to port {} of '{}', but line {} "
                                     "connects that port to port {} of '{}'; a cable has two ends",
                                     number, device.guid, end.peer_port, end.peer,
                                     back->second.line, back->second.peer_port, back->second.peer));
        if (back->second.rate != end.rate && back->second.rate != 0 && end.rate != 0)
          fail(end.line, fmt::format("the cable to '{}' has a different rate at line {}", end.peer,
                                     back->second.line));
      }
  }

  // Name of a switch: "MF0;leaf-3:MQM8700/U1" is leaf-3. The parts of a director switch differ only
  // behind the slash. A switch without a name is called by its GUID.
  static std::string switch_name(const Device& device) {
    std::string_view text = device.description;
    if (text.find(';') == std::string_view::npos && text.find(' ') != std::string_view::npos)
      return device.guid;
    if (const std::size_t at = text.find(';'); at != std::string_view::npos)
      text.remove_prefix(at + 1);
    text = text.substr(0, text.find(':'));
    return text.empty() ? device.guid : std::string(text);
  }

  void name_switches() {
    std::map<std::string, int> uses;
    for (const Device& device : devices_)
      if (device.is_switch) ++uses[switch_name(device)];
    for (const Device& device : devices_) {
      if (!device.is_switch) continue;
      std::string name = switch_name(device);
      if (uses[name] > 1) {
        const std::size_t slash = device.description.find('/');
        name += slash == std::string::npos ? "-" + device.guid : device.description.substr(slash);
        if (!used_names_.insert(name).second) name += "-" + device.guid;
      }
      used_names_.insert(name);
      switch_of_.emplace(device.guid, static_cast<std::uint32_t>(parts_.switches.size()));
      parts_.switches.push_back({name, device.line});
    }
    // Adds switches without a block of their own, as in a truncated file or a part of a fabric.
    for (const Device& device : devices_)
      for (const auto& [number, end] : device.ports)
        if (!index_.contains(end.peer) && end.peer.starts_with("S-") &&
            switch_of_.emplace(end.peer, parts_.switches.size()).second)
          parts_.switches.push_back(
              {switch_name({.is_switch = true, .guid = end.peer, .description = end.description}),
               end.line});
    if (parts_.switches.empty()) fail(1, "has no Switch; a fabric needs at least one");
  }

  void add_cables() {
    std::set<std::pair<std::pair<std::string, int>, std::pair<std::string, int>>> seen;
    for (const Device& device : devices_) {
      if (!device.is_switch) continue;
      for (const auto& [number, end] : device.ports) {
        const auto peer = switch_of_.find(end.peer);
        if (peer == switch_of_.end() || end.peer == device.guid) continue;
        const std::pair here{device.guid, number};
        const std::pair there{end.peer, end.peer_port};
        if (!seen.insert({std::min(here, there), std::max(here, there)}).second) continue;
        const auto other = index_.find(end.peer);
        const double other_rate = other == index_.end() ? 0 : devices_[other->second].port_rate;
        parts_.cables.push_back({switch_of_.at(device.guid), peer->second, rate_at(end), end.line,
                                 std::min(device.port_rate, other_rate)});
      }
    }
  }

  // Rate of a cable, from whichever end lists it.
  double rate_at(const End& end) const {
    if (end.rate != 0) return end.rate;
    const auto peer = index_.find(end.peer);
    if (peer == index_.end()) return 0;
    const auto back = devices_[peer->second].ports.find(end.peer_port);
    return back == devices_[peer->second].ports.end() ? 0 : back->second.rate;
  }

  void add_hosts() {
    std::map<std::string, FabricParts::Host> hosts;
    std::vector<int> nameless;
    std::size_t aggregation = 0;
    const auto add = [&](const std::string& description, int line, std::uint32_t switch_index,
                         double rate) {
      const auto words = words_of(description);
      if (description.find("Aggregation Node") != std::string::npos) {
        ++aggregation;  // the reduction engine of a switch
        return;
      }
      parts_.switches[switch_index].is_leaf = true;
      if (words.size() != 2) {
        nameless.push_back(line);
      } else {
        FabricParts::Host& host = hosts[std::string(words[0].substr(0, words[0].find('.')))];
        if (host.line == 0) host.line = line;
        host.ports.push_back({std::string(words[1]), switch_index, rate, line});
      }
    };
    for (const Device& device : devices_) {
      if (device.is_switch) {
        for (const auto& [number, end] : device.ports)  // ports to adapters without a block
          if (!index_.contains(end.peer) && end.peer.starts_with("H-"))
            add(end.description, end.line, switch_of_.at(device.guid), end.rate);
        continue;
      }
      for (const auto& [number, end] : device.ports)
        if (const auto leaf = switch_of_.find(end.peer); leaf != switch_of_.end())
          add(device.description, device.line, leaf->second, rate_at(end));
    }
    for (auto& [name, host] : hosts) {
      std::stable_sort(host.ports.begin(), host.ports.end(), [](const auto& a, const auto& b) {
        return natural_less(a.device, b.device);
      });
      host.name = name;
      parts_.hosts.push_back(std::move(host));
    }
    std::sort(parts_.hosts.begin(), parts_.hosts.end(),
              [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
    if (aggregation > 0)
      parts_.findings.push_back({"left out", fmt::format("{} aggregation nodes", aggregation),
                                 "reduction engines of switches (SHARP)"});
    if (!nameless.empty())
      parts_.findings.push_back({"left out",
                                 fmt::format("{} adapters without a host name", nameless.size()),
                                 parts_.source.location(nameless.front())});
    if (parts_.hosts.empty())
      fail(nameless.empty() ? 1 : nameless.front(),
           "no Ca names its host; expected host and device in the description, such as \"node-12 "
           "mlx5_3\"");
  }

  FabricParts parts_;
  std::vector<Device> devices_;
  std::string device_;  // identifier of the device whose block begins
  std::unordered_map<std::string, std::size_t> index_;  // by GUID
  std::unordered_map<std::string, std::uint32_t> switch_of_;
  std::set<std::string> used_names_;
};

}  // namespace

FabricParts read_ibnetdiscover(SourceText source) {
  return IbnetdiscoverReader(std::move(source)).read();
}

}  // namespace pipewright::cluster
