#include "sim/config/text/misspelt.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Returns the numbers in a name, each with the letters that follow it: "300x" for mi300x, "3 8b"
// for llama-3-8b.
std::string model_number(std::string_view name) {
  std::string number;
  bool is_within = false;  // within a number or the letters that follow it
  for (const char c : name) {
    if (is_digit(c) && !is_within && !number.empty()) number += ' ';
    is_within = is_digit(c) || (is_within && is_letter(c));
    if (is_within) number += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return number;
}

}  // namespace

std::string_view misspelt_name(std::string_view text, std::span<const std::string_view> names) {
  const std::string number = model_number(text);
  std::vector<std::string_view> candidates;
  for (const std::string_view name : names)
    if (name.starts_with(text) || model_number(name) == number) candidates.push_back(name);
  std::ranges::stable_sort(candidates, {}, &std::string_view::size);
  return nearest_name(text, candidates);
}

}  // namespace pipewright::config
