#include "sim/jobs/shell/expand.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pipewright::jobs {
namespace {

// Maximum size of an expanded text in bytes, for scripts that double a variable again and again.
constexpr std::size_t max_text_bytes = 1U << 20U;
constexpr int max_expansion_depth = 32;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_character(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_separator(char c) { return c == ' ' || c == '\t' || c == '\n' || c == joined_line; }

std::string unknown(std::string_view name) {
  return fmt::format("{}{}{}", unknown_begin, name, unknown_end);
}

int lines_in(std::string_view text) {
  return static_cast<int>(
      std::ranges::count_if(text, [](char c) { return c == '\n' || c == joined_line; }));
}

// Collects the words to which a token expands.
class Fields {
 public:
  Fields(const Token& token, const std::string& source) : line_(token.line), source_(source) {}

  void add(std::string_view text) {
    if (size_ + text.size() > max_text_bytes) return;
    size_ += text.size();
    begin(line_);
    fields_.back().text += text;
  }
  // Adds the text of an unquoted variable, which is split into words at white space.
  void add_split(std::string_view text, int line) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t start = at;
      while (at < text.size() && is_separator(text[at])) ++at;
      if (at > start) open_ = false;
      const std::size_t first = at;
      bool inside = false;  // inside an unknown, which may contain spaces
      while (at < text.size() && (inside || !is_separator(text[at]))) {
        if (text[at] == unknown_begin) inside = true;
        if (text[at] == unknown_end) inside = false;
        ++at;
      }
      if (at == first || size_ + at - first > max_text_bytes) continue;
      size_ += at - first;
      begin(line + lines_in(text.substr(0, first)));
      fields_.back().text += text.substr(first, at - first);
    }
  }
  void cut() { open_ = false; }
  std::vector<Word> take() { return std::move(fields_); }

 private:
  void begin(int line) {
    if (open_) return;
    fields_.push_back({"", {.source = source_, .line = line, .column = 1}});
    open_ = true;
  }

  int line_;
  std::string source_;
  std::vector<Word> fields_;
  bool open_ = false;
  std::size_t size_ = 0;
};

// Parsed content of a parameter expansion ${..}.
struct Reference {
  std::string name;
  bool whole_array = false;  // [@] or [*]
  std::string rest;          // ":-8"
};

Reference reference_of(std::string_view inside) {
  Reference reference;
  std::size_t at = 0;
  while (at < inside.size() && is_name_character(inside[at])) ++at;
  reference.name = inside.substr(0, at);
  if (reference.name.empty() && !inside.empty() && inside.front() != '#') {
    reference.name = inside.substr(0, 1);
    at = 1;
  }
  for (const std::string_view list : {"[@]", "[*]"})
    if (inside.substr(at).starts_with(list)) {
      reference.whole_array = true;
      at += list.size();
    }
  reference.rest = inside.substr(std::min(at, inside.size()));
  return reference;
}

class Expander {
 public:
  Expander(Script& script, int depth) : script_(script), depth_(depth) {}

  // Expands a text. `quoted`: it stands in double quotes, so that values are not split into words.
  void run(std::string_view raw, Fields& fields, bool quoted) {
    std::size_t at = 0;
    while (at < raw.size()) {
      const char c = raw[at];
      const std::string_view here = raw.substr(at);
      if (c == '\\' && at + 1 < raw.size()) {
        escape(raw[at + 1], fields, quoted);
        at += 2;
      } else if (c == '\'' && !quoted) {
        const std::size_t length = closed_length(here);
        fields.add(here.substr(1, std::max<std::size_t>(length, 2) - 2));
        at += length;
      } else if (c == '"' && !quoted) {
        const std::size_t length = closed_length(here);
        fields.add("");
        run(here.substr(1, std::max<std::size_t>(length, 2) - 2), fields, true);
        at += length;
      } else if (c == '`') {
        const std::size_t length = closed_length(here);
        fields.add(unknown(here.substr(0, length)));
        at += length;
      } else if (c == '$') {
        at += dollar(here, fields, quoted);
      } else {
        fields.add(here.substr(0, 1));
        ++at;
      }
    }
  }

 private:
  static void escape(char next, Fields& fields, bool quoted) {
    if (next == '\n')
      fields.add(quoted ? std::string_view("\x03") : std::string_view());
    else if (quoted && std::string_view("\"\\$`").find(next) == std::string_view::npos)
      fields.add(fmt::format("\\{}", next));
    else
      fields.add(std::string_view(&next, 1));
  }

