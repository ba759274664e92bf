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

// Names that mean the same in different families, of which a config has one.
using Names = std::initializer_list<std::string_view>;

// A number and the place of the key that gives it.
using Number = Located<std::uint32_t>;

// A config.json, of a vision model the part for text, that remembers which keys were asked for.
class Config {
 public:
  // `whole` is the file, of which `text` is all or a part.
  Config(const Value& whole, const Value& text) : whole_(&whole), text_(&text) {}

  const Value& text() const { return *text_; }
  const Value& whole() const { return *whole_; }
  const Origin& origin() const { return text_->origin; }
  bool was_read(std::string_view key) const { return read_.contains(key); }

  // The first of the names that has a value other than null.
  struct Found {
    std::string_view key;
    const Value* value = nullptr;
    explicit operator bool() const { return value != nullptr; }
  };
  Found find(Names names);
  // Whether one of them stands there, if only as null.
  bool has(Names names) const;

  std::optional<Number> number(Names names);  // 0 among them
  Number number(Names names, std::uint32_t otherwise);
  Number needed(Names names);  // an Error where there is none
  std::optional<Located<bool>> flag(Names names);
  bool flag(Names names, bool otherwise);
  // A list of texts, of at least `least` items; none where there is no list.
  std::optional<Located<std::vector<std::string>>> list(Names names, std::size_t least);

 private:
  const Value* whole_;
  const Value* text_;
  std::set<std::string, std::less<>> read_;
};

// "config.json:7:12: layer_types: ..."
Error refusal(const Config& config, std::string_view key, std::string_view text);

}  // namespace pipewright::config::huggingface
