#include "analysis/report/search/search_export.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string csv(const SearchRun& run) {
  std::ostringstream stream;
  write_search_csv(stream, run);
  return stream.str();
}

nlohmann::json json(const SearchRun& run) {
  std::ostringstream stream;
  write_search_json(stream, run);
  return nlohmann::json::parse(stream.str());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

SearchRun one_row() {
  SearchRun run = sample_search(1, 1);
  run.rows = {simulated_row(1, 2, 1024, 1)};
  return run;
}

}  // namespace

TEST_CASE("CSV has a row for each candidate and units in its headings") {
  const SearchRun run = one_row();
  const std::vector<std::string> lines = lines_of(csv(run));
  REQUIRE(lines.size() == 2);
  std::string headings = "candidate,group,outcome,tp,recompute,schedule";
  std::string values = "1,gpt-7b on h100,simulated,1,none,zb-1p";
  for (const CandidateFigure& figure : candidate_figures) {
    headings += "," + std::string(figure.key);
    values += "," + visit_figure(run.rows[0], figure, [](auto value) {
                return value == 0 ? std::string() : fmt::to_string(value);
              });
  }
  CHECK(lines[0] ==
        headings +
            ",samples_per_s,tokens_per_s,mfu,mfu_full_attention,assumed,expected_error_low,"
            "expected_error_high,note");
  CHECK(lines[1] == values + ",8,8192,0.2,0.25,,,,");
  CHECK_THAT(lines[1], Contains(",2500000000000000,1024,85899345920,1.8,2,0.2,0.2,1.2,"));
}

TEST_CASE("CSV and JSON have the assumed values that a candidate depends on") {
  SearchRun run = one_row();
  run.rows[0].evidence = {
      "b200",
      {"flops", "clock"},
      {.low = -0.1, .high = 0.2, .nominal = 0.9, .basis = "b200, bf16", .rows = 12}};
  CHECK_THAT(csv(run), Catch::EndsWith(",0.25,flops clock,-0.1,0.2,\n"));
  const auto candidate = json(run)["candidates"][0];
  CHECK(candidate["assumed"] == nlohmann::json{"flops", "clock"});
  CHECK(candidate["assumed_gpu"] == "b200");
  CHECK(candidate["expected_error"]["high"] == 0.2);
  CHECK(candidate["expected_error"]["basis"] == "b200, bf16");
  CHECK(json(one_row())["candidates"][0]["expected_error"].is_null());
  CHECK(json(one_row())["candidates"][0]["assumed"].empty());
}

TEST_CASE("the help on figures defines all figures of CSV and JSON in short lines") {
  const std::string help = figures_help();
  for (const std::string& line : lines_of(help)) CHECK(line.size() <= 100);
  // Help texts that are longer than a line continue below their first words.
  const std::string joined = std::regex_replace(help, std::regex("\n" + std::string(23, ' ')), " ");
  for (const CandidateFigure& figure : candidate_figures) {
    CHECK_THAT(help, Contains("\n  " + std::string(figure.key) + " "));
    CHECK_THAT(joined, Contains(std::string(" ") + figure.help + "\n"));
  }
  CHECK_THAT(help, Contains("\n  mfu                  model_flop / (time_s * peak_flop_per_s)\n"));
}

TEST_CASE("CSV leaves unknown figures empty and quotes texts") {
  SearchRun run = sample_search(2, 20);
  run.rows[4].note = "=cmd(),\"x\"\ny";
  run.rows[4].outcome = Outcome::failed;
  const std::string text = csv(run);
  CHECK_THAT(text, Contains(",\"'=cmd(),\"\"x\"\"\ny\"\n"));
  const std::size_t columns = static_cast<std::size_t>(std::ranges::count(lines_of(text)[0], ','));
  run.rows[4].note.clear();
  for (const std::string& line : lines_of(csv(run)))
    CHECK(static_cast<std::size_t>(std::ranges::count(line, ',')) == columns);
}

