#include "analysis/web/search/search_page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/palette.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_export.hpp"
#include "analysis/report/search/search_report.hpp"
#include "analysis/report/search/search_tables.hpp"
#include "analysis/trace/evidence_json.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/html_file.hpp"

namespace pipewright::analysis {
namespace {

template <class Value>
void append_bytes(std::string& bytes, Value value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool is_known(const CandidateRow& row) { return seconds_of(row) > 0; }

// Returns the cost of a candidate, or 0 if it is unknown or infinite, which JSON cannot express.
double finite_cost(const SearchRun& run, const CandidateRow& row) {
  if (!is_known(row)) return 0;
  const double cost = cost_of(run, row);
  return std::isfinite(cost) ? cost : 0;
}

// Colours of the activities in time_part_names, in the same order.
constexpr std::array part_colours{style(trace::PassKind::forward).colour,
                                  time_colours::in_passes,
                                  time_colours::transfers,
                                  time_colours::gradients,
                                  time_colours::weights,
                                  time_colours::optimizer,
                                  time_colours::warm_up};
static_assert(part_colours.size() == time_part_names.size());

Json parts_json() {
  Json parts = Json::array();
  for (std::size_t i = 0; i < time_part_names.size(); ++i)
    parts.push_back({{"words", time_part_names[i].text}, {"colour", hex(part_colours[i])}});
  return parts;
}

// Returns what an iteration processes: tokens, or samples if tokens are unknown.
const char* work_name(const SearchRun& run) {
  const bool has_tokens =
      std::ranges::any_of(run.rows, [](const CandidateRow& row) { return row.work.tokens > 0; });
  return has_tokens ? "tokens" : "samples";
}

Json page_objective(const SearchRun& run) {
  return {{"kind", objective_names.at(static_cast<std::size_t>(run.objective.kind))},
          {"name", name_of(run.objective)},
          {"currency", run.objective.currency},
          {"unit", work_name(run)}};
}

// Returns a sentence that says why there is no best candidate.
std::string no_best_sentence(const SearchRun& run, const Findings& findings) {
  std::string text = no_best_text(run, findings);
  text.front() = 'N';  // the text begins with "nothing"
  text.back() = '.';   // the text ends with a newline
  return text;
}

Json reasons_json(const SearchRun& run, const std::vector<Reason>& reasons) {
  constexpr std::size_t max_listed = 5;
  Json list = Json::array();
  for (const Reason& reason : reasons) {
    if (list.size() == max_listed) break;
    list.push_back(
        {{"rows", reason.rows}, {"row", reason.example}, {"note", run.rows[reason.example].note}});
  }
  return list;
}

// Returns the scenarios and launch scripts of candidates as compressed JSON: [[row, text,
// [[program, text], ...]], ...].
std::string scenarios(const SearchRun& run, const Findings& findings, const ScenarioOf& scenario_of,
                      const LaunchesOf& launches_of) {
  Json list = Json::array();
  const auto rows_with_launches = rows_with_scenarios(findings, max_launches);
  for (const std::size_t row : rows_with_scenarios(findings, max_scenarios)) {
    Json entry{row, scenario_of(run.rows[row].candidate)};
    if (launches_of && rows_with_launches.contains(row)) {
      Json launches = Json::array();
      for (const auto& [program, text] : launches_of(run.rows[row].candidate))
        launches.push_back({program, text});
      entry.push_back(launches);
    }
    list.push_back(entry);
  }
  return base64(gzip(json_line(list)));
}

// A column of floating-point numbers: its name, and its value for each candidate.
struct RealColumn {
  std::string name;
  std::function<double(const CandidateRow&)> value;
};

// A figure that the page shows of candidates, with its column.
struct PageFigure {
  RealColumn column;
  std::string name;        // "bubble ratio"
  std::string definition;  // in the glossary; empty: none
  FigureUnit unit;
  PageAxis axis = PageAxis::none;
  std::string axis_title;
  // Words before the value of a candidate that was not simulated, such as "at best"; no words:
  // only simulated candidates have a value.
  std::optional<std::string> bound_words;
  bool is_timed = false;     // the iteration time determines the value
  bool can_be_zero = false;  // a value of 0 is known
};

PageFigure page_figure(const CandidateFigure& figure) {
  const std::string unit =
      figure.unit.form == FigureForm::rate ? fmt::format(" ({}/s)", figure.unit.item) : "";
  return {.column = {figure.key,
                     [&figure](const CandidateRow& row) {
                       return visit_figure(row, figure,
                                           [](auto value) { return static_cast<double>(value); });
                     }},
          .name = figure.page,
          .definition = figure.help,
          .unit = figure.unit,
          .axis = figure.axis,
          .axis_title = figure.page + unit,
          .bound_words = figure.is_simulated ? std::nullopt : std::optional<std::string>(""),
          .is_timed = figure.unit.depends_on_time(),
          .can_be_zero = figure.can_be_zero};
}

// Returns the figures of candidates in the order of the page: throughput, MFU, time, and the
// figures of `candidate_figures` that have a name on the page.
std::vector<PageFigure> page_figures(const SearchRun& run) {
  using Row = CandidateRow;
  const char* const work = work_name(run);
  std::vector<PageFigure> figures{
      {.column = {"throughput",
                  [](const Row& row) { return throughput(row.work, seconds_of(row)); }},
       .name = "throughput",
       .definition = "tokens (or samples) of an iteration over its time",
       .unit = {FigureForm::rate, work},
       .axis = PageAxis::more_is_better,
       .axis_title = fmt::format("throughput ({}/s)", work),
       .bound_words = "at best ",
       .is_timed = true},
      {.column = {"mfu", [](const Row& row) { return mfu(row.work, seconds_of(row)); }},
       .name = "MFU",
       .definition = "model FLOPs utilisation: FLOP of forward and backward divided by the time "
                     "and the peak FLOP/s of all GPUs; causal attention counts once, recomputation "
                     "does not count",
       .unit = {FigureForm::ratio},
       .axis = PageAxis::more_is_better,
       .axis_title = "MFU",
       .bound_words = "at best ",
       .is_timed = true},
      {.column = {"seconds", seconds_of},
       .name = "iteration",
       .unit = {FigureForm::seconds},
       .axis = PageAxis::less_is_better,
       .axis_title = "time of an iteration",
       .bound_words = "at least ",
       .is_timed = true}};
  for (const CandidateFigure& figure : candidate_figures)
    if (figure.page != nullptr) figures.push_back(page_figure(figure));
  return figures;
}

// Returns the identifier of a figure in the glossary: "bubble-ratio".
std::string glossary_id(const PageFigure& figure) {
  std::string id;
  for (const char c : figure.name)
    id += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return id;
}

std::string glossary_entries(const std::vector<PageFigure>& figures) {
  std::vector<std::string> entries;
  for (const PageFigure& figure : figures)
    if (!figure.definition.empty())
      entries.push_back(fmt::format("<dt id=\"{}\">{}</dt><dd>{}</dd>", glossary_id(figure),
                                    html_text(figure.name), html_text(figure.definition)));
  return fmt::format("{}", fmt::join(entries, "\n    "));
}

Json figures_json(const std::vector<PageFigure>& figures) {
  constexpr std::array axis_names{"", "more is better",
                                  "less is better"};  // in the order of PageAxis
  Json list = Json::array();
  for (const PageFigure& figure : figures)
    list.push_back({{"column", figure.column.name},
                    {"name", figure.name},
                    {"anchor", figure.definition.empty() ? "" : glossary_id(figure)},
                    {"form", figure_form_names.at(static_cast<std::size_t>(figure.unit.form))},
                    {"item", figure.unit.item},
                    {"axis", axis_names.at(static_cast<std::size_t>(figure.axis))},
                    {"axis_title", figure.axis_title},
                    {"bound_words", figure.bound_words},
                    {"is_timed", figure.is_timed},
                    {"can_be_zero", figure.can_be_zero}});
  return list;
}

std::vector<RealColumn> real_columns(const SearchRun& run) {
  using Row = CandidateRow;
  std::vector<RealColumn> columns{
      {"candidate", [](const Row& row) { return static_cast<double>(row.candidate); }},
      {"cost", [&run](const Row& row) { return finite_cost(run, row); }},
      {"bound", &Row::bound_s},
      {"peak", [](const Row& row) { return static_cast<double>(row.peak_bytes); }},
      {"capacity", [](const Row& row) { return static_cast<double>(row.capacity_bytes); }},
      {"gpus", [](const Row& row) { return static_cast<double>(row.work.gpus); }}};
  for (PageFigure& figure : page_figures(run)) columns.push_back(std::move(figure.column));
  return columns;
}

}  // namespace

PageColumns page_columns(const SearchRun& run) {
  PageColumns columns;
  const auto put_column = [&](const auto& value) {
    for (const CandidateRow& row : run.rows) append_bytes(columns.bytes, value(row));
  };
  for (const RealColumn& column : real_columns(run)) {
    columns.names.push_back(column.name);
    put_column(column.value);
  }
  for (const TimePartName& part : time_part_names)
    put_column([&](const CandidateRow& row) { return row.parts.*part.part; });

  std::unordered_map<std::string_view, std::uint32_t> note_indices;
  for (const CandidateRow& row : run.rows) {
    const auto [entry, is_new] =
        note_indices.try_emplace(row.note, static_cast<std::uint32_t>(columns.notes.size()));
    if (is_new) columns.notes.push_back(row.note);
    append_bytes(columns.bytes, entry->second);
  }
  for (const CandidateRow& row : run.rows)
    append_bytes(columns.bytes, static_cast<std::uint16_t>(row.group));
  for (const CandidateRow& row : run.rows) {
    auto entry = std::ranges::find(columns.evidence, row.evidence);
    if (entry == columns.evidence.end()) entry = columns.evidence.insert(entry, row.evidence);
    append_bytes(columns.bytes, static_cast<std::uint16_t>(entry - columns.evidence.begin()));
  }
  std::string axes(2 * run.axes.size() * run.rows.size(), '\0');
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const std::vector<std::uint32_t> digits = choices(run.axes, run.rows[i].candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis) {
      const std::size_t offset = 2 * (axis * run.rows.size() + i);
      axes[offset] = static_cast<char>(digits[axis] & 0xFF);
      axes[offset + 1] = static_cast<char>(digits[axis] >> 8);
    }
  }
  columns.bytes += axes;
  for (const CandidateRow& row : run.rows) append_bytes(columns.bytes, row.outcome);
  return columns;
}

std::string page_head(const SearchRun& run, const Findings& findings, const PageColumns& columns,
                      const WinnerWords& winner) {
  Json json{{"title", run.title},
            {"sweep", run.sweep},
            {"rows", run.rows.size()},
            {"combinations", std::isfinite(run.combinations) ? Json(run.combinations) : Json()},
            {"objective", page_objective(run)},
            {"groups", run.groups},
            {"proof", proof_text(run, findings)},
            {"run_notes", run.notes},
            {"none", findings.best ? "" : no_best_sentence(run, findings)},
            {"not_looked_at",
             std::isfinite(findings.not_looked_at) ? Json(findings.not_looked_at) : Json(0)},
            {"not_looked_at_words", unexamined_words(run)},
            {"parts", parts_json()},
            {"outcomes", outcome_words},
            {"outcome_names", outcome_names},
            {"best_of_group", findings.best_of_group},
            {"fronts", findings.fronts},
            {"failed_hopes", findings.failed_contenders},
            {"best", findings.best},
            {"nearest", findings.nearest},
            {"notes", columns.notes},
            {"evidence", Json::array()},
            {"columns", columns.names},
            {"figures", figures_json(page_figures(run))}};
  for (const trace::Evidence& evidence : columns.evidence) {
    Json object;
    trace::add_evidence(object, evidence);
    json["evidence"].push_back(std::move(object));
  }
  json["winner"] = Json::array();  // parts of answers
  for (const AnswerReport& answer : winner.answers)
    for (Json& part : answer.json()) json["winner"].push_back(std::move(part));
  json["decision"] = winner.decision ? winner.decision->json() : Json::array();
  json["bands"] = Json::array();
  for (const WinnerWords::Band& band : winner.bands)
    json["bands"].push_back({{"row", band.row}, {"low", band.low}, {"high", band.high}});
  json["axes"] = run.axes;
  json["excluded"] = run.excluded;
  if (findings.has_refusals) json["refusal_hint"] = refusal_hint;
  json["reasons"] = {{"illegal", reasons_json(run, findings.illegal)},
                     {"does not fit", reasons_json(run, findings.does_not_fit)},
                     {"failed", reasons_json(run, findings.failed)}};
  // json_line() replaces invalid UTF-8 in names by U+FFFD.
  return script_safe(json_line(json));
}

std::set<std::size_t> rows_with_scenarios(const Findings& findings, std::size_t max_ranked) {
  std::set<std::size_t> rows;
  for (const auto& front : findings.fronts) rows.insert(front.begin(), front.end());
  const auto best = std::span(findings.ranked).first(std::min(max_ranked, findings.ranked.size()));
  rows.insert(best.begin(), best.end());
  return rows;
}

void write_search_page(const std::filesystem::path& path, const SearchRun& run,
                       const ScenarioOf& scenario_of, const LaunchesOf& launches_of,
                       const WinnerWords& winner) {
  const Findings findings = find(run);
  const PageColumns columns = page_columns(run);
  trace::write_file(path, [&](std::ostream& stream) {
    const std::string& subject = run.groups.size() == 1 ? run.groups[0] : run.title;
    write_head(stream, subject + ": search", {"page.css", "search.css"});
    Frame frame(stream, asset("search.html"));
    frame.fill("figures", glossary_entries(page_figures(run)));
    frame.fill("data", page_head(run, findings, columns, winner));
    frame.fill("rows", base64(gzip(columns.bytes)));
    frame.fill("scenarios", scenarios(run, findings, scenario_of, launches_of));
    frame.fill("script", bundled_script("search_page.js"));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
