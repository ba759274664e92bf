#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config::huggingface {

// Alternative names of one key: families of models name it differently, and a config has one of
// them.
using Names = std::initializer_list<std::string_view>;

// A number, and the location of the key that gives it.
using Number = Located<std::uint32_t>;

// Reader of a config.json, or of the text part of a vision model's config. It records which keys
// were read.
class Config {
 public:
  // `text` is the language model's part: the whole file, or a map within it.
  Config(const Value& whole, const Value& text) : whole_(&whole), text_(&text) {}

  const Value& text() const { return *text_; }
  const Value& whole() const { return *whole_; }
  // Returns the map at a key as a config of its own. Throws an Error if there is none.
  Config part(std::string_view key);
  const Origin& origin() const { return text_->origin; }
  bool was_read(std::string_view key) const { return read_.contains(key); }

  // A key that was found in the config, and its value.
  struct Match {
    std::string_view key;
    const Value* value = nullptr;
    explicit operator bool() const { return value != nullptr; }
  };
  // Finds the first of the names whose value is not null.
  Match find(Names names);
  // Returns whether the config has one of the names, even with the value null.
  bool has(Names names) const;

  // Reads a whole number, which may be 0, or a list that has the same number for every layer.
  std::optional<Number> number(Names names);
  Number number(Names names, std::uint32_t default_value);
  Number required_number(Names names);  // throws an Error if there is none
  std::optional<Located<bool>> flag(Names names);
  bool flag(Names names, bool default_value);
  // Reads a list of texts with at least `min_items` items; no value if there is no list.
  std::optional<Located<std::vector<std::string>>> list(Names names, std::size_t min_items);

 private:
  const Value* whole_;
  const Value* text_;
  std::set<std::string, std::less<>> read_;
};

// Creates an error at the location of `key` in the config, or at the config if it lacks the key.
Error refusal(const Config& config, std::string_view key, std::string_view found);

}  // namespace pipewright::config::huggingface
