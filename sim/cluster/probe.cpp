#include "sim/cluster/probe.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/empty_zone.hpp"
#include "sim/cluster/engine.hpp"

namespace pipewright::cluster {
namespace {

// What comes before the reason and before the line, in what the child says.
constexpr std::string_view reason_mark = "CRITICAL] ";
constexpr std::string_view line_mark = "\n[line] ";

// Where SimGrid's parser is. It keeps that to itself, in a variable whose name changed in 3.35.
const int* parser_line = nullptr;

void find_parser_line() {
  for (const char* const name : {"surf_parse_lineno", "simgrid_parse_lineno"})
    if (parser_line == nullptr) parser_line = static_cast<const int*>(dlsym(RTLD_DEFAULT, name));
}

void say(std::string_view text) {
  // Nobody is left to hear of it if this fails.
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

// As it may be called by a signal, nothing here allocates.
void say_line(int line) {
  std::array<char, 16> digits{};
  std::size_t begin = digits.size();
  for (; line > 0 && begin > 0; line /= 10) digits[--begin] = static_cast<char>('0' + line % 10);
  say(line_mark);
  say({digits.data() + begin, digits.size() - begin});
  say("\n");
}
extern "C" void end_with_line(int /*signal*/) {
  if (parser_line != nullptr) say_line(*parser_line);
  std::_Exit(1);
}

// "Parse error at FILE:LINE: what", or what SimGrid says that does not know the line.
void say_error(const std::string& file, std::string_view what) {
  const std::string prefix = "Parse error at " + file + ":";
  int line = parser_line == nullptr ? 0 : *parser_line;
  if (what.starts_with(prefix)) {
    what.remove_prefix(prefix.size());
    line = std::atoi(what.data());
    what.remove_prefix(std::min(what.size(), what.find(": ") + 2));
  }
  say(fmt::format("[child/{}{}\n", reason_mark, what.substr(0, what.find('\n'))));
  say_line(line);
}

// A way from the first host of each zone to that of each other.
void ask_for_ways(const PlatformFile& file) {
  const EmptyZones empty(file);
  constexpr std::size_t most_zones = 200;
  std::set<const sg4::NetZone*> zones;
  std::vector<const Host*> hosts;
  for (const Host* host : engine().get_all_hosts())
    if (zones.insert(host->get_englobing_zone()).second && hosts.size() < most_zones)
      hosts.push_back(host);
  for (const Host* from : hosts)
    for (const Host* to : hosts) {
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

[[noreturn]] void load_and_exit(const PlatformFile& file, int words) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(words, STDERR_FILENO);
  find_parser_line();
  for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, end_with_line);
  try {
    engine().load_platform(file.path().string());
    parser_line = nullptr;
    engine().get_netzone_root()->seal();
    ask_for_ways(file);
  } catch (const std::exception& error) {
    say_error(file.path().string(), error.what());
    std::_Exit(1);
  }
  std::_Exit(0);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(descriptor, buffer.data(), buffer.size())) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// What follows the first mark on its line, without addresses, "(0x55d0..)".
std::string last_words(const std::string& text) {
  const std::size_t at = text.find(reason_mark);
  if (at == std::string::npos) return "it gives no reason";
  const std::size_t begin = at + reason_mark.size();
  std::string words = text.substr(begin, text.find('\n', begin) - begin);
  for (std::size_t hex = 0; (hex = words.find(" (0x")) != std::string::npos;)
    words.erase(hex, words.find(')', hex) - hex + 1);
  return words;
}

}  // namespace

void probe(const PlatformFile& file) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error(std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::strerror(errno));
  if (child == 0) load_and_exit(file, ends[1]);
  close(ends[1]);
  const std::string words = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::size_t mark = words.rfind(line_mark);
  const int line =
      mark == std::string::npos ? 0 : std::atoi(words.c_str() + mark + line_mark.size());
  throw Error(fmt::format("{}{}: SimGrid cannot load it: {}", file.path().string(),
                          line > 0 ? fmt::format(":{}", line) : "", last_words(words)));
}

}  // namespace pipewright::cluster
