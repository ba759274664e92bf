#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/report/search/row_json.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/search/cluster_worker.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/cli/search/trials.hpp"
#include "sim/cli/search/weeks_worker.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/process.hpp"
#include "sim/process/run.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::cli {
namespace {

using search::Answer;
using search::Task;

search::ClusterFacts facts_of(const std::string& value) {
  const config::Value text = config::make_text(value, {});
  const std::filesystem::path file = config::library_or_path({text, "cluster"}, "clusters", ".xml");
  const bool listed = config::is_library_name(value, ".xml");
  const cluster::Cluster cluster = cluster::Cluster::load(file, listed ? value : std::string());
  const std::vector<cluster::Host*>& gpus = cluster.gpus();
  std::map<std::uint32_t, std::uint32_t> of_node;
  for (const cluster::Host* gpu : gpus) ++of_node[cluster.node_of(gpu)];
  std::uint32_t per_node = 0;
  for (const auto& [node, count] : of_node) per_node = std::max(per_node, count);
  return {.name = cluster.name(),
          .gpus = static_cast<std::uint32_t>(gpus.size()),
          .gpus_per_node = per_node,
          .gpu = cluster::gpu_of(gpus.front()),
          .memory = cluster::memory_of(gpus.front())};
}

// What the clusters of a sweep are, each looked at in a process of its own. Throws config::Error.
std::vector<search::ClusterFacts> find_facts(const search::Sweep& sweep) {
  std::vector<search::ClusterFacts> facts;
  for (const std::string& value : search::cluster_values(sweep)) {
    if (value.empty()) {  // the ideal network has what is asked of it
      facts.emplace_back();
      continue;
    }
    const process::Result found = process::run(
        [&] { return to_line(search::HandshakeReply{.facts = {{facts_of(value)}}, .error = {}}); });
    if (found.failed) throw config::Error(found.text);
    facts.push_back(search::read_handshake_reply(found.text).facts->front());
  }
  return facts;
}

class Worker {
 public:
  explicit Worker(const WorkerSettings& settings) : settings_(settings) {}

  void run() {
    while (const std::optional<std::string> line = coordinator_.receive()) {
      if (space_ == nullptr) {
        say(to_line(reply(search::read_handshake(*line))));
        continue;
      }
      const std::optional<Answer> answer = work(search::read_task(*line));
      if (!answer) return;
      say(to_line(*answer));
    }
  }

 private:
  using Clusters = std::vector<std::optional<process::Process>>;

  void say(const std::string& line) const {
    if (!coordinator_.send(line)) throw std::runtime_error("nobody listens");
  }

  search::HandshakeReply reply(const search::Handshake& handshake) {
    try {
      search::Sweep sweep =
          search::read_sweep(config::read_yaml_text(handshake.sweep, "the sweep"));
      if (!handshake.facts) return {.facts = find_facts(sweep), .error = {}};
      space_ = std::make_unique<search::Space>(std::move(sweep), *handshake.facts);
      clusters_ = Clusters(search::cluster_values(space_->sweep()).size());
      return {};
    } catch (const std::runtime_error& error) {
      return {.facts = {}, .error = error.what()};
    }
  }

  // Nothing: the coordinator is gone.
  std::optional<Answer> work(const Task& task) {
    std::vector<Task> parts(clusters_.size(),
                            Task{.id = task.id, .kind = task.kind, .basis = task.basis});
    for (const std::uint64_t candidate : task.candidates)
      parts.at(space_->cluster(candidate / space_->schedules())).candidates.push_back(candidate);
    Answer answer{.id = task.id, .rows = {}};
    for (std::size_t cluster = 0; cluster < parts.size(); ++cluster) {
      if (parts[cluster].candidates.empty()) continue;
      std::optional<process::Process>& worker = clusters_[cluster];
      if (!worker)
        worker.emplace(
            [this](process::Channel& parent) { evaluate_on_cluster(*space_, settings_, parent); });
      const std::optional<std::string> said =
          ask(*worker, to_line(parts[cluster]), time_limit(parts[cluster]));
      if (!said) return std::nullopt;
      std::optional<Answer> part = search::read_answer(*said);
      if (!add_weeks(task, *part)) return std::nullopt;
      std::ranges::move(part->rows, std::back_inserter(answer.rows));
    }
    // As they were asked for.
    std::unordered_map<std::uint64_t, std::size_t> place;
    for (std::size_t i = 0; i < task.candidates.size(); ++i) place[task.candidates[i]] = i;
    std::vector<analysis::CandidateRow> rows(task.candidates.size());
    for (analysis::CandidateRow& row : answer.rows) rows[place.at(row.candidate)] = std::move(row);
    answer.rows = std::move(rows);
    return answer;
  }

