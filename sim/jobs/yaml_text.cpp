#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Text of a setting for a comment, with its line.
std::string located(const Note& note) {
  constexpr std::size_t longest = 120;
  std::string text =
      note.text.size() > longest ? fmt::format("{}...", note.text.substr(0, 117)) : note.text;
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  if (note.origin.line > 0) text += fmt::format(" ({})", note.origin.line);
  return text;
}

// Writes the settings that are not modelled, one per line.
void write_not_modelled(const Job& job, std::string& out) {
  for (const Note& note : job.not_modelled)
    write_comment(fmt::format("{}: {}", located(note), note.why), "not modelled:", out);
}

// Writes the settings without effect, together those that have the same reason. Of many settings,
// only their numbers by reason, unless `details` is set.
void write_without_effect(const Job& job, bool details, std::string& out) {
  constexpr std::size_t few = 16;
  struct Group {
    std::string_view why;
    std::string settings;
    std::size_t count;
  };
  std::vector<Group> groups;
  for (const Note& note : job.without_effect) {
    auto group = std::ranges::find(groups, note.why, &Group::why);
    if (group == groups.end()) group = groups.insert(group, {note.why, "", 0});
    group->settings += (group->count == 0 ? "" : ", ") + located(note);
    ++group->count;
  }
  if (details || job.without_effect.size() <= few) {
    for (const Group& group : groups)
      write_comment(fmt::format("{}: {}", group.why, group.settings), "without effect:", out);
    return;
  }
  std::string counts;
  for (const Group& group : groups)
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : "; ", group.why, group.count);
  write_comment(
      fmt::format("{} settings, which --details lists; {}", job.without_effect.size(), counts),
      "without effect:", out);
}

// Explains what a missing key means, or which option gives it; may be empty.
std::string_view meaning_of_missing(const std::string& key) {
  if (key == "model") return "a model of the library, or a file (run --model X)";
  if (key == "parallel.dp") return "the number of GPUs (--gpus N)";
  if (key == "model.vocabulary") return "the number of tokens of the tokenizer (--vocab-size)";
  return "";
}

}  // namespace

std::string commented_yaml(const Job& job, bool details) {
  std::string out;
  write_comment(fmt::format("{}, a job of {}", job.name, find_framework(job.framework)->title), "",
                out);
  write_comment(summary_of(job), "", out);
  for (const std::string& sentence : job.assumed) write_comment(sentence, "assumed:", out);
  for (const std::string& key : job.missing) {
    const std::string_view meaning = meaning_of_missing(key);
    write_comment(fmt::format("{}{}", key, meaning.empty() ? "" : fmt::format(": {}", meaning)),
                  "missing:", out);
  }
  write_not_modelled(job, out);
  write_without_effect(job, details, out);
  write_entries(job, job.tree, "", 0, out);
  return out;
}

}  // namespace pipewright::jobs
