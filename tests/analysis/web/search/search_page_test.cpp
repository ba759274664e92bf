#include "analysis/web/search/search_page.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/made_search.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_runs.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/trace/samples.hpp"
#include "tests/analysis/web/unpacking.hpp"

using namespace pipewright;
using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;
using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;

namespace {

std::string scenario_of(std::uint64_t candidate) {
  return "scenario of " + std::to_string(candidate) + "\n";
}

std::string page_of(const SearchRun& run) {
  const ScratchFolder folder;
  write_search_page(folder / "page.html", run, scenario_of);
  CHECK(folder.entries() == 1);
  return bytes_of(folder / "page.html");
}

std::string element(const std::string& page, const std::string& id) {
  const std::size_t name = page.find("id=\"" + id + "\">");
  REQUIRE(name != std::string::npos);
  const std::size_t begin = page.find('>', name) + 1;
  return page.substr(begin, page.find("</script>", begin) - begin);
}

template <class Value>
Value value_at(const std::string& bytes, std::size_t at) {
  Value value;
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("the page of a search is self-contained") {
  const std::string page = page_of(made_search());
  for (const char* foreign : {"src=", "href=\"http", "url(", "@import", "fetch(", "{{"})
    CHECK_THAT(page, !Contains(foreign));
}

TEST_CASE("the page of a search has its rows in columns") {
  SearchRun run = sample_search(2, 20);
  for (std::size_t i = 0; i < run.rows.size(); ++i)  // distinct, even where the sample has 0
    for (const CandidateFigure& figure : candidate_figures)
      if (figure.page != nullptr)
        visit_figure(run.rows[i], figure, [&](auto& value) {
          value = static_cast<std::remove_reference_t<decltype(value)>>(100 * i) +
                  static_cast<std::remove_reference_t<decltype(value)>>(&figure -
                                                                        candidate_figures.data());
        });
  const PageColumns columns = page_columns(run);
  const std::size_t rows = run.rows.size();
  const std::vector<std::string>& names = columns.names;
  const std::size_t reals = names.size() + time_part_names.size();
  REQUIRE(columns.bytes.size() == rows * (8 * reals + 4 + 2 + 2 + 2 * run.axes.size() + 1));
  for (std::size_t i = 0; i < rows; ++i) {
    const CandidateRow& row = run.rows[i];
    const auto real = [&](std::size_t column) {
      return value_at<double>(columns.bytes, 8 * (column * rows + i));
    };
    const auto named = [&](std::string_view name) {
      REQUIRE(std::ranges::count(names, name) == 1);
      return real(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
    };
    const double seconds = row.outcome == Outcome::simulated ? row.time_s : row.bound_s;
    CHECK(named("candidate") == static_cast<double>(row.candidate));
    CHECK(named("seconds") == seconds);
    CHECK(named("throughput") == throughput(row.work, seconds));
    CHECK(named("mfu") == mfu(row.work, seconds));
    CHECK(named("bound") == row.bound_s);
    CHECK(named("peak") == static_cast<double>(row.peak_bytes));
    CHECK(named("capacity") == static_cast<double>(row.capacity_bytes));
    CHECK(named("gpus") == static_cast<double>(row.work.gpus));
    for (const CandidateFigure& figure : candidate_figures)
      if (figure.page != nullptr)
        CHECK(named(figure.key) ==
              visit_figure(row, figure, [](auto value) { return static_cast<double>(value); }));
    for (std::size_t part = 0; part < time_part_names.size(); ++part)
      CHECK(real(names.size() + part) == row.parts.*time_part_names[part].part);
    const std::size_t after = 8 * reals * rows;
    CHECK(columns.notes.at(value_at<std::uint32_t>(columns.bytes, after + 4 * i)) == row.note);
    CHECK(value_at<std::uint16_t>(columns.bytes, after + 4 * rows + 2 * i) == row.group);
    const auto rests = value_at<std::uint16_t>(columns.bytes, after + 6 * rows + 2 * i);
    CHECK(columns.evidence.at(rests) == row.evidence);
    const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis)
      CHECK(value_at<std::uint16_t>(columns.bytes, after + 8 * rows + 2 * (axis * rows + i)) ==
            digits[axis]);
    CHECK(static_cast<Outcome>(columns.bytes[columns.bytes.size() - rows + i]) == row.outcome);
  }
}

TEST_CASE("the data of a page describes its figures", "[search]") {
  const SearchRun run = sample_search(2, 20);
  const PageColumns columns = page_columns(run);
  const nlohmann::json figures =
      nlohmann::json::parse(page_head(run, find(run), columns))["figures"];
  const std::string page = page_of(run);
  std::size_t figure_count = 3;  // throughput, MFU and iteration
  for (const CandidateFigure& figure : candidate_figures)
    if (figure.page != nullptr) {
      REQUIRE(figure_count < figures.size());
      const nlohmann::json& shown = figures[figure_count++];
      CHECK(shown["column"] == figure.key);
      CHECK(shown["name"] == figure.page);
      CHECK(shown["bound_words"].is_null() == figure.is_simulated);
      CHECK_THAT(page, Contains("<dt id=\"" + shown["anchor"].get<std::string>() + "\">" +
                                figure.page + "</dt><dd>" + figure.help + "</dd>"));
    }
  CHECK(figures.size() == figure_count);
  for (const nlohmann::json& figure : figures)
    CHECK(std::ranges::count(columns.names, figure["column"].get<std::string>()) == 1);
  CHECK(figures[0]["name"] == "throughput");
  CHECK(figures[0]["form"] == "rate");
  CHECK(figures[0]["item"] == "tokens");
  CHECK(figures[0]["axis"] == "more is better");
  CHECK(figures[2]["name"] == "iteration");
  CHECK(figures[2]["axis"] == "less is better");
  CHECK(figures[2]["bound_words"] == "at least ");
}

TEST_CASE("no two elements of the page of a search have the same id", "[search]") {
  const std::string page = page_of(made_search());
  std::set<std::string> ids;
  const std::string attribute = " id=\"";
  for (std::size_t at = page.find(attribute); at < page.find("<script type");
       at = page.find(attribute, at + 1)) {
    const std::size_t begin = at + attribute.size();
    const std::string id = page.substr(begin, page.find('"', begin) - begin);
    INFO(id);
    CHECK(ids.insert(id).second);
  }
  CHECK(ids.contains("bubble-ratio"));
  CHECK(ids.contains("winner"));
}

TEST_CASE("the page of a search has scenarios of fronts and of the best candidates") {
  const SearchRun run = sample_search(2, 20);
  const Findings found = find(run);
  std::set<std::size_t> expected(found.ranked.begin(), found.ranked.begin() + 3);
  for (const auto& front : found.fronts) expected.insert(front.begin(), front.end());
  CHECK(rows_with_scenarios(found, 3) == expected);
  const auto all = nlohmann::json::parse(
      analysis::test::gunzip(analysis::test::from_base64(element(page_of(run), "scenarios"))));
  CHECK(all.size() == found.ranked.size());
  for (const auto& one : all)
    CHECK(one[1] == scenario_of(run.rows[one[0].get<std::size_t>()].candidate));
}

TEST_CASE("no name of a search ends a script element") {
  SearchRun run = sample_search(2, 5);
  const std::string attack = "</script><script>alert(1)</script><!--";
  run.title = run.sweep = run.axes[0].name = run.axes[2].values[0] = attack;
  run.groups[0] = run.excluded[0].rule = run.objective.currency = attack;
  for (CandidateRow& row : run.rows)
    if (!row.note.empty()) row.note = attack;
  const std::string page = page_of(run);
  CHECK_THAT(page, !Contains("alert(1)</script>"));
  CHECK(nlohmann::json::parse(element(page, "data"))["title"] == attack);
}

TEST_CASE("the same search gives the same page") {
  CHECK(page_of(sample_search(4, 9)) == page_of(sample_search(4, 9)));
}

TEST_CASE("a page of a search that cannot be written is an error") {
  CHECK_THROWS_AS(write_search_page("/nowhere/page.html", sample_search(1, 1), scenario_of),
                  trace::TraceError);
}

TEST_CASE("the page of a search has the notes of its report") {
  SearchRun run = sample_search(2, 20);
  run.notes = {"model: sequence: 4096 is assumed"};
  const nlohmann::json head = nlohmann::json::parse(page_head(run, find(run), page_columns(run)));
  CHECK(head["run_notes"] == run.notes);
}

TEST_CASE("the page of a search has the answers about its winner and error bands", "[winner]") {
  const SearchRun run = sample_search(2, 20);
  AnswerReport sure;
  sure.add_heading("how sure?");
  AnswerReport costs;
  costs.add_sentence("no tie");
  const nlohmann::json head = nlohmann::json::parse(
      page_head(run, find(run), page_columns(run),
                {.answers = {sure, costs}, .bands = {{.row = 3, .low = 0.9, .high = 1.2}}}));
  CHECK(head["columns"] == page_columns(run).names);
  REQUIRE(head["winner"].size() == 2);
  CHECK(head["winner"][0]["text"] == "how sure?");
  CHECK(head["winner"][1]["text"] == "no tie");
  REQUIRE(head["bands"].size() == 1);
  CHECK(head["bands"][0]["row"] == 3);
  CHECK(head["bands"][0]["low"] == 0.9);
  CHECK(head["bands"][0]["high"] == 1.2);
}
