#include "sim/cli/search/zygote.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/search/candidate_evaluator.hpp"
#include "sim/search/child.hpp"
#include "sim/search/task.hpp"

namespace pipewright::cli {
namespace {

// False if nobody reads it.
bool write_line(int into, std::string line) {
  line += '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t count = write(into, line.data() + at, line.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

// Ends when nobody speaks to it any more.
void evaluate(const search::Space& space, const WorkerSettings& settings, int from, int into) {
  CandidateEvaluator evaluator(space, settings.time_limit_s, from);
  search::LineReader lines;
  for (;;) {
    const std::optional<std::string> line = lines.next();
    if (!line) {
      if (!lines.read_from(from)) return;
      continue;
    }
    const search::Task task = search::read_task(*line);
    search::Answer answer{.id = task.id, .rows = {}};
    if (task.kind == search::Task::Kind::assess) {
      answer.rows = evaluator.assess(task.candidates);
    } else {
      std::optional<analysis::CandidateRow> row = evaluator.simulate(task.candidates.at(0));
      if (!row) return;
      answer.rows.push_back(std::move(*row));
    }
    if (!write_line(into, to_line(answer))) return;
  }
}

[[noreturn]] void be_zygote(const search::Space& space, const WorkerSettings& settings, int from,
                            int into) {
  try {
    dup2(STDERR_FILENO, STDOUT_FILENO);  // answers alone go to the coordinator
    if (settings.memory_bytes > 0) search::limit_memory(settings.memory_bytes);
    evaluate(space, settings, from, into);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pipewright: {}\n", error.what());
    std::_Exit(exit_our_fault);
  }
  std::_Exit(exit_ok);
}

}  // namespace

Zygote::Zygote(const search::Space& space, const WorkerSettings& settings) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (pipe2(there.data(), O_CLOEXEC) != 0 || pipe2(back.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0)
    throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (process_ == 0) {
    search::end_with_parent(parent);
    close(there[1]);
    close(back[0]);
    be_zygote(space, settings, there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  into_ = there[1];
  from_ = back[0];
}

Zygote::~Zygote() {
  close(into_);
  close(from_);
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Zygote::send(const std::string& line) {
  if (!write_line(into_, line)) report_end();
}

void Zygote::listen() {
  if (!lines_.read_from(from_)) report_end();
}

void Zygote::report_end() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  throw std::runtime_error("the process that assesses candidates " + search::describe_end(status));
}

}  // namespace pipewright::cli
