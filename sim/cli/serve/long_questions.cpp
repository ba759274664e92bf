#include "sim/cli/serve/long_questions.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "analysis/report/goodput/goodput_report.hpp"
#include "sim/cli/job/planned_launch.hpp"
#include "sim/cli/requests/captured.hpp"
#include "sim/cli/requests/progress_json.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/study.hpp"
#include "sim/serve/scenario_text.hpp"

namespace pipewright::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using std::filesystem::path;

void send_json(const serve::SendLine& send, const Json& line) {
  send(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns the scenario or sweep of a question, without the files that it would write.
config::Value request_tree(const Json& request) {
  std::vector<serve::Edit> edits;
  for (const Json& edit : request.value("edits", Json::array()))
    edits.emplace_back(edit.at(0).get<std::string>(), edit.at(1).get<std::string>());
  config::Value tree = serve::tree_of(serve::edited(request.at("text").get<std::string>(), edits));
  for (const char* const output : {"output", "output_file", "trace"})
    std::erase_if(tree.entries, [&](const config::Entry& entry) { return entry.key == output; });
  return tree;
}

std::string content_of(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Limits a message about progress to a few in each second.
class Pace {
 public:
  bool is_due() {
    const Clock::time_point now = Clock::now();
    if (now < due_) return false;
    due_ = now + std::chrono::milliseconds(200);
    return true;
  }

 private:
  Clock::time_point due_ = Clock::now();
};

constexpr double longest_budget = 600;  // seconds of a search

}  // namespace

void answer_served_search(const serve::Question& question, const serve::Workspace& workspace,
                          const serve::SendLine& send) {
  const Json request = Json::parse(question.request);
  const config::Value tree = request_tree(request);
  const double budget = std::clamp(request.value("budget", 60.0), 1.0, longest_budget);
  const path page = workspace.results / (question.id + ".html");
  const path best = workspace.results / (question.id + ".yaml");
  const Arguments words{"--quiet",     "--output",
                        page.string(), best.string(),
                        "--budget",    fmt::format("{} s", budget),
                        "--jobs",      fmt::to_string(workspace.jobs)};
  Pace pace;
  const WatchSweep watch = [&](const search::State& state, const analysis::SearchRun& run) {
    if (pace.is_due()) send_json(send, {{"progress", progress_json(state, run)}});
  };
  const Captured output(STDOUT_FILENO);
  sweep_command(words, {local_workers, local_what_if_runs, launch_planner()}, watch, tree);
  std::string text = output.text();
  // The last lines name the files that were written, which the page does not show.
  for (const path& file : {page, best})
    if (const std::size_t at = text.find(file.string()); at != std::string::npos) {
      const std::size_t line = text.rfind('\n', at);
      const std::size_t end = text.find('\n', at);
      text.erase(line == std::string::npos ? 0 : line + 1,
                 end == std::string::npos ? std::string::npos : end - line);
    }
  send_json(send,
            {{"search", {{"page", question.id}, {"text", text}, {"best", content_of(best)}}}});
}

void answer_served_goodput(const serve::Question& question, const serve::Workspace& workspace,
                           const serve::SendLine& send) {
  const Json request = Json::parse(question.request);
  const config::Scenario scenario = config::read_scenario(request_tree(request));
  const goodput::Iteration iteration = goodput::simulate_iteration(scenario);
  goodput::StudyOptions options{.jobs = workspace.jobs, .spans = true};
  constexpr std::uint64_t most_seeds = 1000;
  options.seeds = std::clamp<std::uint64_t>(request.value("seeds", 20U), 1, most_seeds);
  Pace pace;
  options.look = [&](double share) {
    if (pace.is_due()) send_json(send, {{"done", share}});
  };
  const analysis::GoodputReport report = goodput::study(scenario, iteration, options);
  analysis::write_goodput_page(workspace.results / (question.id + ".html"), report);
  send_json(send, {{"goodput",
                    {{"page", question.id},
                     {"text", analysis::goodput_text(report)},
                     {"notes", iteration.notes}}}});
}

}  // namespace pipewright::cli
