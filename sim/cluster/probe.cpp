#include "sim/cluster/probe.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/engine.hpp"

namespace pipewright::cluster {
namespace {

[[noreturn]] void load_and_exit(const std::filesystem::path& file, int words) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(words, STDERR_FILENO);
  try {
    engine().load_platform(file.string());
    engine().get_netzone_root()->seal();
  } catch (const std::exception&) {
    // The parent will meet it too, and tell it.
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

// What follows the first "[category/CRITICAL] " on its line.
std::string last_words(const std::string& text) {
  constexpr std::string_view mark = "CRITICAL] ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "it gives no reason";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

void probe(const std::filesystem::path& file) {
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
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(fmt::format("{}: SimGrid cannot load it: {}", file.string(), last_words(words)));
}

}  // namespace pipewright::cluster
