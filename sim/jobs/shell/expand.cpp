#include "sim/jobs/shell/expand.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/arithmetic.hpp"
#include "sim/jobs/shell/fields.hpp"
#include "sim/jobs/shell/pattern.hpp"
#include "sim/jobs/shell/reference.hpp"
#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {
namespace {

constexpr int max_expansion_depth = 32;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_character(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

// Text of $'..', with its escapes.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      plain += text[i];
      continue;
    }
    const char c = text[++i];
    plain += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return plain;
}

thread_local int expansions = 0;  // that are open within one another
struct Nested {
  Nested() { ++expansions; }
  ~Nested() { --expansions; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

class Expander {
 public:
  Expander(Shell& shell, Fields& fields) : shell_(shell), fields_(fields) {}

  // Expands a text. `quoted`: it stands in double quotes, so that values are not split into words.
  void run(std::string_view raw, bool quoted) {
    const Nested nested;
    if (expansions > max_expansion_depth)
      throw config::Error(shell_.here(), "expansions are nested too deeply");
    shell_.charge(1 + raw.size() / 16);
    const bool document = fields_.form() == Fields::Form::document;
    for (std::size_t at = 0; at < raw.size();) {
      int line = fields_.line();
      const std::size_t begin = at;
      if (skip_mark(raw, at, line)) {
        keep_mark(raw.substr(begin, at - begin), quoted);
        fields_.set_line(line);
        continue;
      }
      const std::string_view here = raw.substr(at);
      const std::size_t length = std::max<std::size_t>(closed_length(here), 1);
      const std::string_view part = here.substr(0, length);
      const char c = here.front();
      if (c == '\\' && length == 2)
        escape(here[1], quoted || document);
      else if (c == '\'' && !quoted && !document && length > 1)
        fields_.add(part.substr(1, length - 2), true);
      else if (c == '"' && !quoted && !document && length > 1)
        in_quotes(part.substr(1, length - 2));
      else if (c == unknown_begin)
        put_unknown(part, quoted);
      else if (c == '`' && length > 1)
        substitute(backquoted(part.substr(1, length - 2), quoted), quoted);
      else if (c == '$')
        at += dollar(here, length, quoted || document) - length;
      else if ((c == '<' || c == '>') && here.size() > 1 && here[1] == '(')
        at += process(here) - length;
      else if (c == '~' && at == 0 && !quoted && !document && (raw.size() == 1 || raw[1] == '/'))
        put({unknown("HOME"), {}}, true);
      else
        // An ordinary quote or bracket; the rest is read again.
        at = at + 1 - length, fields_.add(here.substr(0, 1), quoted);
      at += length;
      fields_.set_line(line +
                       static_cast<int>(std::ranges::count(raw.substr(begin, at - begin), '\n')));
    }
  }

 private:
  void keep_mark(std::string_view mark, bool quoted) {
    if (fields_.form() == Fields::Form::text || (fields_.splits() && quoted))
      fields_.add(mark, false);
  }

  void in_quotes(std::string_view inside) {
    // "${EMPTY[@]}" is no word, whereas "" is an empty one.
    const bool list = inside == "$@" || (inside.starts_with("${") && inside.ends_with("[@]}") &&
                                         closed_length(inside) == inside.size());
    if (!list) fields_.add("", true);
    run(inside, true);
  }

  void escape(char next, bool quoted) {
    if (next == '\n') {
      if (quoted) keep_mark(std::string(1, joined_line), quoted);
      return;
    }
    const bool kept = quoted && std::string_view("\"\\$`").find(next) == std::string_view::npos;
    if (kept || (fields_.form() == Fields::Form::document && next == '"')) fields_.add("\\", true);
    fields_.add(std::string_view(&next, 1), true);
  }

  static std::string backquoted(std::string_view inside, bool quoted) {
    std::string text;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == '\\' && i + 1 < inside.size() &&
          (std::string_view("\\`$").find(inside[i + 1]) != std::string_view::npos ||
           (quoted && inside[i + 1] == '"')))
        ++i;
      text += inside[i];
    }
    return text;
  }

