#include "sim/search/local_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/search/child.hpp"

namespace pipewright::search {
namespace {

constexpr std::size_t most_complaints = 2000;  // bytes that are kept

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

// Two ends of a pipe that goes both ways. A socket, since writing to one that nobody reads can be
// told to raise no signal.
class Pipe {
 public:
  Pipe() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) fail("make a pipe");
    // The child puts its end in the place of a standard stream, where this process may have none.
    for (int& end : ends_)
      if (end <= STDERR_FILENO) {
        const int low = std::exchange(end, fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        close(low);
      }
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int theirs() const { return ends_[0]; }
  int take_ours() {
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    return std::exchange(ends_[1], -1);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Between fork and exec: nothing that allocates.
[[noreturn]] void become(char* const* words, const std::array<int, 3>& streams, pid_t parent) {
  end_with_parent(parent);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  std::signal(SIGPIPE, SIG_DFL);
  for (int stream = 0; stream < 3; ++stream)
    dup2(streams[static_cast<std::size_t>(stream)], stream);
  execvp(words[0], words);
  const char* const why = std::strerror(errno);
  static_cast<void>(write(STDERR_FILENO, why, std::strlen(why)) == 0);
  std::_Exit(127);
}

}  // namespace

LocalProcess::LocalProcess(const std::vector<std::string>& command) {
  Pipe lines;
  Pipe complaints;
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail("start a process");
  if (process_ == 0)
    become(pointers.data(), {lines.theirs(), lines.theirs(), complaints.theirs()}, parent);
  lines_end_ = lines.take_ours();
  errors_ = complaints.take_ours();
}

LocalProcess::~LocalProcess() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  end();
}

void LocalProcess::send(const std::string& line) {
  unsent_ += line;
  unsent_ += '\n';
  say();
}

// That a process is gone is found out by reading.
void LocalProcess::say() {
  const ssize_t count = ::send(lines_end_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();
}

void LocalProcess::append_to(std::vector<pollfd>& waiting) const {
  const int directions = POLLIN | (unsent_.empty() ? 0 : POLLOUT);
  waiting.push_back({lines_end_, static_cast<short>(directions), 0});
  waiting.push_back({errors_, POLLIN, 0});
}

bool LocalProcess::move_on(const pollfd* waited) {
  if (waited[1].revents != 0) hear_complaints();
  if ((waited[0].revents & POLLOUT) != 0) say();
  return (waited[0].revents & ~POLLOUT) == 0 || lines_.read_from(lines_end_);
}

void LocalProcess::hear_complaints() {
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = read(errors_, buffer.data(), buffer.size())) > 0) {
    complaints_.append(buffer.data(), static_cast<std::size_t>(count));
    if (complaints_.size() > most_complaints)
      complaints_.erase(0, complaints_.size() - most_complaints);
  }
  if (count < 0) return;
  close(errors_);  // else poll() would report its end forever
  errors_ = -1;
}

std::string LocalProcess::end() {
  if (process_ < 0) return {};
  int status = 0;
  close(lines_end_);
  // Mostly it has ended already, or does now that nobody speaks to it.
  for (int patience = 20; waitpid(process_, &status, WNOHANG) == 0; --patience) {
    if (patience == 0) kill(process_, SIGKILL);
    usleep(5000);
  }
  process_ = -1;
  if (errors_ >= 0) hear_complaints();
  if (errors_ >= 0) close(errors_);
  while (!complaints_.empty() && complaints_.back() == '\n') complaints_.pop_back();
  const std::string last = complaints_.substr(complaints_.rfind('\n') + 1);
  return describe_end(status) + (last.empty() ? "" : ": " + last);
}

}  // namespace pipewright::search
