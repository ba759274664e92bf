#include "sim/cli/child_pool.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {
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
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  std::_Exit(0);  // nothing of the parent's is to be put away here
}

// A process, from its start to its end; killed if nobody waits for it.
class Child {
 public:
  Child(const Body& body, std::size_t number) : number_(number) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) fail("make a pipe");
    std::fflush(nullptr);
    process_ = fork();
    if (process_ < 0) {
      close(ends[0]);
      close(ends[1]);
      fail("start a process");
    }
    if (process_ == 0) {
      close(ends[0]);
      speak(body, ends[1]);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Child(Child&& other) noexcept
      : number_(other.number_),
        process_(std::exchange(other.process_, -1)),
        from_(other.from_),
        text_(std::move(other.text_)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(process_, other.process_);
    std::swap(from_, other.from_);
    std::swap(text_, other.text_);
    return *this;
  }
  ~Child() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    close(from_);
    waitpid(process_, nullptr, 0);
  }

  int from() const { return from_; }
  std::size_t number() const { return number_; }
  // Takes what there is to read; false at the end.
  bool listen() {
    std::array<char, 4096> buffer{};
    const ssize_t count = read(from_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    text_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }
  Said end() {
    int status = 0;
    close(from_);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    if (WIFSIGNALED(status))
      return {true, fmt::format("its process ended with signal {}", WTERMSIG(status))};
    if (text_.empty() || WEXITSTATUS(status) != 0)
      return {true, fmt::format("its process ended with status {}", WEXITSTATUS(status))};
    return {text_.front() != '+', text_.substr(1)};
  }

 private:
  std::size_t number_;
  pid_t process_ = -1;
  int from_ = -1;
  std::string text_;
};

}  // namespace

std::vector<Said> run_in_children(const std::vector<Body>& bodies, std::size_t jobs,
                                  const std::function<void(std::size_t)>& done) {
  constexpr int look_again = 100;  // milliseconds
  std::vector<Said> said(bodies.size());
  std::vector<Child> running;
  std::size_t started = 0;
  std::size_t ended = 0;
  while (ended < bodies.size()) {
    throw_if_interrupted();
    for (; running.size() < jobs && started < bodies.size(); ++started)
      running.emplace_back(bodies[started], started);
    std::vector<pollfd> waiting;
    for (const Child& child : running) waiting.push_back({child.from(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), look_again) < 0 && errno != EINTR)
      fail("wait for a process");
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || running[i].listen()) continue;
      const std::size_t number = running[i].number();
      said[number] = running[i].end();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      ++ended;
    }
    if (done) done(ended);
  }
  return said;
}

}  // namespace pipewright::cli
