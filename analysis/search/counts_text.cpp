#include "analysis/search/counts_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/search/choices.hpp"
#include "analysis/search/columns.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_reasons = 3;
constexpr std::size_t most_rules = 6;
constexpr std::size_t most_characters = 76;
constexpr std::size_t most_lines = 2;

// Words on lines that fit beside the counts; what does not fit on two is left out.
std::vector<std::string> folded(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.size();
    if (end - at > most_characters) {
      end = text.rfind(' ', at + most_characters);
      if (end == std::string::npos || end <= at) end = at + most_characters;
    }
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    lines.push_back(text.substr(at, end - at));
    at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    if (lines.size() == most_lines && at < text.size()) {
      lines.back() += " ...";
      break;
    }
  }
  return lines;
}

struct Line {
  std::uint64_t count;
  std::string words;
};

// The first line has the count.
void add(std::vector<Line>& lines, std::uint64_t count, std::size_t blanks,
         const std::string& words) {
  for (const std::string& text : folded(words)) {
    lines.push_back({count, std::string(blanks, ' ') + text});
    count = 0;
  }
}

void add_reasons(std::vector<Line>& lines, const SearchRun& run, const std::vector<Reason>& found) {
  if (found.size() == 1 && run.rows[found.front().example].note.empty()) return;
  for (const Reason& reason : std::span(found).first(std::min(found.size(), most_reasons))) {
    const CandidateRow& row = run.rows[reason.example];
    add(lines, reason.rows, 4, row.note.empty() ? "no reason was given" : printable(row.note));
    add(lines, 0, 6, fmt::format("such as {}", named(run, row)));
  }
  if (found.size() > most_reasons)
    add(lines, 0, 4, fmt::format("and for {} other reasons", found.size() - most_reasons));
}

}  // namespace

std::string grouped(double count) {
  if (!(count < 1e15)) return fmt::format("{:.2g}", count);
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string outcome_of_none(const OutcomeCounts& outcomes) {
  const auto count = [&](Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; };
  if (count(Outcome::simulated) > 0) return "below the floor";
  if (count(Outcome::failed) > 0) return "failed";
  if (count(Outcome::open) > 0) return "not simulated yet";
  if (count(Outcome::bounded_away) > 0) return "bounded away";
  if (count(Outcome::does_not_fit) > 0) return "none fits";
  return count(Outcome::illegal) > 0 ? "none legal" : "no candidate";
}

std::string counts_text(const SearchRun& run, const Findings& findings) {
  std::vector<Line> lines;
  std::uint64_t cut = 0;
  for (const Excluded& one : run.excluded) cut += one.combinations;
  if (cut > 0) {
    lines.push_back({cut, "cut away by rules"});
    std::vector<Excluded> rules = run.excluded;
    std::ranges::stable_sort(rules, std::ranges::greater{}, &Excluded::combinations);
    for (const Excluded& one : std::span(rules).first(std::min(rules.size(), most_rules)))
      if (one.combinations > 0) add(lines, one.combinations, 4, printable(one.rule));
    if (rules.size() > most_rules)
      add(lines, 0, 4, fmt::format("and {} other rules", rules.size() - most_rules));
  }
  const auto count = [&](Outcome outcome) {
    return findings.outcomes[static_cast<std::size_t>(outcome)];
  };
  const std::uint64_t fit = count(Outcome::open) + count(Outcome::bounded_away) +
                            count(Outcome::simulated) + count(Outcome::failed);
  for (const Outcome outcome : {Outcome::illegal, Outcome::does_not_fit, Outcome::bounded_away,
                                Outcome::open, Outcome::failed, Outcome::simulated}) {
    if (count(outcome) == 0 && outcome != Outcome::simulated) continue;
    std::string words = outcome_words.at(static_cast<std::size_t>(outcome));
    if (outcome == Outcome::open) words = "not simulated yet";
    if (outcome == Outcome::simulated && fit > 0)
      words += fmt::format(
          ", {} of those that fit",
          format_percent(static_cast<double>(count(outcome)) / static_cast<double>(fit)));
    lines.push_back({count(outcome), words});
    if (outcome == Outcome::illegal) add_reasons(lines, run, findings.illegal);
    if (outcome == Outcome::does_not_fit) add_reasons(lines, run, findings.does_not_fit);
    if (outcome == Outcome::failed) add_reasons(lines, run, findings.failed);
  }
  TextTable table;
  std::vector<std::string> numbers;
  std::vector<std::string> words;
  for (const Line& line : lines) {
    const bool bare = line.count == 0 && line.words.front() == ' ';
    numbers.push_back(bare ? "" : grouped(static_cast<double>(line.count)));
    words.push_back(line.words);
  }
  table.add_numbers({}, std::move(numbers));
  table.add_names("", std::move(words));
  return table.text().substr(1);  // without the empty line of heads
}

}  // namespace pipewright::analysis
