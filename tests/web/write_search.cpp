// Writes pages of searches into a folder, and their expected content as .json files beside them.

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/web/search/search_page.hpp"
#include "tests/analysis/report/search/made_search.hpp"

using namespace pipewright;
using analysis::Outcome;
using analysis::SearchRun;
using tests::made_search;

namespace {

std::string scenario(const SearchRun& run, std::uint64_t candidate) {
  const std::vector<std::uint32_t> digits = analysis::choices(run.axes, candidate);
  std::string text = "model: gpt-175b\nglobal_batch: 1536\n";
  for (std::size_t axis = 0; axis < digits.size(); ++axis)
    text += fmt::format("{}: {}\n", run.axes[axis].key, run.axes[axis].values[digits[axis]]);
  return text;
}

void write(const std::filesystem::path& folder, const std::string& name, const SearchRun& run) {
  const auto of = [&](std::uint64_t candidate) { return scenario(run, candidate); };
  analysis::write_search_page(folder / (name + ".html"), run, of);
  const analysis::Findings findings = analysis::find(run);
  nlohmann::json json{{"rows", run.rows.size()},
                      {"outcomes", findings.outcomes},
                      {"ranked", findings.ranked},
                      {"fronts", findings.fronts}};
  if (findings.best) json["best"] = *findings.best;
  if (findings.best) json["scenario"] = of(run.rows[*findings.best].candidate);
  if (const auto lost = analysis::runner_up(run, findings)) {
    json["behind"] = lost->behind;
    json["lost"] = analysis::parts_text(*lost);
  }
  std::ofstream(folder / (name + ".json"))
      << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

SearchRun hostile() {
  const std::string attack = "</script><img src=x onerror=\"window.attacked = 1\">";
  SearchRun run = made_search(
      {.groups = {attack, "b\xff"}, .schedules = {attack, "<i>1f1b</i>"}, .microbatch_sizes = 2});
  run.title = attack;
  run.axes[5].name = "<b onclick=alert(1)>recompute</b>";
  run.objective.currency = attack;
  run.excluded.push_back({attack, 7});
  for (analysis::CandidateRow& row : run.rows)
    if (!row.note.empty()) row.note = attack + "\x1b[31m" + row.note;
  return run;
}

SearchRun only(SearchRun run, std::size_t simulated) {
  std::erase_if(run.rows, [&](const analysis::CandidateRow& row) {
    return row.outcome == Outcome::simulated ? simulated-- == 0 || simulated > 1000000
                                             : row.outcome == Outcome::bounded_away;
  });
  return run;
}

analysis::AnswerReport answer() {
  analysis::AnswerReport report;
  report.add_heading("how sure is the winner?", "2 candidates under the same 32 draws (seed 1)");
  report.add_long_item("jitter of 2.0 %, network at 80 to 120 % (latencies, nic)");
  report.add_numbered_item("tp 2, pp 2");
  report.add_numbered_item("tp 4, pp 1");
  analysis::TextTable table;
  table.add_numbers({""}, {"1", "2"});
  table.add_numbers({"planned", "behind", "%"}, {"best", "2.2"});
  table.add_numbers({"conditions", "wins", "%"}, {"100", "0"});
  table.add_numbers({"conditions", "behind the best", "%"}, {"-", "+1.5..+3.0"});
  report.add_table(table);
  report.add_sentence("no tie");
  report.add_item("2.2 % behind", {"+2.4 % bubble, -0.2 % compute"});
  return report;
}

analysis::AnswerReport decision() {
  analysis::AnswerReport report;
  report.add_heading("decision");
  report.add_long_item("tp 2, pp 2, on 8 GPUs");
  report.add_heading("launch");
  report.add_script("Megatron-LM", "#!/bin/bash\ntorchrun pretrain_gpt.py\n");
  return report;
}

void write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write(folder, "search", made_search());
  SearchRun two = made_search({.groups = {"gpt-175b on dgx-a100", "gpt-175b on dgx-h100"}});
  two.objective = {
      .kind = analysis::Objective::Kind::price, .tokens = 2e12, .price_per_gpu_hour = 2.5};
  two.finished = false;
  two.gap = 0.018;
  write(folder, "groups", two);
  write(folder, "hostile", hostile());
  write(folder, "one", only(made_search({.microbatch_sizes = 1}), 1));
  SearchRun guessed = made_search({.microbatch_sizes = 1});
  guessed.rows.at(analysis::find(guessed).best.value()).evidence.expected_error = {
      .low = -0.1, .high = 0.2, .nominal = 0.9, .basis = "b200, bf16, dense", .rows = 12};
  write(folder, "assumed", guessed);
  SearchRun weeks = made_search();
  weeks.objective.kind = analysis::Objective::Kind::tokens_a_day;
  for (analysis::CandidateRow& row : weeks.rows) row.work.lost_part = 0.25;
  write(folder, "weeks", weeks);
  analysis::write_search_page(folder / "answers.html", made_search(),
                              [](std::uint64_t) { return std::string(); }, {},
                              {.answers = {answer()}, .bands = {}, .decision = decision()});
  write(folder, "none", made_search({.memory_gib = 3}));
  SearchRun empty;
  empty.groups = {"a model"};
  write(folder, "empty", empty);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: pipewright_web_search FOLDER [SCHEDULES]\n";
    return 2;
  }
  try {
    write_all(argv[1]);
    if (argc == 3) {  // a large page for manual inspection
      std::vector<std::string> schedules;
      for (int i = 0; i < std::stoi(argv[2]); ++i)
        schedules.push_back(fmt::format("schedule-{}", i));
      write(argv[1], "large",
            made_search({.schedules = schedules, .microbatch_sizes = 7, .slack = 1.4}));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
