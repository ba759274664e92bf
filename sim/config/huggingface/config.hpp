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

// Names of a key in different families of models; a config has one of them.
using Names = std::initializer_list<std::string_view>;

// A number and the place of the key that gives it.
using Number = Located<std::uint32_t>;

// A config.json, or the text part of the config of a vision model. It records which keys were read.
class Config {
 public:
  // `text` is the whole file or a part of it.
  Config(const Value& whole, const Value& text) : whole_(&whole), text_(&text) {}

  const Value& text() const { return *text_; }
  const Value& whole() const { return *whole_; }
  const Origin& origin() const { return text_->origin; }
  bool was_read(std::string_view key) const { return read_.contains(key); }

  // A key and its value.
  struct Match {
    std::string_view key;
    const Value* value = nullptr;
    explicit operator bool() const { return value != nullptr; }
  };
  // The first of the names with a value other than null.
  Match find(Names names);
  // Returns whether the config has one of the names, even with the value null.
  bool has(Names names) const;

  std::optional<Number> number(Names names);  // may be 0
  Number number(Names names, std::uint32_t default_value);
  Number required_number(Names names);  // throws an Error if there is none
  std::optional<Located<bool>> flag(Names names);
  bool flag(Names names, bool default_value);
  // A list of texts with at least `min_items` items; no value if there is no list.
  std::optional<Located<std::vector<std::string>>> list(Names names, std::size_t min_items);

 private:
  const Value* whole_;
  const Value* text_;
  std::set<std::string, std::less<>> read_;
};

// Error at a key of the config; without the key, at the config.
Error refusal(const Config& config, std::string_view key, std::string_view found);

}  // namespace pipewright::config::huggingface
