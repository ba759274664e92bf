#include "analysis/report/search/decision.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;

namespace {

// Training of as many tokens as the best trains in 10 days.
ClusterCost ten_days(const SearchRun& run) {
  ClusterCost cost;
  cost.cluster = "a cluster";
  cost.row = run.rows[0];
  cost.objective = {.kind = Objective::Kind::price,
                    .tokens = 10 * 86400 * run.rows[0].work.tokens,
                    .price_per_gpu_hour = 2};
  cost.power = GpuPower{.compute = 1000, .idle = 100};
  return cost;
}

// A run of 12 days, 10 of which train.
GoodputReport twelve_days() {
  GoodputReport weeks;
  weeks.gpus = 8;
  weeks.iteration_s = 1;
  weeks.target_tokens = 1e12;
  weeks.mode = "sync";
  GoodputOutcome outcome;
  outcome[GoodputPart::training] = 10 * 86400.0;
  outcome[GoodputPart::waiting] = 2 * 86400.0;
  weeks.outcomes = {outcome};
  return weeks;
}

std::vector<std::string> texts(const AnswerReport& report, const std::string& kind) {
  std::vector<std::string> list;
  for (const Json& part : report.json())
    if (part["kind"] == kind) list.push_back(part["text"]);
  return list;
}

}  // namespace

TEST_CASE("a decision has the best, ties, changes, cost, failures and the launch", "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.cost = ten_days(run);
  decision.weeks = twelve_days();
  decision.launch = DecisionLaunch{"Megatron-LM", "megatron", "torchrun pretrain_gpt.py\n"};
  Robustness robust = robustness({1, 1}, {0.9, 1.2});
  robust.perturbations = {{.parameter = "bandwidth of nic",
                           .is_decrease = true,
                           .factor = 0.5,
                           .value = 25e9,
                           .row = 1,
                           .lead = 0.02,
                           .far_factor = 0.25}};
  const AnswerReport report = decision_answer(run, decision, robust);
  CHECK(texts(report, "heading") == std::vector<std::string>{"decision", "ties",
                                                             "what would change it",
                                                             "14.2 B tokens without failures",
                                                             "1 T tokens with failures", "launch"});
  const std::string text = report.text();
  CHECK_THAT(text, Contains("  tp 1, on 8 GPUs\n"));
  CHECK_THAT(text, Contains("1 of 1 other candidate cannot be told from the best under 2 draws"));
  CHECK_THAT(text, Contains("  tp 2 (best: 1): 9.1 % behind"));
  CHECK_THAT(text, Contains("  bandwidth of nic below 50 % (25 GB/s): tp 2 (best: 1) wins"));
  const Json json = decision_json(run, decision, robust);
  CHECK(json["ties"] == Json::array({1}));
  CHECK(json["cost"]["train_time_days"].get<double>() == Approx(10));
  CHECK(json["cost"]["price"].get<double>() == Approx(10 * 24 * 8 * 2));
  CHECK(json["goodput"]["days"]["mean"].get<double>() == Approx(12));
  CHECK(json["missing"].empty());
}

TEST_CASE("a decision names the option that gives a missing figure", "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.no_weeks_reason = "the size of a checkpoint is unknown";
  const Robustness robust = robustness({1, 1}, {2, 2});
  const std::string text = decision_answer(run, decision, robust).text();
  CHECK_THAT(text, Contains("none of 1 other candidate ties"));
  CHECK_THAT(text, Contains("--costs tokens=300B price=2.5 gives them"));
  CHECK_THAT(text, Contains("not known: the size of a checkpoint is unknown"));
  CHECK_THAT(text, Contains("--under turns=true looks for such changes"));
  const Json json = decision_json(run, decision, robust);
  CHECK(json["cost"].is_null());
  CHECK(json["missing"].size() == 2);
}

TEST_CASE("a terminal gets the option that prints the launch, and the page the launch",
          "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.launch = DecisionLaunch{"Megatron-LM", "megatron", "torchrun pretrain_gpt.py\n"};
  const Robustness robust = robustness({1, 1}, {2, 2});
  CHECK_THAT(decision_answer(run, decision, robust).text(),
             Contains("--launch megatron prints the launch for Megatron-LM\n"));
  CHECK(texts(decision_on_page(run, decision, robust), "script") ==
        std::vector<std::string>{"Megatron-LM"});
}

