#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "validation/accuracy_published.hpp"

namespace pipewright::accuracy {
namespace {

using Words = std::pair<std::string_view, std::string_view>;  // words of a shape, and their key

constexpr std::array<Words, 6> sizes{{{"layers", "layers"},
                                      {"hidden", "hidden"},
                                      {"heads", "heads"},
                                      {"kv_heads", "kv_heads"},
                                      {"ffn", "ffn"},
                                      {"vocabulary", "vocabulary"}}};
constexpr std::array<Words, 4> latent_sizes{{{"kv_rank", "kv_rank"},
                                             {"nope", "nope_head_dim"},
                                             {"rope", "rope_head_dim"},
                                             {"value", "value_head_dim"}}};
constexpr std::array<Words, 6> expert_sizes{{{"experts", "count"},
                                             {"top", "top_k"},
                                             {"ffn", "ffn"},
                                             {"shared expert of", "shared: 1, shared_ffn"},
                                             {"shared", "shared"},
                                             {"first dense", "first_dense"}}};
// Words that set no key of their own: defaults, and what gelu or swiglu decides.
constexpr std::array<std::string_view, 9> known{
    "swiglu", "rmsnorm", "untied embeddings", "no grouped queries",
    "ffn 4x", "biases",  "layernorm",         "learned positions",
    "gelu"};

std::string without_brackets(std::string_view text) {
  std::string result;
  int depth = 0;
  for (const char c : text) {
    if (c == ')') --depth;
    if (c == '(') ++depth;
    if (depth == 0 && c != ')') result += c;
  }
  return result;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Returns "layers: 32" for "layers 32". Empty if the part is none of the words with a number.
std::string size_of(std::string_view part, const auto& words) {
  for (const auto& [word, key] : words)
    if (part.starts_with(word) && part.substr(word.size()).starts_with(' '))
      if (const std::string number = trimmed(part.substr(word.size())); is_number(number))
        return fmt::format("{}: {}", key, number);
  return "";
}

// Returns "top_k: 6, ffn: 1408" for "top 6, ffn 1408".
std::string sizes_of(std::string_view part, const auto& words) {
  std::string text;
  for (const std::string& each : parts_of(part, ',')) {
    const std::string size = size_of(each, words);
    if (size.empty()) throw std::runtime_error(fmt::format("{}: an unknown shape", each));
    text += (text.empty() ? "" : ", ") + size;
  }
  return text;
}

// Returns the keys that a part of a shape sets, which may be none.
std::string keys_of(const std::string& part) {
  const std::string latent = "latent ";
  if (part.starts_with(latent))
    return fmt::format("latent: {{{}}}", sizes_of(part.substr(latent.size()), latent_sizes));
  if (part.starts_with("experts "))
    return fmt::format("experts: {{{}}}", sizes_of(part, expert_sizes));
  if (part == "tied embeddings") return "tied_embeddings: true";
  if (part == "gpt") return "tied_embeddings: true";
  if (std::ranges::count(known, part) > 0 || part == "squared relu" ||
      part.starts_with("sequence "))
    return "";
  if (const std::string size = size_of(part, sizes); !size.empty()) return size;
  throw std::runtime_error(fmt::format("{}: an unknown part of a shape", part));
}

}  // namespace

// A shape with gelu is that of a GPT, with biases and learned positions. All others have neither.
std::string model_of(const Cells& row) {
  std::string shape = without_brackets(row.at("shape"));
  if (shape.find(';') == std::string::npos) return trimmed(shape);
  // A shape may begin with the name of the model: "InternLM-7B: layers 32".
  shape.erase(0, std::min(shape.find(": ") + 1, shape.size()));
  const std::vector<std::string> parts = parts_of(shape, ';');
  const auto says = [&](std::string_view word) { return std::ranges::count(parts, word) > 0; };
  const bool is_gpt = says("gelu") || says("gpt");
  const bool is_gated = !is_gpt && !says("squared relu");
  std::string model =
      fmt::format("{{name: '{}', sequence: {}, mlp: {}, norm: {}, biases: {}, positions: {}",
                  row.at("model"), count_of(row, "sequence"), is_gated ? "swiglu" : "gelu",
                  is_gated ? "rmsnorm" : "layernorm", is_gpt, is_gpt ? "learned" : "rotary");
  for (const std::string& part : parts)
    if (const std::string keys = keys_of(part); !keys.empty()) model += ", " + keys;
  return model + "}";
}

}  // namespace pipewright::accuracy
