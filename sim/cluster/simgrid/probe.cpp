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

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cluster/platform/error.hpp"
#include "sim/process/process.hpp"

namespace pipewright::cluster {
namespace {

using nlohmann::json;

// What comes before the reason in what SimGrid writes when it ends the process.
constexpr std::string_view reason_mark = "CRITICAL] ";

// Where SimGrid's parser is. It keeps that to itself, in a variable whose name changed in 3.35.
const int* parser_line = nullptr;

void find_parser_line() {
  for (const char* const name : {"surf_parse_lineno", "simgrid_parse_lineno"})
    if (parser_line == nullptr) parser_line = static_cast<const int*>(dlsym(RTLD_DEFAULT, name));
}

int line_goes_to = -1;  // the parent, for a signal

// {"line":12}, as a message to the parent. As it may be called by a signal, nothing here allocates.
void say_line(int line) {
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
  // Nobody is left to hear of it if this fails.
  if (write(line_goes_to, text.data() + begin, text.size() - begin) < 0) return;
}
extern "C" void end_with_line(int /*signal*/) {
  if (parser_line != nullptr) say_line(*parser_line);
  std::_Exit(1);
}

// Of "Parse error at FILE:LINE: what", or of what SimGrid says that does not know the line.
[[noreturn]] void fail(const std::string& file, std::string_view what) {
  const std::string prefix = "Parse error at " + file + ":";
  int line = parser_line == nullptr ? 0 : *parser_line;
  if (what.starts_with(prefix)) {
    what.remove_prefix(prefix.size());
    line = std::atoi(what.data());
    what.remove_prefix(std::min(what.size(), what.find(": ") + 2));
  }
  say_line(line);
  throw std::runtime_error(std::string(what.substr(0, what.find('\n'))));
}

// A way from the first host of each zone to that of each other.
void ask_for_ways(const PlatformFile& file) {
  const EmptyZones empty(file);
  constexpr std::size_t most_zones = 200;
  std::set<const sg4::NetZone*> zones;
  std::vector<const sg4::Host*> hosts;
  for (const sg4::Host* host : engine().get_all_hosts())
    if (zones.insert(host->get_englobing_zone()).second && hosts.size() < most_zones)
      hosts.push_back(host);
  for (const sg4::Host* from : hosts)
    for (const sg4::Host* to : hosts) {
      if (from == to || empty.are_between(from, to)) continue;
      std::vector<sg4::Link*> ignored;
      double latency = 0;
      try {
        from->route_to(to, ignored, &latency);
      } catch (const std::exception&) {
        // There is none, which Cluster::route() tells.
      }
    }
}

// In a child process, which SimGrid may end.
void load(const PlatformFile& file, const process::Channel& parent) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  line_goes_to = parent.into();
  find_parser_line();
  for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, end_with_line);
  try {
    engine().load_platform(file.path().string());
    parser_line = nullptr;
    engine().get_netzone_root()->seal();
    ask_for_ways(file);
  } catch (const std::exception& error) {
    fail(file.path().string(), error.what());
  }
}

// What SimGrid wrote behind its mark.
std::string critical_reason(const std::string& errors) {
  const std::size_t at = errors.find(reason_mark);
  if (at == std::string::npos) return "it gives no reason";
  const std::size_t begin = at + reason_mark.size();
  return errors.substr(begin, errors.find('\n', begin) - begin);
}

// Without "(0x55d0..)".
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
  std::vector<const Zone*> around_a;
  for (const Zone* zone = a->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    around_a.push_back(zone);
  for (const Zone* zone = b->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    if (std::ranges::find(around_a, zone) != around_a.end())
      return names_.contains(zone->get_name());
  return false;
}

void probe(const PlatformFile& file) {
  using process::Process;
  Process child([&](process::Channel& parent) { load(file, parent); }, Process::Errors::keep);
  constexpr double without_end = -1;
  const std::array<Process*, 1> waiting{&child};
  while (!child.is_over()) process::wait_for(waiting, without_end);
  if (child.end() == 0) return;
  int line = 0;
  std::optional<std::string> reason;
  while (const std::optional<std::string> message = child.next_message()) {
    reason = process::error_of(*message);
    if (!reason) line = json::parse(*message).value("line", 0);
  }
  throw Error(file.path(), line,
              fmt::format("SimGrid cannot load it: {}",
                          without_addresses(reason ? *reason : critical_reason(child.errors()))));
}

}  // namespace pipewright::cluster
