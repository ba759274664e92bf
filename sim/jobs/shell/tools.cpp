#include "sim/jobs/shell/tools.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/pattern.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {
namespace {

using Arguments = std::vector<std::string>;
using Output = std::optional<ToolOutput>;

std::string with_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char c = text[++i];
    constexpr std::string_view escapes = "ntr\\\"'";
    constexpr std::string_view meanings = "\n\t\r\\\"'";
    const std::size_t at = escapes.find(c);
    if (at == std::string_view::npos) plain += '\\';
    plain += at == std::string_view::npos ? c : meanings[at];
  }
  return plain;
}

Output echo(const Arguments& words) {
  bool line_end_wanted = true;
  bool escapes = false;
  std::size_t at = 1;
  for (; at < words.size() && words[at].size() > 1 && words[at][0] == '-' &&
         words[at].find_first_not_of("neE", 1) == std::string::npos;
       ++at) {
    line_end_wanted = line_end_wanted && words[at].find('n') == std::string::npos;
    escapes = escapes || words[at].find('e') != std::string::npos;
  }
  std::string text;
  for (std::size_t i = at; i < words.size(); ++i) text += (i > at ? " " : "") + words[i];
  if (escapes) text = with_escapes(text);
  return ToolOutput{text + (line_end_wanted ? "\n" : "")};
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The folder of a path may begin with an unknown folder.
Output dirname_of(const Arguments& words) {
  if (words.size() != 2) return std::nullopt;
  std::string path = words[1];
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  const std::size_t known = path.rfind(unknown_end);
  if (known != std::string::npos && (slash == std::string::npos || slash < known)) {
    if (known + 1 != path.size()) return std::nullopt;
    return ToolOutput{path + "/..\n"};
  }
  if (slash == std::string::npos) return ToolOutput{".\n"};
  return ToolOutput{(slash == 0 ? "/" : path.substr(0, slash)) + "\n"};
}

Output basename_of(const Arguments& words) {
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  std::string path = words[1];
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string name = path == "/" ? path : path.substr(path.rfind('/') + 1);
  if (unknown_in(name)) return std::nullopt;
  const bool has_end = words.size() == 3 && name.ends_with(words[2]) && name != words[2];
  return ToolOutput{name.substr(0, name.size() - (has_end ? words[2].size() : 0)) + "\n"};
}

// Value of an option that may be joined with its value: -d, or -d ,
std::optional<std::string> option_value(const Arguments& words, std::string_view option) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i].starts_with(option)) {
      if (words[i].size() > option.size()) return words[i].substr(option.size());
      if (i + 1 < words.size()) return words[i + 1];
    }
  return std::nullopt;
}

// True for the positions that a list such as 1,3-5 names.
bool in_list(const std::string& list, std::size_t position) {
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t dash = part.find('-');
    const auto first = base::parse_number<std::size_t>(part.substr(0, dash)).value_or(1);
    const auto last =
        dash == std::string_view::npos
            ? first
            : base::parse_number<std::size_t>(part.substr(dash + 1)).value_or(std::string::npos);
    if (position >= first && position <= last) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

Output cut(const Arguments& words, const std::string& input) {
  const auto characters = option_value(words, "-c");
  const auto fields = option_value(words, "-f");
  const std::string mark = option_value(words, "-d").value_or("\t");
  if ((!characters && !fields) || mark.size() != 1) return std::nullopt;
  std::string text;
  for (const std::string& line : lines_of(input)) {
    if (characters) {
      for (std::size_t i = 0; i < line.size(); ++i)
        if (in_list(*characters, i + 1)) text += line[i];
    } else if (line.find(mark) == std::string::npos) {
      text += line;
    } else {
      std::size_t number = 0;
      bool first = true;
      for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(mark, at), line.size());
        if (in_list(*fields, ++number)) {
          text += (first ? "" : mark) + line.substr(at, end - at);
          first = false;
        }
        at = end + 1;
      }
    }
    text += '\n';
  }
  return ToolOutput{text};
}

std::optional<std::string> characters_of(std::string_view set) {
  if (set == "[:upper:]") set = "A-Z";
  if (set == "[:lower:]") set = "a-z";
  if (set == "[:space:]") set = " \t\n\r";
  if (set.find("[:") != std::string_view::npos) return std::nullopt;
  const std::string plain = with_escapes(set);
  std::string all;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    all += plain[i];
    if (i + 2 < plain.size() && plain[i + 1] == '-') {
      for (int c = plain[i] + 1; c <= plain[i + 2]; ++c) all += static_cast<char>(c);
      i += 2;
    }
  }
  return all;
}

Output tr(const Arguments& words, const std::string& input) {
  const bool deletes = words.size() == 3 && words[1] == "-d";
  if (words.size() != 3) return std::nullopt;
  const auto from = characters_of(words[deletes ? 2 : 1]);
  const auto into = deletes ? std::optional<std::string>("") : characters_of(words[2]);
  if (!from || !into || (!deletes && into->empty())) return std::nullopt;
  std::string text;
  for (const char c : input) {
    const std::size_t at = from->find(c);
    if (at == std::string::npos)
      text += c;
    else if (!deletes)
      text += (*into)[std::min(at, into->size() - 1)];
  }
  return ToolOutput{text};
}