TEST_CASE("CSV and JSON add the objective if it is not a figure") {
  SearchRun run = one_row();
  run.objective = {.kind = Objective::Kind::time_to_train, .tokens = 16384 * 50.0};
  CHECK_THAT(csv(run), Contains("mfu_full_attention,time_to_train_s,assumed,expected_error_low,") &&
                           Contains(",0.2,0.25,100,,,,\n"));
  CHECK(json(run)["candidates"][0]["time_to_train_s"] == 100);
  run.objective = {.kind = Objective::Kind::price,
                   .tokens = 16384 * 1800.0,
                   .price_per_gpu_hour = 2.5,
                   .currency = "EUR"};
  CHECK_THAT(csv(run), Contains("mfu_full_attention,price (EUR),assumed,expected_error_low,") &&
                           Contains(",0.2,0.25,20,,,,\n"));
  CHECK(json(run)["candidates"][0]["price"] == 20);
  CHECK(json(run)["objective"]["currency"] == "EUR");
  run.objective = {.kind = Objective::Kind::tokens_a_day, .seeds = 9};
  run.rows[0].work.lost_part = 0.25;
  // An iteration of 2 s trains 16,384 tokens, and three quarters of the 86,400 s of a day count.
  CHECK_THAT(csv(run),
             Contains("mfu_full_attention,effective_training_time_ratio,tokens_per_day,assumed") &&
                 Contains(",0.2,0.25,0.75,530841600,,,,\n"));
  CHECK(json(run)["candidates"][0]["tokens_per_day"] == 16384 * 43200 * 0.75);
  CHECK(json(run)["candidates"][0]["effective_training_time_ratio"] == 0.75);
  CHECK(json(run)["objective"]["seeds"] == 9);
}

TEST_CASE("JSON states the shard and counts unexamined combinations") {
  SearchRun run = sample_search(3, 20);
  CHECK(json(run)["shard"].is_null());
  CHECK(json(run)["not_looked_at"] == 0);
  run.shard = {.number = 2, .count = 3};
  run.combinations += 12;
  CHECK(json(run)["shard"] == nlohmann::json{{"number", 2}, {"count", 3}});
  CHECK(json(run)["not_looked_at"] == 12);
}

TEST_CASE("JSON has every candidate with its values and figures") {
  const SearchRun run = sample_search(3, 20);
  const nlohmann::json all = json(run);
  REQUIRE(all["candidates"].size() == run.rows.size());
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const nlohmann::json& one = all["candidates"][i];
    const CandidateRow& row = run.rows[i];
    CHECK(one["candidate"] == row.candidate);
    CHECK(one["values"]["schedule"] == value_of(run, row, 2));
    CHECK(one.contains("time_s") == (row.outcome == Outcome::simulated));
    if (row.outcome != Outcome::simulated) continue;
    CHECK(one["time_s"] == row.time_s);
    CHECK(one["tokens_per_s"] == row.work.tokens / row.time_s);
    CHECK(one["idle_s"] == row.parts.idle);
  }
}

TEST_CASE("JSON has the findings of the report") {
  SearchRun run = sample_search(4, 20);
  run.finished = false;
  run.gap = INFINITY;
  const Findings found = find(run);
  const nlohmann::json all = json(run);
  CHECK(all["best"] == run.rows[*found.best].candidate);
  CHECK(all["runner_up"]["candidate"] == run.rows[found.ranked[1]].candidate);
  CHECK(all["outcomes"]["simulated"] == found.ranked.size());
  CHECK(all["fronts"][1]["candidates"].size() == found.fronts[1].size());
  CHECK(all["gap"].is_null());
  CHECK(all["axes"][1]["values"] == std::vector<std::string>{"none", "full"});
  CHECK(all["excluded"][0]["combinations"] == 100);
}

TEST_CASE("JSON has the best candidate for each value of the open axes") {
  const SearchRun run = sample_search(4, 20);
  const Findings found = find(run);
  const nlohmann::json all = json(run);
  for (const std::size_t axis : open_axes(run)) {
    const nlohmann::json& values = all["best_by"][run.axes[axis].name];
    REQUIRE(values.size() == best_by(run, axis).size());
    for (const nlohmann::json& one : values)
      if (one["value"] == value_of(run, run.rows[*found.best], axis))
        CHECK(one["best"] == run.rows[*found.best].candidate);
  }
}

TEST_CASE("JSON is valid for any names and without candidates") {
  SearchRun run = one_row();
  run.title = "\xff\"\\\n";
  run.rows[0].note = "\x80";
  CHECK(json(run)["candidates"].size() == 1);
  run.rows.clear();
  CHECK(json(run)["candidates"].empty());
  CHECK(json(run)["best"].is_null());
  CHECK(json({})["candidates"].empty());
}