TEST_CASE("a page has the best candidate in its head, and so not in the decision", "[winner]") {
  const SearchRun run = two_candidates();
  const Decision decision{.row = 0};
  const Robustness robust = robustness({1, 1}, {2, 2});
  CHECK_THAT(decision_answer(run, decision, robust).text(), Contains("  tp 1, on 8 GPUs\n"));
  CHECK_THAT(decision_on_page(run, decision, robust).text(), !Contains("on 8 GPUs"));
}

TEST_CASE("a decision lists the settings that the search did not vary", "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.given_settings = {"zero 1", "precision mxfp8"};
  decision.default_settings = {"cp 1"};
  const Robustness robust = robustness({1, 1}, {2, 2});
  for (const AnswerReport& report :
       {decision_answer(run, decision, robust), decision_on_page(run, decision, robust)}) {
    CHECK_THAT(report.text(), Contains("  given, not searched: zero 1, precision mxfp8\n"));
    CHECK_THAT(report.text(), Contains("  by default, not searched: cp 1\n"));
  }
  const Json json = decision_json(run, decision, robust);
  CHECK(json["not_searched"]["default"] == Json::array({"cp 1"}));
}

TEST_CASE("a decision has the failures of the scenario and notes on its spares", "[winner]") {
  SearchRun run = two_candidates();
  run.notes = {"model: sequence: 4096 is assumed"};
  Decision decision{.row = 0};
  decision.weeks = twelve_days();
  decision.failures_are_assumed = false;
  decision.weeks->failures = {"gpu 0.3 per 1000 gpu-days", "rack 2 per 1000 rack-days"};
  decision.weeks->notes = {"goodput.spares is 2, but the cluster has no idle node", run.notes[0]};
  const std::string text = decision_answer(run, decision, robustness({1, 1}, {2, 2})).text();
  CHECK_THAT(text, Contains("  failures: gpu 0.3 per 1000 gpu-days, rack 2 per 1000 rack-days\n"));
  CHECK_THAT(text, Contains("  note: goodput.spares is 2, but the cluster has no idle node\n"));
  CHECK_THAT(text, !Contains("sequence: 4096"));  // the head of the report has this note
}

TEST_CASE("days and price with failures have the expected error of an iteration", "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.weeks = twelve_days();
  decision.weeks->price_per_gpu_hour = 1;
  decision.weeks->expected_error = {.low = -0.25, .high = 0.5, .nominal = 0.9, .rows = 40};
  const Robustness robust = robustness({1, 1}, {2, 2});
  // 12 days of 8 GPUs are 2304 GPU-hours.
  const Json weeks = decision_json(run, decision, robust)["goodput"];
  CHECK(weeks["days"]["with_error_low"].get<double>() == Approx(9));
  CHECK(weeks["days"]["with_error_high"].get<double>() == Approx(18));
  CHECK(weeks["price"]["with_error_high"].get<double>() == Approx(2304 * 1.5));
  CHECK_FALSE(weeks["effective_training_time_ratio"].contains("with_error_low"));
  CHECK_THAT(decision_answer(run, decision, robust).text(), Contains("9.00 .. 18.00\n"));
}

TEST_CASE("a decision without time for its draws and changes says so", "[winner]") {
  const SearchRun run = two_candidates();
  Robustness robust = robustness({}, {});
  robust.turns_are_cut = true;
  const std::string text = decision_answer(run, Decision{.row = 0}, robust).text();
  CHECK_THAT(text, Contains("no comparison: the time was spent before the first draw\n"));
  CHECK_THAT(text, Contains(turns_cut_text));
  CHECK(decision_json(run, Decision{.row = 0}, robust)["ties"].empty());
}

TEST_CASE("a cost without a price has days and energy, and no columns of money", "[winner]") {
  const SearchRun run = two_candidates();
  Decision decision{.row = 0};
  decision.cost = ten_days(run);
  decision.cost->objective.price_per_gpu_hour = 0;
  const std::string text = decision_answer(run, decision, robustness({1, 1}, {2, 2})).text();
  CHECK_THAT(text, Contains("days  energy"));
  CHECK_THAT(text, !Contains("price"));
  const Json cost = decision_json(run, decision, robustness({1, 1}, {2, 2}))["cost"];
  CHECK(cost["train_time_days"].get<double>() == Approx(10));
  CHECK(cost["price"].is_null());
}
