#include "sim/process/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipewright::process {
namespace {

constexpr std::size_t max_stored_errors = std::size_t{1} << 16U;  // bytes

[[noreturn]] void fail(const char* action) {
  throw std::runtime_error(fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

// Both ends of a connection between parent and child. It is a socket, as writing to a socket whose
// peer is gone can return an error instead of raising a signal.
class Pipe {
 public:
  Pipe() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) fail("make a pipe");
    // The child moves these ends onto its standard streams 0 to 2, so an end that was opened with
    // such a number is moved to a higher one.
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

  int child_end() const { return ends_[0]; }
  int take_parent_end() {
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    return std::exchange(ends_[1], -1);
  }
  void close_parent_end() { close(std::exchange(ends_[1], -1)); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Makes the kernel kill this process when `parent`, which started it, ends.
void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(0);  // the parent ended before the call
}

// Runs the function of a forked child and ends the child with _Exit(), because exit() would also
// run the exit handlers that the child inherits from its parent.
[[noreturn]] void run_and_exit(const Process::Main& main, Channel channel) {
  std::string error;
  try {
    main(channel);
    std::_Exit(EXIT_SUCCESS);
  } catch (const std::bad_alloc&) {
    error = "not enough memory";
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  channel.send(error_message(error));
  std::_Exit(EXIT_FAILURE);
}

// Turns a forked child into another program with exec. It runs between fork and exec, where memory
// must not be allocated.
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

Process::Process(const Main& main, Errors errors) {
  Pipe messages;
  std::optional<Pipe> stored;
  if (errors == Errors::store) stored.emplace();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail("start a process");
  if (process_ == 0) {
    end_with_parent(parent);
    messages.close_parent_end();
    if (stored) dup2(stored->child_end(), STDERR_FILENO);
    run_and_exit(main, {messages.child_end(), messages.child_end()});
  }
  messages_end_ = messages.take_parent_end();
  if (stored) errors_end_ = stored->take_parent_end();
}

Process::Process(const std::vector<std::string>& command) {
  Pipe messages;
  Pipe errors;
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail("start a process");
  if (process_ == 0)
    become(pointers.data(), {messages.child_end(), messages.child_end(), errors.child_end()},
           parent);
  messages_end_ = messages.take_parent_end();
  errors_end_ = errors.take_parent_end();
}

Process::~Process() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  end();
}

void Process::send(const std::string& message) {
  unsent_ += message;
  unsent_ += '\n';
  write_unsent();
}

// Sends as much of the unsent text as the socket accepts. A send error means that the process has
// ended, which the next read reports.
void Process::write_unsent() {
  const ssize_t count = ::send(messages_end_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();
}

void Process::store_errors() {
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = read(errors_end_, buffer.data(), buffer.size())) > 0) {
    stored_errors_.append(buffer.data(), static_cast<std::size_t>(count));
    if (stored_errors_.size() > max_stored_errors)
      stored_errors_.erase(0, stored_errors_.size() - max_stored_errors);
  }
  if (count < 0) return;
  close(errors_end_);  // otherwise poll() would report the end of the stream forever
  errors_end_ = -1;
}

// Waits for the process to exit after its connection was closed, and kills it after 0.1 s. Returns
// its status.
int Process::wait_for_status() {
  using std::chrono::microseconds;
  constexpr microseconds patience = std::chrono::milliseconds(100);
  int status = 0;
  microseconds waited{0};
  for (microseconds nap{20}; waitpid(process_, &status, WNOHANG) == 0; nap *= 2) {
    if (waited >= patience) kill(process_, SIGKILL);
    nap = std::min(nap, microseconds(5000));
    usleep(static_cast<useconds_t>(nap.count()));
    waited += nap;
  }
  process_ = -1;
  return status;
}

int Process::end() {
  if (process_ < 0) return 0;
  close(std::exchange(messages_end_, -1));
  is_over_ = true;
  const int status = wait_for_status();
  if (errors_end_ >= 0) store_errors();
  if (errors_end_ >= 0) close(std::exchange(errors_end_, -1));
  return status;
}

bool wait_for(std::span<Process* const> processes, double seconds, Channel* parent) {
  std::vector<pollfd> waiting;
  for (const Process* process : processes) {
    const int directions = POLLIN | (process->unsent_.empty() ? 0 : POLLOUT);
    waiting.push_back({process->messages_end_, static_cast<short>(directions), 0});
    waiting.push_back({process->errors_end_, POLLIN, 0});
  }
  waiting.push_back({parent == nullptr ? -1 : parent->from(), POLLIN, 0});
  constexpr double longest = 1e6;  // seconds; callers wait again after that
  const double whole = std::floor(std::min(seconds, longest));
  const timespec limit{static_cast<time_t>(whole),
                       static_cast<long>((std::min(seconds, longest) - whole) * 1e9)};
  if (ppoll(waiting.data(), waiting.size(), seconds < 0 ? nullptr : &limit, nullptr) < 0) {
    if (errno != EINTR) fail("wait for a process");
    return true;
  }
  const pollfd* waited = waiting.data();
  for (Process* process : processes) {
    const pollfd& messages = *waited++;
    const pollfd& errors = *waited++;
    if (errors.revents != 0) process->store_errors();
    if ((messages.revents & POLLOUT) != 0) process->write_unsent();
    if ((messages.revents & ~POLLOUT) != 0 && !process->messages_.read_from(messages.fd))
      process->is_over_ = true;
  }
  return waited->revents == 0 || parent->take();
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

void limit_memory(std::uint64_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) fail("limit the memory of a process");
}

}  // namespace pipewright::process
