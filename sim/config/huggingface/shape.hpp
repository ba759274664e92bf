#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/huggingface/config.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config::huggingface {

// Builds the map of keys that describes a model in pipewright's model files.
class Shape {
 public:
  explicit Shape(const Origin& origin) { map_.origin = origin; }

  // Sets the value of a key; `path` may be dotted, such as "experts.count".
  void set(std::string_view path, std::string text, const Origin& origin) {
    set_value(map_, path, make_text(std::move(text), origin));
  }
  void set(std::string_view path, std::uint32_t number, const Origin& origin) {
    set(path, std::to_string(number), origin);
  }
  void set(std::string_view path, const Number& number) { set(path, number.value, number.origin); }
  void set(std::string_view path, const std::optional<Number>& number) {
    if (number) set(path, *number);
  }
  void set(std::string_view path, Value value) { set_value(map_, path, std::move(value)); }
  void set_list(std::string_view path, const std::vector<std::string>& items,
                const Origin& origin) {
    set_value(map_, path, make_list(items, origin));
  }
  void note(std::string text, const Origin& origin) {
    notes_.kind = Value::Kind::list;
    notes_.origin = origin;
    notes_.items.push_back(make_text(std::move(text), origin));
  }

  Value take() && {
    if (!notes_.items.empty()) set_value(map_, "notes", std::move(notes_));
    return std::move(map_);
  }

 private:
  Value map_;
  Value notes_;
};

}  // namespace pipewright::config::huggingface