  // What weeks of simulated candidates come to, if the sweep asks for it. False: the coordinator
  // is gone.
  bool add_weeks(const Task& task, Answer& answer) {
    const analysis::Objective& objective = space_->sweep().objective;
    if (task.kind == Task::Kind::assess ||
        objective.kind != analysis::Objective::Kind::tokens_a_day)
      return true;
    for (analysis::CandidateRow& row : answer.rows) {
      if (row.outcome == analysis::Outcome::simulated) {
        if (!weeks_)
          weeks_.emplace(
              [this](process::Channel& parent) { simulate_weeks(*space_, settings_, parent); });
        const std::optional<std::string> said = ask(*weeks_, analysis::to_json_line(row), 0);
        if (!said) return false;
        row = analysis::row_of_json(*said);
      }
      row.site = {};
    }
    return true;
  }

  // Of assessing; who simulates keeps to its own.
  double time_limit(const Task& task) const {
    return task.kind == Task::Kind::assess
               ? settings_.time_limit_s * static_cast<double>(task.candidates.size())
               : 0;
  }

  // Within so many seconds, if there are any.
  std::optional<std::string> ask(process::Process& worker, const std::string& question,
                                 double limit) {
    using Clock = std::chrono::steady_clock;
    worker.send(question);
    const Clock::time_point begin = Clock::now();
    const std::array<process::Process*, 1> waiting{&worker};
    for (;;) {
      if (std::optional<std::string> line = worker.next_message()) return line;
      if (worker.is_over())
        throw std::runtime_error("the process that assesses candidates " +
                                 process::describe_end(worker.end()));
      const double left = limit - std::chrono::duration<double>(Clock::now() - begin).count();
      if (limit > 0 && left < 0)
        throw std::runtime_error(fmt::format("assessing took longer than {:g} s", limit));
      constexpr double without_end = -1;
      if (!process::wait_for(waiting, limit > 0 ? left : without_end, &coordinator_))
        return std::nullopt;
    }
  }

  WorkerSettings settings_;
  process::Channel coordinator_{STDIN_FILENO, STDOUT_FILENO};
  std::unique_ptr<search::Space> space_;
  Clusters clusters_;  // who evaluates on each
  std::optional<process::Process> weeks_;
};

// A worker of a search. Answers what a coordinator writes to its standard input, line by line
// (sim/search/messages.hpp), until that ends. Returns an exit status; throws
// std::runtime_error when it cannot go on.
//
// SimGrid knows one cluster a process and cannot forget what it simulated. So each cluster has a
// process that assesses there, and every simulation a child of that one.
int serve_search(const WorkerSettings& settings) {
  // Ctrl-C is for the coordinator, which ends its workers by what they read.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  execution::load_simulator();  // once, and before memory is limited
  Worker(settings).run();
  return exit_ok;
}

int serve(const Arguments& arguments) {
  po::options_description options = sweep_options();
  options.add_options()("serve", "");
  return serve_search(read_worker_settings(parse(arguments, options, "scenario")));
}

}  // namespace

std::unique_ptr<search::Workers> local_workers(const WorkerSettings& settings) {
  std::vector<std::string> command = worker_words(settings);
  command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  return std::make_unique<search::LocalWorkers>(settings.jobs, std::move(command));
}

int search_command(const Arguments& arguments) {
  if (std::ranges::find(arguments, "--serve") != arguments.end()) return serve(arguments);
  return sweep_command(arguments, {local_workers, local_trials});
}

}  // namespace pipewright::cli