  std::size_t dollar(std::string_view here, Fields& fields, bool quoted) {
    const std::size_t length = closed_length(here);
    if (here.starts_with("$((")) {
      const auto value = length >= 5 && depth_ < max_expansion_depth
                             ? arithmetic(here.substr(3, length - 5), script_)
                             : std::nullopt;
      fields.add(value ? fmt::format("{}", *value) : unknown(here.substr(0, length)));
      return length;
    }
    if (here.starts_with("$(")) {
      fields.add(unknown(here.substr(0, length)));
      return length;
    }
    if (here.starts_with("${")) {
      refer(reference_of(here.substr(2, std::max<std::size_t>(length, 3) - 3)), fields, quoted);
      return length;
    }
    std::size_t end = 1;
    while (end < here.size() && is_name_character(here[end])) ++end;
    if (end > 1 && !is_name_start(here[1])) end = 2;
    if (end == 1 && here.size() > 1 &&
        std::string_view("@*#?").find(here[1]) != std::string_view::npos)
      end = 2;
    if (end == 1)
      fields.add("$");
    else
      refer({std::string(here.substr(1, end - 1))}, fields, quoted);
    return end;
  }

  void put(const Variable& variable, bool whole_array, Fields& fields, bool quoted) {
    bool first = true;
    for (const Word& word : variable.words) {
      if (!whole_array && !first) break;
      if (!first) fields.cut();
      first = false;
      if (quoted)
        fields.add(word.text);
      else
        fields.add_split(word.text, word.origin.line);
    }
  }

  void refer(const Reference& reference, Fields& fields, bool quoted) {
    const auto it = script_.variables.find(reference.name);
    const bool set = it != script_.variables.end();
    const bool filled = set && !it->second.words.empty() &&
                        (it->second.array || !it->second.words.front().text.empty());
    std::string_view rest = reference.rest;
    const bool colon = rest.starts_with(':');
    if (colon) rest.remove_prefix(1);
    const char kind = rest.empty() ? '\0' : rest.front();
    const std::string_view operand = rest.empty() ? rest : rest.substr(1);
    const bool usable = colon ? filled : set;
    if (depth_ >= max_expansion_depth) return fields.add(unknown(reference.name));
    Expander inner(script_, depth_ + 1);
    if (kind == '+') {
      if (usable) inner.run(operand, fields, quoted);
      return;
    }
    if (kind == '-' || kind == '=') {
      if (usable) return put(it->second, reference.whole_array, fields, quoted);
      if (kind == '=')
        script_.variables[reference.name].words = {{expand_to_text(operand, script_), {}}};
      if (quoted) return fields.add(expand_to_text(operand, script_));
      return inner.run(operand, fields, false);
    }
    if (kind == '?' || (kind == '\0' && !colon)) {
      if (set)
        return put(it->second, reference.whole_array || reference.name == "@", fields, quoted);
      // An array that was never set counts as empty, not as unknown.
      if (!reference.whole_array && reference.name != "@" && reference.name != "*")
        fields.add(unknown(reference.name));
      return;
    }
    fields.add(unknown(fmt::format("{}{}", reference.name, reference.rest)));
  }

  Script& script_;
  int depth_;
};

thread_local int depth_of_texts = 0;

}  // namespace

std::vector<Word> expand(const Token& token, const std::string& source, Script& script) {
  Fields fields(token, source);
  Expander(script, depth_of_texts).run(token.raw, fields, false);
  return fields.take();
}

std::string expand_document(std::string_view text, Script& script) {
  const Token token{std::string(text), 1};
  Fields fields(token, "");
  Expander(script, depth_of_texts).run(text, fields, true);
  std::string whole;
  for (const Word& word : fields.take()) whole += word.text;
  return whole;
}

std::string expand_to_text(std::string_view raw, Script& script) {
  if (depth_of_texts >= max_expansion_depth) return unknown("...");
  ++depth_of_texts;
  const Token token{std::string(raw), 1};
  Fields fields(token, "");
  // The text expands to one text: spaces are kept, quotes are removed.
  Expander expander(script, depth_of_texts);
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::string_view here = raw.substr(at);
    const bool single = here.starts_with('\'');
    const bool twice = here.starts_with('"');
    std::size_t length = single || twice ? closed_length(here) : 0;
    if (length > 1) {
      const std::string_view inside = here.substr(1, length - 2);
      if (single)
        fields.add(inside);
      else
        expander.run(inside, fields, true);
    } else {
      while (at + length < raw.size() && raw[at + length] != '\'' && raw[at + length] != '"') {
        const char c = raw[at + length];
        length += c == '$' || c == '`' ? closed_length(raw.substr(at + length)) : c == '\\' ? 2 : 1;
      }
      length = std::max<std::size_t>(length, 1);
      expander.run(here.substr(0, length), fields, true);
    }
    at += length;
  }
  --depth_of_texts;
  std::string text;
  for (const Word& word : fields.take()) text += word.text;
  return text;
}

}  // namespace pipewright::jobs