  void put_unknown(std::string_view part, bool quoted) { put({std::string(part), {}}, quoted); }

  void put(const Word& word, bool quoted) {
    if (quoted || !fields_.splits())
      fields_.add_value(word, quoted);
    else
      fields_.add_split(word.text, word.origin.line > 0 ? word.origin.line : fields_.line());
  }

  void substitute(std::string_view text, bool quoted) {
    put({shell_.substitute ? shell_.substitute(text, fields_.line())
                           : unknown(fmt::format("$({})", text)),
         {}},
        quoted);
  }

  // <(command) is the name of a file that only a running shell creates.
  std::size_t process(std::string_view here) {
    const std::size_t close = find_close(here, 2, ')');
    const std::size_t length = close == std::string_view::npos ? here.size() : close + 1;
    fields_.add(unknown(here.substr(0, length)), true);
    return length;
  }

  std::size_t dollar(std::string_view here, std::size_t length, bool quoted) {
    if (here.starts_with("$((") && here.substr(0, length).ends_with("))")) {
      number(here.substr(3, length - 5), here.substr(0, length), quoted);
      return length;
    }
    if (here.starts_with("$(") && length > 2) {
      substitute(here.substr(2, length - 3), quoted);
      return length;
    }
    if (here.starts_with("${") && length > 2) {
      refer(reference_of(here.substr(2, length - 3)), quoted);
      return length;
    }
    if (here.starts_with("$'") && !quoted && length > 2) {
      fields_.add(unescaped(here.substr(2, length - 3)), true);
      return length;
    }
    if (here.starts_with("$[")) {  // the old form of $(( ))
      const std::size_t close = std::min(here.find(']'), here.size() - 1);
      number(here.substr(2, close - 2), here.substr(0, close + 1), quoted);
      return close + 1;
    }
    std::size_t end = 1;
    while (end < here.size() && is_name_character(here[end])) ++end;
    if (end > 1 && !is_name_start(here[1])) end = 2;
    if (end == 1 && here.size() > 1 &&
        std::string_view("@*#?$!-").find(here[1]) != std::string_view::npos)
      end = 2;
    if (end == 1 && here.starts_with("$\"") && !quoted) return 1;  // a text to be translated
    if (end == 1)
      fields_.add("$", quoted);
    else
      refer({.name = std::string(here.substr(1, end - 1)), .index = {}, .rest = {}}, quoted);
    return end;
  }

  void number(std::string_view expression, std::string_view whole, bool quoted) {
    const auto value = evaluate_number({std::string(expression), fields_.line()}, shell_);
    put({value ? fmt::format("{}", *value) : unknown(whole), {}}, quoted);
  }

  Word word_of(std::string text) const { return {std::move(text), {}}; }

  Values special(const std::string& name) const {
    Values values{.set = true};
    if (name == "@" || name == "*") {
      values.words = shell_.arguments;
      values.whole = true;
      values.starred = name == "*";
      values.arguments = true;
      values.set = !shell_.arguments.empty();
    } else if (name == "#") {
      values.words = {word_of(fmt::format("{}", shell_.arguments.size()))};
    } else if (name == "?") {
      values.words = {word_of(!shell_.status ? unknown("$?") : *shell_.status ? "0" : "1")};
    } else if (name == "0") {
      values.words = {word_of(shell_.zero)};
    } else if (name == "-") {
      values.words = {word_of("hB")};
    } else if (name == "LINENO") {
      values.words = {word_of(fmt::format("{}", fields_.line()))};
    } else if (is_of_running_shell(name)) {
      // $$ and $! keep their dollar.
      values.words = {word_of(unknown(is_variable_name(name) ? name : "$" + name))};
    } else if (const auto index = base::parse_number<std::uint64_t>(name)) {
      values.set = *index >= 1 && *index <= shell_.arguments.size();
      if (values.set) values.words = {shell_.arguments[*index - 1]};
    } else {
      values.set = false;
    }
    return values;
  }

