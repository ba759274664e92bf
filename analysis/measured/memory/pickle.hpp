#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/measured/files/input_file.hpp"

namespace pipewright::analysis {

// One value of a pickle; items are places in the pickle, of a dictionary keys and values in turn.
struct PickleValue {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, tuple, dictionary };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<std::uint32_t> items;
};

// What Python's pickle.dump writes of dictionaries, lists, tuples, texts, numbers, booleans and
// None, protocols 2 to 5. Nothing is executed: a pickle that names a class or a function is
// refused.
class Pickle {
 public:
  const PickleValue& root() const { return values_.at(root_); }
  const PickleValue& at(std::uint32_t place) const { return values_.at(place); }
  // The value of a key of a dictionary; null if it has none, or is no dictionary.
  const PickleValue* find(const PickleValue& dictionary, std::string_view key) const;
  // Whole numbers; 0 where there is none.
  std::int64_t integer(const PickleValue& dictionary, std::string_view key) const;
  // Texts; empty where there is none.
  std::string_view text(const PickleValue& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  std::uint32_t root_ = 0;
};

// Throws trace::TraceError with the byte where it is no such pickle.
Pickle read_pickle(const std::filesystem::path& file, const ReadProgress& progress = {});

}  // namespace pipewright::analysis
