#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/measured/files/input_file.hpp"

namespace pipewright::analysis {

// A value of a pickle. Items are indices of values; a dictionary alternates keys and values.
struct PickleValue {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, tuple, dictionary };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<std::uint32_t> items;
};

// Content of Python's pickle.dump, protocols 2 to 5: dictionaries, lists, tuples, texts, numbers,
// booleans and None. Nothing is executed: a pickle that names a class or a function is refused.
class Pickle {
 public:
  const PickleValue& root() const { return values_.at(root_); }
  const PickleValue& at(std::uint32_t index) const { return values_.at(index); }
  // Returns the value stored under a key; null if the value is no dictionary or lacks the key.
  const PickleValue* find(const PickleValue& dictionary, std::string_view key) const;
  // Returns the whole number stored under a key, or 0 if there is none.
  std::int64_t integer(const PickleValue& dictionary, std::string_view key) const;
  // Returns the text stored under a key, or an empty text if there is none.
  std::string_view text(const PickleValue& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  std::uint32_t root_ = 0;
};

// Throws trace::TraceError with the position of the byte that is not valid.
Pickle read_pickle(const std::filesystem::path& file, const ReadProgress& progress = {});

}  // namespace pipewright::analysis
