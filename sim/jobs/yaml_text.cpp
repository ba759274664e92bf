#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t comment_width = 100;

std::string flow(const config::Value& value) {
  std::string text = config::to_yaml(value);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Writes the entries of a map: a line for each key; lists, and maps in them, stay on one line.
void write_entries(const Job& job, const config::Value& map, const std::string& prefix,
                   std::size_t indent, std::string& out) {
  for (const config::Entry& entry : map.entries) {
    const std::string key = prefix.empty() ? entry.key : fmt::format("{}.{}", prefix, entry.key);
    std::string line = std::string(indent, ' ') + entry.key + ":";
    const bool opens = entry.value.kind == config::Value::Kind::map && !entry.value.entries.empty();
    if (!opens) {
      if (entry.value.kind == config::Value::Kind::text) {
        line += " " + flow(entry.value);
      } else {
        line += " [";
        for (std::size_t i = 0; i < entry.value.items.size(); ++i)
          line += (i > 0 ? ", " : "") + flow(entry.value.items[i]);
        line += "]";
      }
    }
    if (const auto comment = job.comments.find(key); comment != job.comments.end()) {
      constexpr std::size_t column = 34;
      if (line.size() < column) line.append(column - line.size(), ' ');
      line += "  # " + comment_text(comment->second);
    }
    out += line + "\n";
    if (opens) write_entries(job, entry.value, key, indent + 2, out);
  }
}

// Writes a sentence as comment lines, broken at spaces.
void write_comment(const std::string& sentence, std::string_view first, std::string& out) {
  const std::string text = comment_text(sentence);
  std::string line = fmt::format("# {}", first);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > comment_width && line.size() > 4) {
      out += line + "\n";
      line = "#  ";
    }
    line += (line.ends_with(' ') || word.empty() ? "" : " ") + word;
    at = end + 1;
  }
  out += line + "\n";
}

void write_notes(const std::vector<Note>& notes, std::string_view title, std::string& out) {
  if (notes.empty()) return;
  std::string text_of_notes;
  for (const Note& note : notes) {
    if (!text_of_notes.empty()) text_of_notes += ", ";
    text_of_notes +=
        note.text.size() > 120 ? fmt::format("{}...", note.text.substr(0, 117)) : note.text;
    if (note.origin.line > 0) text_of_notes += fmt::format(" ({})", note.origin.line);
  }
  std::ranges::replace_if(
      text_of_notes, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  write_comment(text_of_notes, title, out);
}

// Explains what a missing key means, or which option gives it; may be empty.
std::string_view meaning_of_missing(const std::string& key) {
  if (key == "parallel.dp") return "the number of GPUs (--gpus N)";
  if (key == "model.vocabulary") return "the number of tokens of the tokenizer (--vocab-size)";
  return "";
}

}  // namespace

std::string commented_yaml(const Job& job) {
  std::string out;
  write_comment(fmt::format("{}, a job of {}", job.name, find_framework(job.framework)->title), "",
                out);
  for (const std::string& sentence : job.assumed) write_comment(sentence, "assumed:", out);
  for (const std::string& key : job.missing) {
    const std::string_view meaning = meaning_of_missing(key);
    write_comment(fmt::format("{}{}", key, meaning.empty() ? "" : fmt::format(": {}", meaning)),
                  "missing:", out);
  }
  write_notes(job.not_understood, "not understood:", out);
  write_notes(job.without_effect, "without effect:", out);
  write_entries(job, job.tree, "", 0, out);
  return out;
}

}  // namespace pipewright::jobs