  Values values_of(const Reference& reference) {
    const Variable* const variable = shell_.find(reference.name);
    if (variable == nullptr) return special(reference.name);
    Values values{.set = true};
    const std::string& index = reference.index.value_or("");
    if (index == "@" || index == "*") {
      for (auto& [key, word] : Shell::elements(*variable)) values.words.push_back(std::move(word));
      values.whole = true;
      values.starred = index == "*";
      values.set = !values.words.empty();
    } else if (reference.index) {
      const auto key = expand_key(reference.name, {index, fields_.line()}, shell_);
      if (!key) {
        values.words = {word_of(unknown(fmt::format("${{{}[{}]}}", reference.name, index)))};
        return values;
      }
      const Word* const word = variable->array || variable->associative
                                   ? shell_.element(*variable, *key)
                               : *key == "0" && !variable->words.empty() ? &variable->words.front()
                                                                         : nullptr;
      values.set = word != nullptr;
      if (word != nullptr) values.words = {*word};
    } else {
      values.set = !variable->words.empty() && !(variable->associative);
      if (values.set) values.words = {variable->words.front()};
    }
    return values;
  }

  void put_values(const Values& values, bool quoted) {
    const std::string all = separators(shell_);
    const std::string between(quoted && values.starred ? all.substr(0, 1) : " ");
    const bool joined = !fields_.splits() || (quoted && values.starred);
    bool first = true;
    const int line = fields_.line();
    for (const Word& word : values.words) {
      if (!first && joined) fields_.add(between, quoted);
      if (!first && !joined) fields_.cut();
      first = false;
      if (values.whole && !joined)
        fields_.set_line(word.origin.line > 0 ? word.origin.line : fields_.line());
      put(word, quoted);
      if (!values.whole) break;
    }
    fields_.set_line(line);
  }

  void refer(Reference reference, bool quoted) {
    if (reference.indirect) {
      if (list_keys(reference, quoted)) return;
      const Values pointed =
          values_of({.name = reference.name, .index = reference.index, .rest = {}});
      if (pointed.words.empty() || unknown_in(pointed.words.front().text))
        return put(word_of(unknown(reference.name)), quoted);
      const std::string rest = reference.rest;
      reference = reference_of(without_marks(pointed.words.front().text));
      reference.rest = rest;
    }
    Values values = values_of(reference);
    if (reference.counts) return count(values, reference, quoted);
    std::string_view rest = reference.rest;
    const bool colon = rest.starts_with(':') && rest.size() > 1 &&
                       std::string_view("-+=?").find(rest[1]) != std::string_view::npos;
    if (colon) rest.remove_prefix(1);
    if (!rest.empty() && std::string_view("-+=?").find(rest.front()) != std::string_view::npos)
      return with_default(reference, values, rest.front(), std::string(rest.substr(1)), colon,
                          quoted);
    if (values.set && !rest.empty()) {
      if (!transform(values, rest)) return put(word_of(unknown(written(reference))), quoted);
    }
    if (!values.set) return put_unset(reference, values, quoted);
    put_values(values, quoted);
  }

  static std::string written(const Reference& reference) {
    return reference.rest.empty() && !reference.index
               ? reference.name
               : fmt::format("${{{}{}{}}}", reference.name,
                             reference.index ? fmt::format("[{}]", *reference.index) : "",
                             reference.rest);
  }

  void put_unset(const Reference& reference, const Values& values, bool quoted) {
    // An array without words is empty. Other variables may be set where the job runs.
    if (values.whole || reference.index || reference.name == "@" || reference.name == "*") return;
    if (const Variable* const variable = shell_.find(reference.name);
        variable != nullptr && variable->array)
      return;
    if (reference.name == shell_.assigned) return;
    put(word_of(unknown(reference.name)), quoted);
  }

  void count(const Values& values, const Reference& reference, bool quoted) {
    const bool list = values.whole || reference.index == "@" || reference.index == "*" ||
                      reference.name == "@" || reference.name == "*";
    if (list) {
      // The output of a program that is not known may be any number of words.
      const bool is_open = std::ranges::any_of(values.words, [](const Word& word) {
        const std::optional<std::string> name = unknown_in(word.text);
        return name && (name->starts_with("$(") || name->starts_with('`'));
      });
      if (is_open) return put(word_of(unknown(fmt::format("${{#{}[@]}}", reference.name))), quoted);
      const auto kept =
          std::ranges::count_if(values.words, [](const Word& word) { return !word.may_vanish; });
      return put(word_of(fmt::format("{}", kept)), quoted);
    }
    const std::string text = values.words.empty() ? "" : without_marks(values.words.front().text);
    const std::string known = without_unset(text);
    put(word_of(unknown_in(known) ? unknown(fmt::format("${{#{}}}", reference.name))
                                  : fmt::format("{}", known.size())),
        quoted);
  }

