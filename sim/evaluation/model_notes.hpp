#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/counts.hpp"
#include "sim/config/training_checks.hpp"

// Notes on the model of a scenario, one sentence each. The functions are inline, since
// pipewright-mpi prints them and links nothing that needs SimGrid.
namespace pipewright::evaluation {

// Note on a sequence that is written in thousands, such as 8k, and usually meant in units of 1024.
// Empty for other sequences.
inline std::string thousands_note(const config::Value& tree) {
  for (const char* const key : {"training.sequence", "model.sequence"}) {
    const config::Value* const sequence = config::value_at(tree, key);
    if (sequence == nullptr) continue;
    const std::string_view text = sequence->text;
    const auto tokens = config::scaled_count(text);
    if (!text.ends_with('k') || !tokens) return {};
    return fmt::format("{}: {} is {} tokens; {}Ki is {}", key, text, *tokens,
                       text.substr(0, text.size() - 1), static_cast<double>(*tokens) / 1000 * 1024);
  }
  return {};
}

// Notes on what reading the scenario's model assumed, and on a sequence in thousands.
inline std::vector<std::string> notes_of_model(const config::Scenario& scenario) {
  if (!scenario.model) return {};
  std::vector<std::string> notes = config::notes_of(scenario.model->value, scenario.training);
  for (std::string& note : notes) note = fmt::format("model: {}", analysis::printable(note));
  if (std::string note = thousands_note(scenario.tree); !note.empty())
    notes.push_back(std::move(note));
  return notes;
}

}  // namespace pipewright::evaluation
