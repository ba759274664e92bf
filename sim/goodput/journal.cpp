#include "sim/goodput/journal.hpp"

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/line_difference.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::goodput {

using analysis::GoodputOutcome;
using nlohmann::json;

namespace {

// Describes the first lines in which two questions differ.
std::string difference(const std::string& there, const std::string& here) {
  const auto lines = base::first_difference(there, here, base::Indentation::ignored);
  if (!lines) return "only spaces differ";
  const auto quoted = [](const std::optional<std::string_view>& line) {
    return line ? config::in_quotes(*line) : std::string("nothing");
  };
  return fmt::format("{} in the file, {} in this run", quoted(lines->left), quoted(lines->right));
}

}  // namespace

std::string to_line(const JournalEntry& entry) {
  json outcomes = json::array();
  for (const GoodputOutcome& outcome : entry.outcomes)
    outcomes.push_back({outcome.seed, outcome.parts, outcome.interruptions, outcome.corruptions,
                        outcome.stragglers, outcome.checkpoints, outcome.reached});
  return json{{"variant", entry.variant}, {"outcomes", outcomes}}.dump();
}

JournalEntry entry_of(const std::string& line) {
  const json value = json::parse(line);
  JournalEntry entry{.variant = value.at("variant"), .outcomes = {}};
  for (const json& row : value.at("outcomes"))
    entry.outcomes.push_back({.seed = row.at(0),
                              .parts = row.at(1),
                              .interruptions = row.at(2),
                              .corruptions = row.at(3),
                              .stragglers = row.at(4),
                              .checkpoints = row.at(5),
                              .reached = row.at(6)});
  return entry;
}

Journal::Journal(std::filesystem::path path, const std::string& question, Start start)
    : lines_(
          path,
          {.busy = "another run is writing its results here; wait for its end, or give this run "
                   "another file",
           .too_long = "a line is too long for results of pipewright goodput",
           .fail = [](const std::string& message) { throw std::runtime_error(message); }},
          [&](std::size_t number, const std::string& line) {
            try {
              if (number > 1)
                entries_.push_back(entry_of(line));
              else if (const std::string recorded = json::parse(line).at("question");
                       recorded != question)
                throw std::runtime_error(fmt::format(
                    "{}: these results belong to another scenario or to other options: {}; "
                    "resume with those, or give this run another file",
                    path.string(), difference(recorded, question)));
            } catch (const json::exception& error) {
              throw std::runtime_error(fmt::format("{}:{}: not a result of pipewright goodput: {}",
                                                   path.string(), number, error.what()));
            }
          }) {
  if (start == Start::anew && !entries_.empty())
    lines_.fail(
        "the file has results of an earlier run; continue with them (--resume), or remove the "
        "file");
  if (lines_.is_empty())
    lines_.append(json{{"pipewright_goodput", 1}, {"question", question}}.dump(
                      -1, ' ', false, json::error_handler_t::replace) +
                  '\n');
}

void Journal::append(const JournalEntry& entry) { lines_.append(to_line(entry) + '\n'); }

}  // namespace pipewright::goodput
