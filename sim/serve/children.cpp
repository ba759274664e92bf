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

// What the server has open is none of a child's: connections shall end when the server ends them.
void close_all_but(int kept) {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) return;
  std::array<int, 4096> found{};
  std::size_t count = 0;
  while (const dirent* const entry = readdir(open)) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor > STDERR_FILENO && descriptor != kept && descriptor != dirfd(open) &&
        count < found.size())
      found.at(count++) = descriptor;
  }
  closedir(open);
  for (std::size_t i = 0; i < count; ++i) close(found.at(i));
}

}  // namespace

struct Children::Child {
  std::uint64_t number = 0;
  Task task;
  std::unique_ptr<process::Process> process = nullptr;  // once it runs
  std::optional<boost::asio::posix::stream_descriptor> messages = std::nullopt;
};

Children::Children(boost::asio::io_context& context, std::size_t most)
    : context_(context), most_(std::max<std::size_t>(1, most)) {}

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
  for (auto at = children_.begin(); at != children_.end();) {
    const auto next = std::next(at);
    if ((*at)->task.slot == slot) ended.splice(ended.end(), children_, at);
    at = next;
  }
  for (const auto& child : ended) {
    child->process.reset();
    child->task.ended(superseded);
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
  for (auto at = children_.begin(); at != children_.end() && running() < most_;) {
    const auto here = at++;
    if ((*here)->process) continue;
    try {
      run(**here);
    } catch (const std::runtime_error& error) {  // there may be too many processes
      const std::unique_ptr<Child> failed = std::move(*here);
      children_.erase(here);
      failed->task.ended(error.what());
    }
  }
}

void Children::listen(Child& child) {
  child.messages->async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, number = child.number](const boost::system::error_code& failed) {
        if (!failed) hear(number);
      });
}

void Children::hear(std::uint64_t number) {
  const auto find = [&] {
    return std::ranges::find_if(children_, [&](const auto& one) { return one->number == number; });
  };
  auto at = find();
  if (at == children_.end()) return;
  process::Process* const process = (*at)->process.get();
  process::wait_for(std::array{process}, 0);
  std::optional<std::string> failure;
  while (std::optional<std::string> line = process->next_message()) {
    failure = process::error_of(*line);
    if (failure) continue;
    (*at)->task.said(*line);  // which may cancel it
    at = find();
    if (at == children_.end()) return;
  }
  if (!process->is_over()) return listen(**at);
  const int status = process->end();
  if (status != 0 && !failure) failure = "its process " + process::describe_end(status);
  const std::unique_ptr<Child> ended = std::move(*at);
  children_.erase(at);
  ended->task.ended(failure);
  start_waiting();
}

}  // namespace pipewright::serve
