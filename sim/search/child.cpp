#include "sim/search/child.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipewright::search {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

// The first byte says whether it went well; the rest is the text.
std::string answer(const Body& body) {
  try {
    return fmt::format("+{}", body());
  } catch (const std::bad_alloc&) {
    return "-not enough memory";
  } catch (const std::exception& error) {
    return fmt::format("-{}", error.what());
  }
}

[[noreturn]] void speak(const Body& body, int into) {
  const std::string text = answer(body);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(into, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  std::_Exit(0);  // nothing of the parent's is to be put away here
}

}  // namespace

Child::Child(const Body& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) {
    close(ends[0]);
    close(ends[1]);
    fail("start a process");
  }
  if (process_ == 0) {
    end_with_parent(parent);
    close(ends[0]);
    speak(body, ends[1]);
  }
  close(ends[1]);
  from_ = ends[0];
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      from_(other.from_),
      text_(std::move(other.text_)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(from_, other.from_);
  std::swap(text_, other.text_);
  return *this;
}

Child::~Child() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  close(from_);
  waitpid(process_, nullptr, 0);
}

bool Child::listen() {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(from_, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  text_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

Said Child::end() {
  int status = 0;
  close(from_);
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text_.empty())
    return {true, "its process " + describe_end(status)};
  return {text_.front() != '+', text_.substr(1)};
}

std::optional<Said> run_within(double seconds, const Body& body, int parent) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Child child(body);
  for (;;) {
    std::array<pollfd, 2> waiting{{{child.from(), POLLIN, 0}, {parent, 0, 0}}};
    constexpr int look_again = 100;  // milliseconds
    if (poll(waiting.data(), waiting.size(), look_again) < 0 && errno != EINTR)
      fail("wait for a process");
    if (waiting[1].revents != 0) return std::nullopt;
    if (waiting[0].revents != 0 && !child.listen()) return child.end();
    const std::chrono::duration<double> taken = Clock::now() - start;
    if (seconds > 0 && taken.count() > seconds)
      return Said{true, fmt::format("took longer than {:g} s", seconds)};
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(0);  // it was faster
}

void limit_memory(std::uint64_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) fail("limit the memory of a process");
}

}  // namespace pipewright::search