  // ${!NAME[@]} and ${!PREFIX@}.
  bool list_keys(const Reference& reference, bool quoted) {
    Values keys{.set = true, .whole = true};
    if (reference.index == "@" || reference.index == "*") {
      const Variable* const variable = shell_.find(reference.name);
      if (variable != nullptr)
        for (const auto& [key, word] : Shell::elements(*variable))
          keys.words.push_back(word_of(key));
    } else if (reference.rest == "@" || reference.rest == "*") {
      for (const auto& [name, variable] : shell_.script.variables)
        if (name.starts_with(reference.name)) keys.words.push_back(word_of(name));
    } else {
      return false;
    }
    put_values(keys, quoted);
    return true;
  }

  void with_default(const Reference& reference, const Values& values, char kind,
                    const std::string& operand, bool colon, bool quoted) {
    const bool filled = std::ranges::any_of(values.words, [&](const Word& word) {
      return !without_unset(without_marks(word.text)).empty() || (values.whole && !word.may_vanish);
    });
    const bool usable = values.set && (!colon || filled);
    if (kind == '+') {
      if (usable) run(quoted ? without_quotes(operand) : operand, quoted);
      return;
    }
    if (usable) return put_values(values, quoted);
    if (kind == '?') return put(word_of(unknown(reference.name)), quoted);
    if (kind == '=') {
      const std::string text = expand_to_text({operand, fields_.line()}, shell_);
      const config::Origin origin{.source = shell_.file, .line = fields_.line(), .column = 1};
      shell_.assign(reference.name, {text, origin});
      return put({text, origin}, quoted);
    }
    run(quoted ? without_quotes(operand) : operand, quoted);
  }

  // Double quotes within "${NAME:-"default"}" have no meaning.
  static std::string without_quotes(std::string_view text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '"') {
        ++at;
        continue;
      }
      const std::size_t length = std::max<std::size_t>(closed_length(text.substr(at)), 1);
      kept += text.substr(at, length);
      at += length;
    }
    return kept;
  }

  bool transform(Values& values, std::string_view rest) {
    if (rest.starts_with(':')) return slice(values, rest.substr(1));
    if (rest == "@Q" || rest == "@A" || rest == "@P" || rest == "@E") return false;
    static constexpr std::array<std::string_view, 12> signs{"##", "%%", "//", "/#", "/%", "^^",
                                                            ",,", "#",  "%",  "/",  "^",  ","};
    const auto sign = std::ranges::find_if(
        signs, [&](std::string_view candidate) { return rest.starts_with(candidate); });
    if (sign == signs.end()) return false;
    std::string pattern(rest.substr(sign->size()));
    std::string with;
    if (sign->front() == '/') {
      std::size_t slash = 0;
      while (slash < pattern.size() && pattern[slash] != '/')
        slash += std::max<std::size_t>(closed_length(std::string_view(pattern).substr(slash)), 1);
      if (slash < pattern.size())
        with = expand_plainly({pattern.substr(slash + 1), fields_.line()}, shell_);
      pattern.resize(std::min(slash, pattern.size()));
    }
    pattern = expand_pattern({pattern, fields_.line()}, shell_);
    if (unknown_in(pattern) || unknown_in(with)) return false;
    for (Word& word : values.words) {
      const std::string plain = without_unset(without_marks(word.text));
      if (unknown_in(plain)) return false;
      shell_.charge(1 + plain.size());
      const auto changed = transformed(plain, *sign, pattern, with);
      if (!changed) return false;
      word.text = *changed;
      word.may_vanish = false;
    }
    return true;
  }

  // ${NAME:offset:length}, of a text or of a list.
  bool slice(Values& values, std::string_view rest) {
    std::size_t colon = 0;
    int opened = 0;
    for (; colon < rest.size(); ++colon) {
      if (rest[colon] == '(' || rest[colon] == '{' || rest[colon] == '?') ++opened;
      if (rest[colon] == ')' || rest[colon] == '}') --opened;
      if (rest[colon] == ':' && opened-- <= 0) break;
    }
    const auto offset =
        evaluate_number({std::string(rest.substr(0, colon)), fields_.line()}, shell_);
    std::optional<std::int64_t> length;
    if (colon < rest.size()) {
      length = evaluate_number({std::string(rest.substr(colon + 1)), fields_.line()}, shell_);
      if (!length) return false;
    }
    if (!offset) return false;
    if (values.whole) {
      // $@ counts from $0.
      if (values.arguments) values.words.insert(values.words.begin(), word_of(shell_.zero));
      values.words = part_of(values.words, *offset, length);
      return true;
    }
    const std::string plain = without_unset(without_marks(values.words.front().text));
    if (unknown_in(plain)) return false;
    const std::vector<char> characters(plain.begin(), plain.end());
    const std::vector<char> kept = part_of(characters, *offset, length);
    values.words = {word_of(std::string(kept.begin(), kept.end()))};
    return true;
  }

  template <class Item>
  static std::vector<Item> part_of(const std::vector<Item>& items, std::int64_t offset,
                                   std::optional<std::int64_t> length) {
    const auto size = static_cast<std::int64_t>(items.size());
    if (offset < 0) offset += size;
    if (offset < 0 || offset >= size) return {};
    std::int64_t end =
        length ? (*length < 0 ? size + *length : offset + std::min(*length, size)) : size;
    end = std::clamp(end, offset, size);
    return {items.begin() + offset, items.begin() + end};
  }

  Shell& shell_;
  Fields& fields_;
};

