#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t width = 100;

std::string flow(const config::Value& value) {
  std::string text = config::to_yaml(value);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// A map within a list or a text takes one line; a map a line for each key.
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

// Sentences as comments, cut at spaces.
void write_comment(const std::string& sentence, std::string_view first, std::string& out) {
  const std::string text = comment_text(sentence);
  std::string line = fmt::format("# {}", first);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > width && line.size() > 4) {
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
  std::string all;
  for (const Note& note : notes) {
    if (!all.empty()) all += ", ";
    all += note.text.size() > 120 ? note.text.substr(0, 117) + "..." : note.text;
    if (note.origin.line > 0) all += fmt::format(" ({})", note.origin.line);
  }
  std::ranges::replace_if(
      all, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  write_comment(all, title, out);
}

std::string_view what_lacks(const std::string& key) {
  if (key == "parallel.dp") return "how many GPUs there are (--gpus N)";
  if (key == "model.vocabulary") return "the tokenizer's number of tokens (--vocab-size)";
  return "";
}

}  // namespace

std::string commented_yaml(const Job& job) {
  std::string out;
  write_comment(fmt::format("{}, a job of {}", job.name, find_framework(job.framework)->title), "",
                out);
  for (const std::string& one : job.assumed) write_comment(one, "assumed:", out);
  for (const std::string& key : job.missing) {
    const std::string_view what = what_lacks(key);
    write_comment(fmt::format("{}{}", key, what.empty() ? "" : fmt::format(": {}", what)),
                  "nothing says:", out);
  }
  write_notes(job.not_understood, "not understood:", out);
  write_notes(job.without_effect, "without effect:", out);
  write_entries(job, job.tree, "", 0, out);
  return out;
}

}  // namespace pipewright::jobs
