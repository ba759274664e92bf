#include "sim/cluster/simgrid/probe.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cluster/platform/error.hpp"
#include "sim/process/process.hpp"

// The line that SimGrid's XML parser has reached. SimGrid 3.35 renamed the variable; the address of
// the name that the linked version lacks is null.
extern "C" {
[[gnu::weak]] extern int surf_parse_lineno;
[[gnu::weak]] extern int simgrid_parse_lineno;
}

namespace pipewright::cluster {
namespace {

using nlohmann::json;

// Text that precedes the reason in the message that SimGrid prints when it ends the process.
constexpr std::string_view reason_mark = "CRITICAL] ";

// Address of the parser's line, or null while SimGrid does not parse.
const int* parser_line = nullptr;

void find_parser_line() {
  parser_line = &surf_parse_lineno != nullptr ? &surf_parse_lineno : &simgrid_parse_lineno;
}

int parent_descriptor = -1;  // descriptor of the parent, for signal handlers

// Sends the line to the parent process as {"line":12}. Does not allocate, because signal handlers
// call it.
void write_line(int line) {
  std::array<char, 32> text{};
  std::size_t begin = text.size();
  const auto put_before = [&](std::string_view part) {
    begin -= part.size();
    std::ranges::copy(part, text.begin() + static_cast<std::ptrdiff_t>(begin));
  };
  put_before("}\n");
  do {
    text[--begin] = static_cast<char>('0' + line % 10);
    line /= 10;
  } while (line > 0);
  put_before("{\"line\":");
  // Ignores a failed write, because there is no other way to report it.
  if (write(parent_descriptor, text.data() + begin, text.size() - begin) < 0) return;
}
extern "C" void end_with_line(int /*signal*/) {
  if (parser_line != nullptr) write_line(*parser_line);
  std::_Exit(1);
}

// Sends the line of a load error to the parent, from "Parse error at FILE:LINE: message" or else
// from the parser, and throws the message as an exception.
[[noreturn]] void fail_load(const std::string& file, std::string_view message) {
  const std::string prefix = "Parse error at " + file + ":";
  int line = parser_line == nullptr ? 0 : *parser_line;
  if (message.starts_with(prefix)) {
    message.remove_prefix(prefix.size());
    line = std::atoi(message.data());
    message.remove_prefix(std::min(message.size(), message.find(": ") + 2));
  }
  write_line(line);
  throw std::runtime_error(std::string(message.substr(0, message.find('\n'))));
}

// Asks SimGrid for a route between the first hosts of every pair of zones, to provoke errors.
void query_routes(const PlatformFile& file) {
  const EmptyZones empty(file);
  constexpr std::size_t max_zones = 200;
  std::set<const sg4::NetZone*> zones;
  std::vector<const sg4::Host*> hosts;
  for (const sg4::Host* host : engine().get_all_hosts())
    if (zones.insert(host->get_englobing_zone()).second && hosts.size() < max_zones)
      hosts.push_back(host);
  for (const sg4::Host* from : hosts)
    for (const sg4::Host* to : hosts) {
      if (from == to || empty.are_between(from, to)) continue;
      std::vector<sg4::Link*> ignored;
      double latency = 0;
      try {
        from->route_to(to, ignored, &latency);
      } catch (const std::exception&) {
        // A missing route is no error here: Cluster::route() reports it when it is needed.
      }
    }
}

// Loads the file in a child process, because SimGrid ends the process at some errors.
void load_in_child(const PlatformFile& file, const process::Channel& parent) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  parent_descriptor = parent.into();
  find_parser_line();
  for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, end_with_line);
  try {
    engine().load_platform(file.path().string());
    parser_line = nullptr;
    engine().get_netzone_root()->seal();
    query_routes(file);
  } catch (const std::exception& error) {
    fail_load(file.path().string(), error.what());
  }
}

// Extracts the reason from SimGrid's error output: the text after reason_mark.
std::string critical_reason(const std::string& errors) {
  const std::size_t at = errors.find(reason_mark);
  if (at == std::string::npos) return "no reason given";
  const std::size_t begin = at + reason_mark.size();
  return errors.substr(begin, errors.find('\n', begin) - begin);
}

// Removes memory addresses such as "(0x55d0..)" from a message.
std::string without_addresses(std::string words) {
  for (std::size_t hex = 0; (hex = words.find(" (0x")) != std::string::npos;)
    words.erase(hex, words.find(')', hex) - hex + 1);
  return words;
}

}  // namespace

EmptyZones::EmptyZones(const PlatformFile& file) {
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    if (strcasecmp(node.attribute("routing").value(), "None") == 0)
      names_.insert(node.attribute("id").value());
  });
}

bool EmptyZones::are_between(const sg4::Host* a, const sg4::Host* b) const {
  if (names_.empty()) return false;
  using Zone = simgrid::kernel::routing::NetZoneImpl;
  std::vector<const Zone*> zones_of_a;
  for (const Zone* zone = a->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    zones_of_a.push_back(zone);
  for (const Zone* zone = b->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    if (std::ranges::find(zones_of_a, zone) != zones_of_a.end())
      return names_.contains(zone->get_name());
  return false;
}

void probe(const PlatformFile& file) {
  using process::Process;
  Process child([&](process::Channel& parent) { load_in_child(file, parent); },
                Process::Errors::store);
  constexpr double no_timeout = -1;
  const std::array<Process*, 1> waiting{&child};
  while (!child.is_over()) process::wait_for(waiting, no_timeout);
  if (child.end() == 0) return;
  int line = 0;
  std::optional<std::string> reason;
  while (const std::optional<std::string> message = child.next_message()) {
    reason = process::error_of(*message);
    if (!reason) line = json::parse(*message).value("line", 0);
  }
  throw Error(file.path(), line,
              fmt::format("SimGrid cannot load the file: {}",
                          without_addresses(reason ? *reason : critical_reason(child.errors()))));
}

}  // namespace pipewright::cluster
