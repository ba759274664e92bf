#include "analysis/measured/pass_names.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

constexpr std::size_t max_name_length = 256;  // std::regex recurses with the length of the text.

// Regular expressions for the names that known frameworks give to passes.
constexpr std::array framework_patterns{
    // torch.distributed.pipelining, schedules with several stages per rank:
    // record_function("PP:2F0")
    R"((?:PP:)?(?<stage>\d+)(?<kind>[FIBW])(?<microbatch>\d+))",
    // Schedules with one stage per rank: record_function("Forward 0"); exports of pipewright: "R 3"
    R"((?<kind>[Ff]orward|[Bb]ackward|fwd|bwd|[FIBWR])[ _#:-]?(?<microbatch>\d+))",
    // forward_step and backward_step of Megatron-LM, alone or at the end of a path
    R"((?:.*[./: ])?(?<kind>forward|backward)[_-](?:step|compute))",
    R"(stage[_ ]?(?<stage>\d+)[_ ](?<kind>forward|backward)(?:[_ ](?:mb|microbatch)?[_ ]?(?<microbatch>\d+))?)",
};

constexpr std::array<std::pair<std::string_view, PassKind>, 22> kind_words{{
    {"f", PassKind::forward},
    {"fwd", PassKind::forward},
    {"fprop", PassKind::forward},
    {"forward", PassKind::forward},
    {"b", PassKind::backward},
    {"bwd", PassKind::backward},
    {"bprop", PassKind::backward},
    {"backward", PassKind::backward},
    {"i", PassKind::input_grad},
    {"dgrad", PassKind::input_grad},
    {"input", PassKind::input_grad},
    {"input_grad", PassKind::input_grad},
    {"backward_input", PassKind::input_grad},
    {"bwd_input", PassKind::input_grad},
    {"w", PassKind::weight_grad},
    {"wgrad", PassKind::weight_grad},
    {"weight", PassKind::weight_grad},
    {"weight_grad", PassKind::weight_grad},
    {"backward_weight", PassKind::weight_grad},
    {"bwd_weight", PassKind::weight_grad},
    {"r", PassKind::recompute},
    {"recompute", PassKind::recompute},
}};

std::optional<PassKind> read_kind(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, kind] : kind_words)
    if (name == word) return kind;
  return std::nullopt;
}

std::optional<std::uint32_t> read_number(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t character_class_end(const std::string& text, std::size_t position) {
  for (++position; position < text.size() && text[position] != ']'; ++position)
    if (text[position] == '\\') ++position;
  return position;
}

}  // namespace

// Compiles a pattern. Regular expressions of C++ (ECMAScript) have no named groups, so names are
// removed and groups are counted.
PassNames::Pattern PassNames::compile(const std::string& text) {
  Pattern pattern;
  std::string plain;
  int groups = 0;
  for (std::size_t position = 0; position < text.size(); ++position) {
    const std::size_t from = position;
    if (text[position] == '\\') ++position;
    if (text[from] == '[') position = character_class_end(text, position);
    plain += text.substr(from, position + 1 - from);
    if (text[from] != '(') continue;
    const bool is_python = text.compare(from, 4, "(?P<") == 0;
    const bool is_named =
        is_python || (text.compare(from, 3, "(?<") == 0 && text.compare(from, 4, "(?<=") != 0 &&
                      text.compare(from, 4, "(?<!") != 0);
    if (!is_named && text.compare(from, 2, "(?") == 0) continue;
    ++groups;
    if (!is_named) continue;
    const std::size_t start = from + (is_python ? 4 : 3);
    const std::size_t end = text.find('>', start);
    const std::string name = text.substr(start, end == std::string::npos ? end : end - start);
    int* const group = name == "kind"         ? &pattern.kind
                       : name == "stage"      ? &pattern.stage
                       : name == "microbatch" ? &pattern.microbatch
                       : name == "device"     ? &pattern.device
                                              : nullptr;
    if (end == std::string::npos || group == nullptr)
      throw PatternError(fmt::format(
          "pattern '{}': the group at character {} is called '{}'; groups are called kind, stage, "
          "microbatch and device, as in (?<stage>\\d+)",
          printable(text), from + 1, printable(name)));
    *group = groups;
    position = end;
  }
  if (pattern.kind == 0)
    throw PatternError(fmt::format(
        "pattern '{}' has no group called kind; add one such as (?<kind>forward|backward) for the "
        "kind of pass",
        printable(text)));
  try {
    pattern.expression = std::regex(plain, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw PatternError(
        fmt::format("pattern '{}' is not a regular expression: {}", printable(text), error.what()));
  }
  return pattern;
}

PassNames::PassNames() {
  for (const char* const text : framework_patterns) patterns_.push_back(compile(text));
}

PassNames::PassNames(const std::string& pattern) { patterns_.push_back(compile(pattern)); }

std::optional<NamedPass> PassNames::read_single(const std::string& name) const {
  std::smatch match;
  for (const Pattern& pattern : patterns_) {
    if (!std::regex_match(name, match, pattern.expression)) continue;
    const auto kind = read_kind(match[static_cast<std::size_t>(pattern.kind)].str());
    if (!kind) continue;
    const auto number = [&](int group) -> std::optional<std::uint32_t> {
      const auto& submatch = match[static_cast<std::size_t>(group)];
      return group > 0 && submatch.matched ? read_number(submatch.str()) : std::nullopt;
    };
    return NamedPass{*kind, number(pattern.stage), number(pattern.microbatch),
                     number(pattern.device)};
  }
  return std::nullopt;
}

std::vector<NamedPass> PassNames::read(const std::string& name) const {
  if (name.size() > max_name_length) return {};
  // Fused pair of torch.distributed.pipelining: "PP:(0F7;7B3)OVERLAP_F_B"
  constexpr std::string_view open = "PP:(";
  constexpr std::string_view close = ")OVERLAP_F_B";
  if (name.starts_with(open) && name.ends_with(close)) {
    const std::size_t middle = name.find(';');
    if (middle == std::string::npos) return {};
    const auto first = read_single(name.substr(open.size(), middle - open.size()));
    const auto second =
        read_single(name.substr(middle + 1, name.size() - close.size() - middle - 1));
    if (first && second) return {*first, *second};
    return {};
  }
  if (const auto pass = read_single(name)) return {*pass};
  return {};
}

}  // namespace pipewright::analysis
