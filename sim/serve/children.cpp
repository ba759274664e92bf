#include "sim/serve/children.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <dirent.h>
#include <unistd.h>

#include "sim/process/process.hpp"

namespace pipewright::serve {
namespace {

// Closes all file descriptors that a child has inherited from the server except `channel`.
// Otherwise a browser's connection would stay open in the child when the server closes it.
void close_all_but(int channel) {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) return;
  std::array<int, 4096> descriptors{};
  std::size_t count = 0;
  while (const dirent* const entry = readdir(open)) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor > STDERR_FILENO && descriptor != channel && descriptor != dirfd(open) &&
        count < descriptors.size())
      descriptors.at(count++) = descriptor;
  }
  closedir(open);
  for (std::size_t i = 0; i < count; ++i) close(descriptors.at(i));
}

}  // namespace

struct Children::Child {
  std::uint64_t number = 0;
  Task task;
  std::unique_ptr<process::Process> process = nullptr;  // null while it waits
  std::optional<boost::asio::posix::stream_descriptor> messages = std::nullopt;
  std::optional<std::string> failure = std::nullopt;  // what the process reported before its end
};

Children::Children(boost::asio::io_context& context, std::size_t limit)
    : context_(context), limit_(std::max<std::size_t>(1, limit)) {}

Children::~Children() = default;

std::uint64_t Children::start(Task task) {
  cancel_slot(task.slot);
  children_.push_back(std::make_unique<Child>(Child{.number = ++last_, .task = std::move(task)}));
  const std::uint64_t number = last_;
  start_waiting();
  return number;
}

void Children::cancel(std::uint64_t number) {
  children_.remove_if([&](const auto& child) { return child->number == number; });
  start_waiting();
}

void Children::cancel_slot(const std::string& slot) {
  std::list<std::unique_ptr<Child>> ended;
  for (auto it = children_.begin(); it != children_.end();) {
    const auto next = std::next(it);
    if ((*it)->task.slot == slot) ended.splice(ended.end(), children_, it);
    it = next;
  }
  for (const auto& child : ended) {
    child->process.reset();
    child->task.on_end(superseded);
  }
  start_waiting();
}

std::size_t Children::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      children_, [](const auto& child) { return child->process != nullptr; }));
}

void Children::run(Child& child) {
  const auto body = [task = child.task.body](process::Channel& parent) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    close_all_but(parent.from());
    task([&](const std::string& line) { parent.send(line); });
  };
  child.process = std::make_unique<process::Process>(body);
  child.messages.emplace(context_, dup(child.process->from()));
  listen(child);
}

void Children::start_waiting() {
  for (auto it = children_.begin(); it != children_.end() && running() < limit_;) {
    const auto candidate = it++;
    if ((*candidate)->process) continue;
    try {
      run(**candidate);
    } catch (const std::runtime_error& error) {  // the system may have too many processes
      const std::unique_ptr<Child> failed = std::move(*candidate);
      children_.erase(candidate);
      failed->task.on_end(error.what());
    }
  }
}

void Children::listen(Child& child) {
  child.messages->async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, number = child.number](const boost::system::error_code& failed) {
        if (!failed) receive(number);
      });
}

void Children::receive(std::uint64_t number) {
  const auto find = [&] {
    return std::ranges::find_if(children_,
                                [&](const auto& child) { return child->number == number; });
  };
  auto it = find();
  if (it == children_.end()) return;
  process::Process* const process = (*it)->process.get();
  process::wait_for(std::array{process}, 0);
  while (std::optional<std::string> line = process->next_message()) {
    if (std::optional<std::string> error = process::error_of(*line)) {
      (*it)->failure = std::move(error);
      continue;
    }
    (*it)->task.on_line(*line);  // may cancel the task
    it = find();
    if (it == children_.end()) return;
  }
  if (!process->is_over()) return listen(**it);
  const int status = process->end();
  const std::unique_ptr<Child> ended = std::move(*it);
  children_.erase(it);
  if (status != 0 && !ended->failure)
    ended->failure = "its process " + process::describe_end(status);
  ended->task.on_end(ended->failure);
  start_waiting();
}

}  // namespace pipewright::serve
