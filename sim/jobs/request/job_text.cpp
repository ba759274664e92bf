#include <algorithm>

#include <fmt/format.h>

#include "sim/config/text/error.hpp"
#include "sim/jobs/request/job.hpp"

namespace pipewright::jobs {
namespace {

// Part of a script, such as "if nvidia-smi | grep -q H100", is shown with so many letters.
constexpr std::size_t max_shown = 48;

// Returns whether a text is a part of a script, and no setting: words before any : or =.
bool is_of_script(std::string_view text) {
  const std::size_t end = text.find_first_of(" :=");
  return !text.starts_with('-') && !text.starts_with('"') && end != std::string_view::npos &&
         text[end] == ' ' && !text.substr(end).starts_with(" =");
}

// A part of a script that is not followed, in quotes.
std::string quoted_part(std::string_view text) {
  return text.size() <= max_shown ? fmt::format("\"{}\"", text)
                                  : fmt::format("\"{}..\"", text.substr(0, max_shown));
}

// Name of a setting, without its value: "--lr" of "--lr 1e-4", "lr" of "lr: 1e-4" or "lr = 1e-4".
std::string_view setting_in(std::string_view text) {
  if (text.starts_with('"')) text.remove_prefix(1);
  return text.substr(0, text.find_first_of(" :=\""));
}

}  // namespace

std::string_view name_of(Changes changes) {
  return changes_names[static_cast<std::size_t>(changes)];
}

std::string summary_of(const Job& job) {
  std::string text =
      fmt::format("{}: {} settings used, {} without effect, {} not modelled", job.name, job.used,
                  job.without_effect.size(), job.not_modelled.size());
  std::string_view separator = ": ";
  for (const Note& note : job.not_modelled) {
    const std::string_view name = setting_in(note.text);
    const auto has_name = [name](const Note& other) { return setting_in(other.text) == name; };
    // Constructs of a script, such as "if A" and "if B", differ by their lines.
    const bool is_one_of_several = std::ranges::count_if(job.not_modelled, has_name) > 1;
    const std::string place = is_one_of_several && note.origin.line > 0
                                  ? fmt::format(" in line {}", note.origin.line)
                                  : "";
    text += is_of_script(note.text) && note.changes == Changes::unknown
                ? fmt::format("{}{}{} (not followed)", separator, quoted_part(note.text), place)
                : fmt::format("{}{}{} ({})", separator, name, place, name_of(note.changes));
    separator = ", ";
  }
  return text;
}

std::string not_modelled_text(const Note& note) {
  const std::string text = std::string(config::locate(note.origin, note.text));
  return note.why.empty() ? text : fmt::format("{}: {}", text, note.why);
}

void check_all_modelled(const Job& job) {
  if (job.not_modelled.empty()) return;
  std::string text = fmt::format(
      "{}: --strict refuses settings that are not modelled; remove these, or leave out --strict:",
      job.name);
  for (const Note& note : job.not_modelled) text += fmt::format("\n  {}", not_modelled_text(note));
  throw config::Error(text);
}

}  // namespace pipewright::jobs
