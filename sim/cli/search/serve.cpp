#include "sim/cli/search/serve.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "sim/cli/search/cluster_facts.hpp"
#include "sim/cli/search/zygote.hpp"
#include "sim/config/yaml.hpp"
#include "sim/search/greeting.hpp"
#include "sim/search/line_reader.hpp"
#include "sim/search/task.hpp"

namespace pipewright::cli {
namespace {

using search::Answer;
using search::Task;

// The lines that come from one place, while another is watched.
class Listener {
 public:
  // The next line of standard input. Nothing: it has ended.
  std::optional<std::string> hear() {
    for (;;) {
      if (std::optional<std::string> line = lines_.next()) return line;
      if (!lines_.read_from(STDIN_FILENO)) return std::nullopt;
    }
  }

  // Waits until there is something to read from `descriptor`. False: standard input has ended.
  // Throws std::runtime_error after `seconds`, unless these are 0.
  bool wait_for(int descriptor, double seconds) {
    const int patience = seconds > 0 ? static_cast<int>(std::min(1e9, seconds * 1000) + 1) : -1;
    for (;;) {
      std::array<pollfd, 2> waiting{{{descriptor, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
      const int ready = poll(waiting.data(), waiting.size(), patience);
      if (ready < 0 && errno != EINTR)
        throw std::runtime_error(fmt::format("cannot wait: {}", std::strerror(errno)));
      if (ready == 0)
        throw std::runtime_error(fmt::format("assessing took longer than {:g} s", seconds));
      if (ready < 0) continue;
      if (waiting[1].revents != 0 && !lines_.read_from(STDIN_FILENO)) return false;
      if (waiting[0].revents != 0) return true;
    }
  }

 private:
  search::LineReader lines_;
};

class Server {
 public:
  explicit Server(const WorkerSettings& settings) : settings_(settings) {}

  void run() {
    while (const std::optional<std::string> line = listener_.hear()) {
      if (space_ == nullptr) {
        say(to_line(greet(search::read_greeting(*line))));
        continue;
      }
      const std::optional<Answer> answer = work(search::read_task(*line));
      if (!answer) return;
      say(to_line(*answer));
    }
  }

 private:
  static void say(const std::string& line) {
    fmt::print("{}\n", line);
    if (std::fflush(stdout) != 0) throw std::runtime_error("nobody listens");
  }

  search::Welcome greet(const search::Greeting& greeting) {
    try {
      search::Sweep sweep = search::read_sweep(config::read_yaml_text(greeting.sweep, "the sweep"));
      if (!greeting.facts) return {.facts = find_facts(sweep), .error = {}};
      space_ = std::make_unique<search::Space>(std::move(sweep), *greeting.facts);
      zygotes_.resize(search::cluster_values(space_->sweep()).size());
      return {};
    } catch (const std::runtime_error& error) {
      return {.facts = {}, .error = error.what()};
    }
  }

  // Nothing: the coordinator is gone.
  std::optional<Answer> work(const Task& task) {
    std::vector<Task> parts(zygotes_.size(), Task{.id = task.id, .kind = task.kind});
    for (const std::uint64_t candidate : task.candidates)
      parts.at(space_->cluster(candidate / space_->schedules())).candidates.push_back(candidate);
    Answer answer{.id = task.id, .rows = {}};
    for (std::size_t cluster = 0; cluster < parts.size(); ++cluster) {
      if (parts[cluster].candidates.empty()) continue;
      std::unique_ptr<Zygote>& zygote = zygotes_[cluster];
      if (!zygote) zygote = std::make_unique<Zygote>(*space_, settings_);
      std::optional<Answer> part = ask(*zygote, parts[cluster]);
      if (!part) return std::nullopt;
      std::ranges::move(part->rows, std::back_inserter(answer.rows));
    }
    // Candidates of a task come in order.
    std::ranges::sort(answer.rows, {}, &analysis::CandidateRow::candidate);
    return answer;
  }

  std::optional<Answer> ask(Zygote& zygote, const Task& task) {
    zygote.send(to_line(task));
    // It keeps to the time limit of simulations itself.
    const bool assess = task.kind == Task::Kind::assess;
    const double seconds =
        assess ? settings_.time_limit_s * static_cast<double>(task.candidates.size()) : 0;
    for (;;) {
      if (const std::optional<std::string> line = zygote.next_line())
        return search::read_answer(*line);
      if (!listener_.wait_for(zygote.from(), seconds)) return std::nullopt;
      zygote.listen();
    }
  }

  WorkerSettings settings_;
  Listener listener_;
  std::unique_ptr<search::Space> space_;
  std::vector<std::unique_ptr<Zygote>> zygotes_;  // by cluster
};

}  // namespace

int serve_search(const WorkerSettings& settings) {
  // Ctrl-C is for the coordinator, which ends its workers by what they read.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  Server(settings).run();
  return exit_ok;
}

}  // namespace pipewright::cli
