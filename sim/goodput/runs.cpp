#include "sim/goodput/runs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include <nlohmann/json.hpp>

#include "sim/goodput/simulate.hpp"
#include "sim/process/run.hpp"

namespace pipewright::goodput {
namespace {

using analysis::GoodputOutcome;
using analysis::GoodputSpan;

// Seeds that one process simulates: enough to amortize its start, few enough that a run uses at
// least two cores.
constexpr std::uint64_t seeds_per_process = 10;

struct Task {
  std::size_t variant;
  std::vector<std::uint64_t> seeds;
};

std::vector<Task> tasks_of(const std::vector<Variant>& variants, std::uint64_t first) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < variants.size(); ++i)
    for (std::uint64_t done = 0; done < variants[i].seeds; done += seeds_per_process) {
      Task task{i,
                std::vector<std::uint64_t>(std::min(seeds_per_process, variants[i].seeds - done))};
      std::iota(task.seeds.begin(), task.seeds.end(), first + done);
      tasks.push_back(std::move(task));
    }
  return tasks;
}

// Identifies the seeds of a journal entry: variant, first seed and number of seeds.
using Key = std::tuple<std::size_t, std::uint64_t, std::size_t>;

std::map<Key, const JournalEntry*> by_key(const std::vector<JournalEntry>& entries) {
  std::map<Key, const JournalEntry*> entries_by_key;
  for (const JournalEntry& entry : entries)
    if (!entry.outcomes.empty())
      entries_by_key[{entry.variant, entry.outcomes.front().seed, entry.outcomes.size()}] = &entry;
  return entries_by_key;
}

}  // namespace

std::vector<std::vector<GoodputOutcome>> run(const std::vector<Variant>& variants,
                                             const RunOptions& options, Journal* journal) {
  std::vector<std::vector<GoodputOutcome>> outcomes(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) outcomes[i].resize(variants[i].seeds);
  const auto store = [&](const JournalEntry& entry) {
    for (const GoodputOutcome& outcome : entry.outcomes)
      outcomes.at(entry.variant).at(outcome.seed - options.first_seed) = outcome;
  };
  std::vector<Task> tasks = tasks_of(variants, options.first_seed);
  const std::size_t whole = tasks.size();
  if (journal != nullptr) {
    // An earlier run may have had a last group with fewer seeds than a full group; its seeds are
    // simulated again, with the same results.
    const std::map<Key, const JournalEntry*> done = by_key(journal->entries());
    std::erase_if(tasks, [&](const Task& task) {
      const auto it = done.find({task.variant, task.seeds.front(), task.seeds.size()});
      if (it != done.end()) store(*it->second);
      return it != done.end();
    });
  }
  if (!tasks.empty()) load_simulator();
  // Returns the tasks whose process was lost. A system that is short of memory kills processes, so
  // these tasks run once more, one after the other.
  const auto run_tasks = [&](const std::vector<Task>& group, std::size_t jobs, bool is_last) {
    std::vector<Task> lost;
    std::vector<process::Body> bodies;
    for (const Task& task : group)
      bodies.emplace_back([&] {
        const Setting& setting = variants[task.variant].setting;
        return to_line({task.variant, simulate(setting, task.seeds, Spans::no).outcomes});
      });
    const auto look = [&](std::size_t done) {
      const std::size_t before = whole - group.size();
      if (options.look)
        options.look(static_cast<double>(before + done) / static_cast<double>(whole));
    };
    process::run_all(bodies, jobs, look, [&](std::size_t number, const process::Result& result) {
      if (result.is_lost && !is_last) return lost.push_back(group[number]);
      const std::size_t variant = group[number].variant;
      if (result.failed && !result.is_lost && variant > 0 && options.on_failed)
        return options.on_failed(variant);
      if (result.failed) throw std::runtime_error("a simulation of the job failed: " + result.text);
      const JournalEntry entry = entry_of(result.text);
      if (journal != nullptr) journal->append(entry);
      store(entry);
    });
    return lost;
  };
  run_tasks(run_tasks(tasks, options.jobs, false), 1, true);
  return outcomes;
}

std::vector<GoodputSpan> spans_of(const Setting& setting, std::uint64_t seed) {
  load_simulator();
  const process::Result ran = process::run([&] {
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::uint64_t> seeds{seed};
    const Simulated simulated = simulate(setting, seeds, Spans::yes);
    for (const GoodputSpan& span : simulated.spans.front())
      list.push_back({static_cast<int>(span.part), span.start, span.end, span.trained});
    return list.dump();
  });
  if (ran.failed) throw std::runtime_error("a simulation of the job failed: " + ran.text);
  std::vector<GoodputSpan> spans;
  for (const nlohmann::json& span : nlohmann::json::parse(ran.text))
    spans.push_back(
        {static_cast<analysis::GoodputPart>(span[0].get<int>()), span[1], span[2], span[3]});
  return spans;
}

}  // namespace pipewright::goodput
