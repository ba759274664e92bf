// Holds the search against the best published heuristics: the same costs, the same memory, the
// longest time from a device's first pass to its last. Prints ours, theirs and the proven bound
// side by side; fails if a row is missed by more than 1e-4 of the bubble rate.
//
// The rows of papers' tables stand in zero_bubble_rows.hpp. Those that come from a repository's
// data are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside the
// project.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "schedules/search/search.hpp"
#include "support/pipelines.hpp"
#include "support/reference.hpp"
#include "validation/zero_bubble_rows.hpp"

namespace {

using namespace pipewright;
using schedules::Objective;

struct Question {
  std::string name;
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;
  std::array<double, 3> times{};  // F, I, W of a device
  double hop = 0;
  double memory = 0;  // microbatches
  double early = 0;   // the part of them that I releases
};

struct Answer {
  double rate = 0, bound = 0, seconds = 0;
  std::string origin;
};

Answer ask(const Question& question) {
  const auto started = std::chrono::steady_clock::now();
  const auto found =
      schedules::search({.devices = question.devices,
                         .microbatches = question.microbatches,
                         .pipeline =
                             [&](const schedules::Routes& routes) {
                               return std::optional(tests::pipeline(
                                   routes, question.devices, question.microbatches, question.times,
                                   question.hop, question.memory, question.early));
                             },
                         .objective = Objective::span},
                        [](const schedules::SearchProgress&) { return true; });
  const double busy =
      question.microbatches * (question.times[0] + question.times[1] + question.times[2]);
  return {
      .rate = 1 - busy / found.span,
      .bound = std::max(0.0, 1 - busy / found.lower_bound),
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(),
      .origin = found.origin};
}

class Table {
 public:
  Table() {
    fmt::print("{:<44} {:>8} {:>8} {:>8} {:>6}\n", "bubble rate: 1 - busy / longest span", "ours",
               "theirs", "bound", "s");
  }
  void row(const Question& question, double published) {
    const Answer answer = ask(question);
    const bool met = answer.rate <= published + 1e-4;
    missed_ += met ? 0 : 1;
    ++rows_;
    fmt::print("{:<44} {:8.4f} {:8.4f} {:8.4f} {:6.2f}  {}{}\n", question.name, answer.rate,
               published, answer.bound, answer.seconds, answer.origin, met ? "" : "  MISSED");
  }
  int finish() const {
    fmt::print("{} of {} rows are met\n", rows_ - missed_, rows_);
    return missed_ == 0 ? 0 : 1;
  }

 private:
  int rows_ = 0;
  int missed_ = 0;
};

void closed_forms(Table& table) {
  for (const std::uint32_t p : {3U, 4U, 8U, 16U})
    for (std::uint32_t L = 2 * ((p + 4) / 3); L <= 2 * p; ++L) {
      const std::uint32_t m = 3 * p;
      const double busy = 3.0 * m;
      table.row(
          {.name = fmt::format("unit times, {} devices, {} microbatches, {} held", p, m, L / 2.0),
           .devices = p,
           .microbatches = m,
           .times = {1, 1, 1},
           .memory = L / 2.0},
          1 - busy / (busy + tests::published_cells(p, L) / 2));
    }
}

void zero_bubble_tables(Table& table) {
  for (const tests::ZeroBubbleRow& row : tests::zero_bubble_rows)
    for (const auto& [name, copies, published] :
         {std::tuple{"ZB-1p", 1, row.zb_1p}, {"ZB-2p", 2, row.zb_2p}})
      table.row(
          {.name = fmt::format("{} {}, {} x {}", name, row.model, row.devices, row.microbatches),
           .devices = row.devices,
           .microbatches = row.microbatches,
           .times = {row.forward, row.input_grad, row.weight_grad},
           .hop = row.hop,
           .memory = 1.0 * copies * row.devices,
           .early = tests::input_grad_releases(row.model)},
          published);
}

// The authors' heuristic against its memory limit, and ZB-V, for the model whose pass times the
// repository gives by chunks of half a stage.
void repository_data(Table& table, const std::filesystem::path& folder) {
  std::map<std::string, Question> by_size;  // "16 x 48"
  for (auto& row : tests::read_csv(folder / "zero_bubble_pass_times.csv")) {
    if (row["model"] != "6.2B" || !row["granularity"].starts_with("half-stage")) continue;
    const auto number = [&](const char* name) { return std::stod(row[name]); };
    const auto p = static_cast<std::uint32_t>(number("pp"));
    const auto m = static_cast<std::uint32_t>(number("num_microbatches"));
    by_size[fmt::format("{} x {}", p, m)] = {
        .devices = p,
        .microbatches = m,
        .times = {2 * number("T_F_ms"), 2 * number("T_B_ms"), 2 * number("T_W_ms")},
        .hop = number("T_comm_ms"),
        .early = tests::input_grad_releases("6.2B")};
  }
  const auto ask = [&](auto& row, const std::string& name, double memory_over_p) {
    const std::string size = row["pp"] + " x " + row["num_microbatches"];
    const auto found = by_size.find(size);
    if (found == by_size.end()) return;
    Question question = found->second;
    question.name = fmt::format("{} 6.2B, {}, {} p held", name, size, memory_over_p);
    question.memory = memory_over_p * question.devices;
    table.row(question, std::stod(row["bubble_rate"]));
  };
  for (auto& row : tests::read_csv(folder / "zero_bubble_bubble_rates.csv"))
    if (row["schedule"] == "ZB-V") ask(row, "ZB-V", 1);
  for (auto& row : tests::read_csv(folder / "zero_bubble_memory_limit.csv"))
    ask(row, row["scheduler"], std::stod(row["mem_limit_over_p_MB"]));
}

}  // namespace

int main() {
  Table table;
  closed_forms(table);
  zero_bubble_tables(table);
  const std::filesystem::path folder = tests::reference_folder();
  if (std::filesystem::is_directory(folder))
    repository_data(table, folder);
  else
    fmt::print("{}: no such folder; the rows of repositories' data are skipped\n", folder.string());
  return table.finish();
}