Fields expanded(const RawWord& word, Shell& shell, Fields::Form form) {
  Fields fields(form, shell.file, word.line, separators(shell));
  Expander(shell, fields).run(word.raw, false);
  return fields;
}

}  // namespace

std::string separators(const Shell& shell) {
  const Variable* const variable = shell.find("IFS");
  if (variable == nullptr || variable->words.empty()) return " \t\n";
  return without_marks(variable->words.front().text);
}

std::vector<Word> expand_word(const RawWord& word, Shell& shell) {
  std::vector<Word> words;
  for (const std::string& raw : expand_braces(word.raw))
    for (Word& part : expanded({raw, word.line}, shell, Fields::Form::words).take())
      words.push_back(std::move(part));
  shell.charge(1 + words.size());
  return words;
}

std::vector<Word> expand_words(const std::vector<RawWord>& words, Shell& shell) {
  std::vector<Word> all;
  for (const RawWord& word : words)
    for (Word& part : expand_word(word, shell)) all.push_back(std::move(part));
  return all;
}

std::string expand_to_text(const RawWord& word, Shell& shell) {
  return expanded(word, shell, Fields::Form::text).take_text();
}

std::string expand_plainly(const RawWord& word, Shell& shell) {
  return without_unset(without_marks(expand_to_text(word, shell)));
}

std::string expand_pattern(const RawWord& word, Shell& shell) {
  return without_unset(expanded(word, shell, Fields::Form::pattern).take_text());
}

std::string expand_document(const RawWord& text, Shell& shell) {
  return expanded(text, shell, Fields::Form::document).take_text();
}

std::optional<std::int64_t> evaluate_number(const RawWord& expression, Shell& shell) {
  return arithmetic(expand_to_text(expression, shell), shell);
}

std::optional<std::string> expand_key(const std::string& array, const RawWord& key, Shell& shell) {
  const Variable* const variable = shell.find(array);
  if (variable != nullptr && variable->associative) {
    std::string text = expand_plainly(key, shell);
    return unknown_in(text) ? std::nullopt : std::optional(std::move(text));
  }
  const auto index = evaluate_number(key, shell);
  return index ? std::optional(fmt::format("{}", *index)) : std::nullopt;
}

}  // namespace pipewright::jobs
