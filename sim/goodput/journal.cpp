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

// The first lines in which two questions differ.
std::string difference(const std::string& there, const std::string& here) {
  const auto lines = base::first_difference(there, here, base::Indentation::ignored);
  if (!lines) return "by spaces alone";
  const auto quoted = [](const std::optional<std::string_view>& line) {
    return line ? config::in_quotes(*line) : std::string("nothing");
  };
  return fmt::format("{} there, {} here", quoted(lines->left), quoted(lines->right));
}

}  // namespace

std::string to_line(const JournalEntry& entry) {
  json outcomes = json::array();
  for (const GoodputOutcome& one : entry.outcomes)
    outcomes.push_back({one.seed, one.parts, one.interruptions, one.corruptions, one.stragglers,
                        one.checkpoints, one.reached});
  return json{{"variant", entry.variant}, {"outcomes", outcomes}}.dump();
}

JournalEntry entry_of(const std::string& line) {
  const json value = json::parse(line);
  JournalEntry entry{.variant = value.at("variant"), .outcomes = {}};
  for (const json& one : value.at("outcomes"))
    entry.outcomes.push_back({.seed = one.at(0),
                              .parts = one.at(1),
                              .interruptions = one.at(2),
                              .corruptions = one.at(3),
                              .stragglers = one.at(4),
                              .checkpoints = one.at(5),
                              .reached = one.at(6)});
  return entry;
}

Journal::Journal(std::filesystem::path path, const std::string& question, Start start)
    : lines_(path,
             {.busy = "another run writes its results here; wait for its end, or give this one "
                      "another file",
              .too_long = "a line is too long for results of pipewright goodput",
              .fail = [](const std::string& message) { throw std::runtime_error(message); }},
             [&](std::size_t number, const std::string& line) {
               try {
                 if (number > 1)
                   entries_.push_back(entry_of(line));
                 else if (const std::string asked = json::parse(line).at("question");
                          asked != question)
                   throw std::runtime_error(fmt::format(
                       "{}: these are the results of another scenario, or of other options: {}; "
                       "resume with the ones that they are of, or give this run another file",
                       path.string(), difference(asked, question)));
               } catch (const json::exception& error) {
                 throw std::runtime_error(fmt::format("{}:{}: no results of pipewright goodput: {}",
                                                      path.string(), number, error.what()));
               }
             }) {
  if (start == Start::anew && !entries_.empty())
    lines_.fail(
        "an earlier run has left seeds here; go on with them (--resume), or remove this file");
  if (lines_.is_empty())
    lines_.append(json{{"pipewright_goodput", 1}, {"question", question}}.dump(
                      -1, ' ', false, json::error_handler_t::replace) +
                  '\n');
}

void Journal::append(const JournalEntry& entry) { lines_.append(to_line(entry) + '\n'); }

}  // namespace pipewright::goodput
