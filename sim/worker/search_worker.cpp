#include "sim/worker/search_worker.hpp"

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
#include "sim/cluster/cluster.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/process.hpp"
#include "sim/process/run.hpp"
#include "sim/search/messages.hpp"
#include "sim/sweep/space.hpp"
#include "sim/sweep/sweep.hpp"
#include "sim/worker/cluster_worker.hpp"
#include "sim/worker/goodput_worker.hpp"

namespace pipewright::worker {
namespace {

using search::Answer;
using search::Task;

search::ClusterFacts facts_of_cluster(const std::string& value) {
  const config::Value text = config::make_text(value, {});
  const std::filesystem::path file = config::library_or_path({text, "cluster"}, "clusters", ".xml");
  const bool listed = config::is_library_name(value, ".xml");
  const cluster::Cluster cluster = cluster::Cluster::load(file, listed ? value : std::string());
  const std::vector<cluster::Host*>& gpus = cluster.gpus();
  std::map<std::uint32_t, std::uint32_t> gpus_of_node;
  for (const cluster::Host* gpu : gpus) ++gpus_of_node[cluster.node_of(gpu)];
  std::uint32_t per_node = 0;
  for (const auto& [node, count] : gpus_of_node) per_node = std::max(per_node, count);
  return {.name = cluster.name(),
          .gpus = static_cast<std::uint32_t>(gpus.size()),
          .gpus_per_node = per_node,
          .gpu = cluster::gpu_of(gpus.front()),
          .memory = cluster::memory_of(gpus.front())};
}

// Returns the facts about the clusters of a sweep. Loads each cluster in a child process of its
// own. Throws config::Error.
std::vector<search::ClusterFacts> find_facts(const search::Sweep& sweep) {
  std::vector<search::ClusterFacts> facts;
  for (const std::string& value : search::cluster_values(sweep)) {
    if (value.empty()) {  // the ideal network has no limits
      facts.emplace_back();
      continue;
    }
    const process::Result result = process::run([&] {
      return to_line(search::HandshakeReply{.facts = {{facts_of_cluster(value)}}, .error = {}});
    });
    if (result.failed) throw config::Error(result.text);
    facts.push_back(search::read_handshake_reply(result.text).facts->front());
  }
  return facts;
}

class SearchWorker {
 public:
  explicit SearchWorker(const WorkerSettings& settings) : settings_(settings) {}

  void run() {
    while (const std::optional<std::string> line = coordinator_.receive()) {
      if (space_ == nullptr) {
        send(to_line(reply(search::read_handshake(*line))));
        continue;
      }
      const std::optional<Answer> answer = work(search::read_task(*line));
      if (!answer) return;
      send(to_line(*answer));
    }
  }

 private:
  using Clusters = std::vector<std::optional<process::Process>>;

  void send(const std::string& line) const {
    if (!coordinator_.send(line)) throw std::runtime_error("the coordinator has ended");
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

  // Works on a task and returns its answer. Returns nothing if the coordinator has ended.
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
      const std::optional<std::string> line =
          ask(*worker, to_line(parts[cluster]), time_limit(parts[cluster]));
      if (!line) return std::nullopt;
      std::optional<Answer> part = search::read_answer(*line);
      if (!add_goodput(task, *part)) return std::nullopt;
      std::ranges::move(part->rows, std::back_inserter(answer.rows));
    }
    // Put the rows of all clusters in the order of the task's candidates.
    std::unordered_map<std::uint64_t, std::size_t> position;
    for (std::size_t i = 0; i < task.candidates.size(); ++i) position[task.candidates[i]] = i;
    std::vector<analysis::CandidateRow> rows(task.candidates.size());
    for (analysis::CandidateRow& row : answer.rows)
      rows[position.at(row.candidate)] = std::move(row);
    answer.rows = std::move(rows);
    return answer;
  }

  // Adds the losses of a goodput run to the rows of simulated candidates, if the objective needs
  // them. Returns false if the coordinator has ended.
  bool add_goodput(const Task& task, Answer& answer) {
    const analysis::Objective& objective = space_->sweep().objective;
    if (task.kind == Task::Kind::assess ||
        objective.kind != analysis::Objective::Kind::tokens_a_day)
      return true;
    for (analysis::CandidateRow& row : answer.rows) {
      if (row.outcome == analysis::Outcome::simulated) {
        if (!goodput_worker_)
          goodput_worker_.emplace([this](process::Channel& parent) {
            simulate_goodput_runs(*space_, settings_, parent);
          });
        const std::optional<std::string> line =
            ask(*goodput_worker_, analysis::to_json_line(row), 0);
        if (!line) return false;
        row = analysis::row_of_json(*line);
      }
      row.site = {};
    }
    return true;
  }

  // Returns the time limit for a task that computes bounds, in seconds. A simulation has its own
  // limit in the child, so its task has none (0).
  double time_limit(const Task& task) const {
    return task.kind == Task::Kind::assess
               ? settings_.time_limit_s * static_cast<double>(task.candidates.size())
               : 0;
  }

  // Sends a line to a process and returns its reply, waiting at most `limit` seconds; 0 means no
  // limit.
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
      constexpr double no_limit = -1;
      if (!process::wait_for(waiting, limit > 0 ? left : no_limit, &coordinator_))
        return std::nullopt;
    }
  }

  WorkerSettings settings_;
  process::Channel coordinator_{STDIN_FILENO, STDOUT_FILENO};
  std::unique_ptr<search::Space> space_;
  Clusters clusters_;  // processes that evaluate candidates, by cluster
  std::optional<process::Process> goodput_worker_;
};

}  // namespace

void serve_search(const WorkerSettings& settings) {
  // The worker ignores Ctrl-C: the coordinator handles it and ends its workers by closing their
  // input.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  execution::load_simulator();  // once for all children, before memory is limited
  SearchWorker(settings).run();
}

}  // namespace pipewright::worker
