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

// Seeds of one process: enough that its start costs little, few enough that two cores share them.
constexpr std::uint64_t together = 10;

struct Task {
  std::size_t variant;
  std::vector<std::uint64_t> seeds;
};

std::vector<Task> tasks_of(const std::vector<Variant>& variants, std::uint64_t first) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < variants.size(); ++i)
    for (std::uint64_t done = 0; done < variants[i].seeds; done += together) {
      Task task{i, std::vector<std::uint64_t>(std::min(together, variants[i].seeds - done))};
      std::iota(task.seeds.begin(), task.seeds.end(), first + done);
      tasks.push_back(std::move(task));
    }
  return tasks;
}

// The variant, the first seed and how many seeds.
using Key = std::tuple<std::size_t, std::uint64_t, std::size_t>;

std::map<Key, const JournalEntry*> by_key(const std::vector<JournalEntry>& entries) {
  std::map<Key, const JournalEntry*> found;
  for (const JournalEntry& entry : entries)
    if (!entry.outcomes.empty())
      found[{entry.variant, entry.outcomes.front().seed, entry.outcomes.size()}] = &entry;
  return found;
}

}  // namespace

std::vector<std::vector<GoodputOutcome>> run(const std::vector<Variant>& variants,
                                             const RunOptions& options, Journal* journal) {
  std::vector<std::vector<GoodputOutcome>> all(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) all[i].resize(variants[i].seeds);
  const auto keep = [&](const JournalEntry& entry) {
    for (const GoodputOutcome& outcome : entry.outcomes)
      all.at(entry.variant).at(outcome.seed - options.first_seed) = outcome;
  };
  std::vector<Task> tasks = tasks_of(variants, options.first_seed);
  const std::size_t whole = tasks.size();
  if (journal != nullptr) {
    // The last seeds of fewer are with others among more; these are done again, to the same bytes.
    const std::map<Key, const JournalEntry*> done = by_key(journal->entries());
    std::erase_if(tasks, [&](const Task& task) {
      const auto found = done.find({task.variant, task.seeds.front(), task.seeds.size()});
      if (found != done.end()) keep(*found->second);
      return found != done.end();
    });
  }
  if (!tasks.empty()) load_simulator();
  std::vector<process::Body> bodies;
  for (const Task& task : tasks)
    bodies.emplace_back([&] {
      return to_line(
          {task.variant, simulate(variants[task.variant].setting, task.seeds, Spans::no).outcomes});
    });
  const auto look = [&](std::size_t done) {
    const std::size_t before = whole - tasks.size();
    if (options.look) options.look(static_cast<double>(before + done) / static_cast<double>(whole));
  };
  process::run_all(bodies, options.jobs, look, [&](std::size_t, const process::Result& one) {
    if (one.failed) throw std::runtime_error("a simulation of the job failed: " + one.text);
    const JournalEntry entry = entry_of(one.text);
    if (journal != nullptr) journal->append(entry);
    keep(entry);
  });
  return all;
}

std::vector<GoodputSpan> spans_of(const Setting& setting, std::uint64_t seed) {
  load_simulator();
  const process::Result ran = process::run([&] {
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::uint64_t> seeds{seed};
    const Simulated simulated = simulate(setting, seeds, Spans::yes);
    for (const GoodputSpan& span : simulated.spans.front())
      list.push_back({static_cast<int>(span.part), span.start, span.end});
    return list.dump();
  });
  if (ran.failed) throw std::runtime_error("a simulation of the job failed: " + ran.text);
  std::vector<GoodputSpan> spans;
  for (const nlohmann::json& span : nlohmann::json::parse(ran.text))
    spans.push_back({static_cast<analysis::GoodputPart>(span[0].get<int>()), span[1], span[2]});
  return spans;
}

}  // namespace pipewright::goodput
