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
constexpr std::size_t most_characters = 160;

std::string shortened(std::string text) {
  if (text.size() <= most_characters) return text;
  text.resize(most_characters);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  return text + "...";
}

struct Line {
  std::uint64_t count;
  std::string words;
};

void add_reasons(std::vector<Line>& lines, const SearchRun& run, const std::vector<Reason>& found) {
  if (found.size() == 1 && run.rows[found.front().example].note.empty()) return;
  for (const Reason& reason : std::span(found).first(std::min(found.size(), most_reasons))) {
    const CandidateRow& row = run.rows[reason.example];
    lines.push_back({reason.rows, fmt::format("    {}", shortened(printable(row.note)))});
    lines.push_back({0, fmt::format("      such as {}", named(run, row))});
  }
  if (found.size() > most_reasons)
    lines.push_back({0, fmt::format("    and for {} other reasons", found.size() - most_reasons)});
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

std::string fate_of_none(const FateCounts& fates) {
  const auto count = [&](Fate fate) { return fates[static_cast<std::size_t>(fate)]; };
  if (count(Fate::simulated) > 0) return "below the floor";
  if (count(Fate::failed) > 0) return "failed";
  if (count(Fate::open) > 0) return "not simulated yet";
  if (count(Fate::bounded_away) > 0) return "bounded away";
  if (count(Fate::does_not_fit) > 0) return "none fits";
  return count(Fate::illegal) > 0 ? "none legal" : "no candidate";
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
      if (one.combinations > 0)
        lines.push_back({one.combinations, fmt::format("    {}", shortened(printable(one.rule)))});
    if (rules.size() > most_rules)
      lines.push_back({0, fmt::format("    and {} other rules", rules.size() - most_rules)});
  }
  const auto count = [&](Fate fate) { return findings.fates[static_cast<std::size_t>(fate)]; };
  const std::uint64_t fit =
      count(Fate::open) + count(Fate::bounded_away) + count(Fate::simulated) + count(Fate::failed);
  for (const Fate fate : {Fate::illegal, Fate::does_not_fit, Fate::bounded_away, Fate::open,
                          Fate::failed, Fate::simulated}) {
    if (count(fate) == 0 && fate != Fate::simulated) continue;
    std::string words = fate_words.at(static_cast<std::size_t>(fate));
    if (fate == Fate::open) words = "not simulated yet";
    if (fate == Fate::simulated && fit > 0)
      words +=
          fmt::format(", {} of those that fit",
                      format_percent(static_cast<double>(count(fate)) / static_cast<double>(fit)));
    lines.push_back({count(fate), words});
    if (fate == Fate::illegal) add_reasons(lines, run, findings.illegal);
    if (fate == Fate::does_not_fit) add_reasons(lines, run, findings.does_not_fit);
    if (fate == Fate::failed) add_reasons(lines, run, findings.failed);
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
