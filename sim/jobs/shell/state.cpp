#include "sim/jobs/shell/state.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_steps = 2'000'000;
constexpr std::size_t max_elements = 100'000;

// Bucket of a key in bash's table of an associative array, which decides the order of its keys
// (FNV-1 hash, 1024 buckets).
std::uint32_t bucket_of(std::string_view key) {
  std::uint32_t hash = 2166136261U;
  for (const char c : key) hash = (hash * 16777619U) ^ static_cast<unsigned char>(c);
  return hash & 1023U;
}

}  // namespace

void Shell::charge(std::size_t steps) {
  steps_ += steps;
  if (steps_ > max_steps)
    throw config::Error(here(), fmt::format("the script takes more than {} steps", max_steps))
        .suggest("shorten its loops, or give --run-with-bash");
}

const Variable* Shell::find(const std::string& name) const {
  const auto it = script.variables.find(name);
  return it == script.variables.end() ? nullptr : &it->second;
}

Variable* Shell::to_write(const std::string& name) {
  Variable& variable = script.variables[name];
  if (exports_all) variable.exported = true;
  return variable.from_user ? nullptr : &variable;
}

void Shell::assign(const std::string& name, Word word) {
  Variable* const variable = to_write(name);
  if (variable == nullptr) return;
  charge(1 + word.text.size() / 16);
  word.may_vanish = false;
  // An array without an index is its first element.
  if (variable->array && !variable->words.empty() && !variable->associative) {
    variable->words.front() = std::move(word);
    return;
  }
  variable->words = {std::move(word)};
  variable->keys.clear();
  variable->array = false;
}

void Shell::assign_array(const std::string& name, std::vector<Word> words) {
  Variable* const variable = to_write(name);
  if (variable == nullptr) return;
  charge(1 + words.size());
  if (words.size() > max_elements) charge(max_steps);
  variable->words = std::move(words);
  variable->keys.clear();
  variable->array = true;
}

void Shell::assign_element(const std::string& name, const std::string& key, Word word) {
  Variable* const variable = to_write(name);
  if (variable == nullptr) return;
  charge(1 + variable->words.size() / 16);
  if (variable->words.size() > max_elements) charge(max_steps);
  variable->array = true;
  if (variable->keys.size() < variable->words.size())
    for (std::size_t i = variable->keys.size(); i < variable->words.size(); ++i)
      variable->keys.push_back(fmt::format("{}", i));
  const auto it = std::ranges::find(variable->keys, key);
  if (it != variable->keys.end()) {
    variable->words[static_cast<std::size_t>(it - variable->keys.begin())] = std::move(word);
    return;
  }
  // Elements of an indexed array stay in the order of their numbers.
  std::size_t at = variable->keys.size();
  if (!variable->associative) {
    const auto number = [](const std::string& text) {
      return base::parse_number<std::int64_t>(text).value_or(0);
    };
    while (at > 0 && number(variable->keys[at - 1]) > number(key)) --at;
  }
  const auto offset = static_cast<std::ptrdiff_t>(at);
  variable->keys.insert(variable->keys.begin() + offset, key);
  variable->words.insert(variable->words.begin() + offset, std::move(word));
}

const Word* Shell::element(const Variable& variable, std::string_view key) const {
  if (variable.keys.empty()) {
    if (variable.associative) return nullptr;
    std::int64_t index = base::parse_number<std::int64_t>(key).value_or(-1);
    if (key.starts_with('-'))
      index = static_cast<std::int64_t>(variable.words.size()) -
              base::parse_number<std::int64_t>(key.substr(1)).value_or(0);
    return index >= 0 && index < static_cast<std::int64_t>(variable.words.size())
               ? &variable.words[static_cast<std::size_t>(index)]
               : nullptr;
  }
  const auto it = std::ranges::find(variable.keys, key);
  if (it != variable.keys.end())
    return &variable.words[static_cast<std::size_t>(it - variable.keys.begin())];
  return !variable.associative && key == "-1" && !variable.words.empty() ? &variable.words.back()
                                                                         : nullptr;
}

std::vector<std::pair<std::string, Word>> Shell::elements(const Variable& variable) {
  std::vector<std::pair<std::string, Word>> pairs;
  for (std::size_t i = 0; i < variable.words.size(); ++i)
    pairs.emplace_back(i < variable.keys.size() ? variable.keys[i] : fmt::format("{}", i),
                       variable.words[i]);
  if (!variable.associative) return pairs;
  // A key that was added later stands first in its bucket.
  std::ranges::reverse(pairs);
  std::ranges::stable_sort(pairs, {}, [](const auto& pair) { return bucket_of(pair.first); });
  return pairs;
}

void Shell::unset(const std::string& name) {
  const auto it = script.variables.find(name);
  if (it != script.variables.end() && !it->second.from_user) script.variables.erase(it);
}

void Shell::leave() {
  for (auto& [name, before] : scopes_.back()) {
    if (const Variable* const now = find(name); now != nullptr && now->from_user) continue;
    if (before)
      script.variables[name] = std::move(*before);
    else
      script.variables.erase(name);
  }
  scopes_.pop_back();
}

void Shell::make_local(const std::string& name) {
  if (scopes_.empty() || scopes_.back().contains(name)) return;
  const Variable* const variable = find(name);
  if (variable != nullptr && variable->from_user) return;
  scopes_.back()[name] = variable == nullptr ? std::nullopt : std::optional(*variable);
  script.variables.erase(name);
}

std::optional<std::string> Shell::path_of(const std::string& written) const {
  if (written.empty() || unknown_in(written)) return std::nullopt;
  if (written.starts_with('/')) return written;
  if (!folder) return std::nullopt;
  return (std::filesystem::path(*folder) / written).lexically_normal().string();
}

void Shell::not_followed(std::string text, std::string why) {
  constexpr std::size_t max_notes = 50;
  for (const Unfollowed& known : script.unfollowed)
    if (known.origin.line == line && known.origin.source == file && known.text == text) return;
  if (script.unfollowed.size() < max_notes)
    script.unfollowed.push_back({std::move(text), std::move(why), here()});
}

}  // namespace pipewright::jobs