Output ends_of(const Arguments& words, const std::string& input) {
  std::string count = "10";
  if (words.size() == 2 && words[1].starts_with("-")) count = words[1].substr(1);
  if (const auto value = option_value(words, "-n")) count = *value;
  const auto number = base::parse_number<std::size_t>(count);
  if (!number || words.size() > 3) return std::nullopt;
  std::vector<std::string> lines = lines_of(input);
  const std::size_t kept = std::min(*number, lines.size());
  const std::size_t first = words[0] == "head" ? 0 : lines.size() - kept;
  std::string text;
  for (std::size_t i = first; i < first + kept; ++i) text += lines[i] + "\n";
  return ToolOutput{text};
}

Output wc(const Arguments& words, const std::string& input) {
  if (words.size() != 2) return std::nullopt;
  if (words[1] == "-l") return ToolOutput{fmt::format("{}\n", std::ranges::count(input, '\n'))};
  if (words[1] == "-c") return ToolOutput{fmt::format("{}\n", input.size())};
  if (words[1] != "-w") return std::nullopt;
  int count = 0;
  bool inside = false;
  for (const char c : input) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank && !inside) ++count;
    inside = !blank;
  }
  return ToolOutput{fmt::format("{}\n", count)};
}

// grep -q, with an expression of plain characters or with -E.
Output grep(const Arguments& words, const std::string& input) {
  bool quiet = false;
  bool extended = false;
  std::string expression;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool option = words[i].size() > 1 && words[i][0] == '-';
    if (option && words[i].find_first_not_of("qEF", 1) != std::string::npos) return std::nullopt;
    quiet = quiet || (option && words[i].find('q') != std::string::npos);
    extended = extended || (option && words[i].find('E') != std::string::npos);
    if (!option && !expression.empty()) return std::nullopt;
    if (!option) expression = words[i];
  }
  if (!quiet || expression.empty() ||
      (!extended && expression.find_first_of(".*[]^$\\+?{}|()") != std::string::npos))
    return std::nullopt;
  for (const std::string& line : lines_of(input)) {
    const auto found = match_expression(line, expression);
    if (!found) return std::nullopt;
    if (!found->empty()) return ToolOutput{"", true};
  }
  return ToolOutput{"", false};
}

}  // namespace

std::optional<std::string> formatted(const Arguments& words) {
  if (words.empty()) return std::nullopt;
  const std::string format = with_escapes(words[0]);
  std::string text;
  std::size_t next = 1;
  const auto argument = [&] { return next < words.size() ? words[next++] : std::string(); };
  do {
    const std::size_t before = next;
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format[at] != '%') {
        text += format[at];
        continue;
      }
      const std::size_t end = format.find_first_not_of("-0123456789.+ ", at + 1);
      if (end == std::string::npos) return std::nullopt;
      const std::string flags = format.substr(at + 1, end - at - 1);
      at = end;
      const char kind = format[end];
      if (kind == '%') {
        text += '%';
        continue;
      }
      const std::string value = argument();
      if (kind == 's' && flags.empty()) {
        text += value;
      } else if (kind == 'd' && !unknown_in(value) && flags.size() < 3) {
        const auto number = base::parse_number<std::int64_t>(value.empty() ? "0" : value);
        if (!number || flags.find_first_not_of("0123456789") != std::string::npos)
          return std::nullopt;
        text += fmt::format(fmt::runtime(fmt::format("{{:{}d}}", flags)), *number);
      } else {
        return std::nullopt;
      }
    }
    if (next == before) break;
  } while (next < words.size() && text.size() < (1U << 20U));
  return text;
}

std::optional<ToolOutput> run_tool(const Arguments& words,
                                   const std::optional<std::string>& input) {
  const std::string& name = words.front();
  if (name == "echo") return echo(words);
  if (name == "printf") {
    const auto text = formatted({words.begin() + 1, words.end()});
    return text ? Output(ToolOutput{*text}) : std::nullopt;
  }
  if (name == "dirname") return dirname_of(words);
  if (name == "basename") return basename_of(words);
  if (name == "cat" && words.size() == 1 && input) return ToolOutput{*input};
  if (std::ranges::any_of(words,
                          [](const std::string& word) { return unknown_in(word).has_value(); }) ||
      (input && unknown_in(*input)))
    return std::nullopt;
  if (Output output = run_number_tool(words, input)) return output;
  if (!input) return std::nullopt;
  if (name == "cut") return cut(words, *input);
  if (name == "tr") return tr(words, *input);
  if (name == "head" || name == "tail") return ends_of(words, *input);
  if (name == "wc") return wc(words, *input);
  if (name == "grep") return grep(words, *input);
  return std::nullopt;
}

}  // namespace pipewright::jobs
