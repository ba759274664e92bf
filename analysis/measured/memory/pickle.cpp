#include "analysis/measured/memory/pickle.hpp"

#include <algorithm>
#include <bit>
#include <istream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"

namespace pipewright::analysis {

using ValueKind = PickleValue::Kind;

// Stack machine that runs pickles (Lib/pickletools.py), without the opcodes that call anything.
class PickleReader {
 public:
  PickleReader(TextSource& source, std::istream& stream) : source_(source), stream_(stream) {}

  Pickle read() {
    while (true) {
      source_.mark();
      const int code = stream_.get();
      if (code == std::char_traits<char>::eof()) fail("is cut short");
      if (code == '.') break;
      if (!constant(code) && !container(code) && !memo(code)) refuse(code);
    }
    pickle_.root_ = pop();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw trace::TraceError(
        fmt::format("{}: byte {}: the pickle {}", source_.name(), source_.bytes(), message));
  }

  [[noreturn]] void refuse(int code) const {
    // Opcodes that import or call something: GLOBAL, INST, OBJ, REDUCE, BUILD, NEWOBJ, EXT1..,
    // NEWOBJ_EX, STACK_GLOBAL and persistent ids.
    const bool calls =
        std::string_view("cioRbPQ\x81\x82\x83\x84\x92\x93").find(static_cast<char>(code)) !=
        std::string_view::npos;
    fail(calls ? "names a class or a function, which reading it would call; only dictionaries, "
                 "lists, texts and numbers are read, as torch.cuda.memory._dump_snapshot writes"
               : fmt::format("has the unknown instruction 0x{:02x}", code));
  }

  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      const int byte = stream_.get();
      if (byte == std::char_traits<char>::eof()) fail("is cut short");
      value |= static_cast<std::uint64_t>(byte) << (8 * i);
    }
    return value;
  }

  std::string characters(std::uint64_t count) {
    std::string text;
    constexpr std::uint64_t piece = 1U << 16U;
    while (text.size() <
           count) {  // Reading in pieces keeps a wrong length from filling the memory.
      const std::size_t size = text.size();
      text.resize(size + static_cast<std::size_t>(std::min(piece, count - size)));
      stream_.read(text.data() + size, static_cast<std::streamsize>(text.size() - size));
      if (stream_.gcount() != static_cast<std::streamsize>(text.size() - size))
        fail("is cut short");
    }
    return text;
  }

  // Reads a little-endian whole number of this many bytes in two's complement.
  std::int64_t signed_number(std::uint64_t bytes) {
    if (bytes > 9) fail("has a number of more than 64 bits");
    std::int64_t value = 0;
    int last_byte = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      last_byte = static_cast<int>(number(1));
      if (i < 8)
        value |= static_cast<std::int64_t>(static_cast<std::uint64_t>(last_byte) << (8 * i));
    }
    if (bytes > 0 && bytes < 8 && last_byte >= 0x80)
      value -= static_cast<std::int64_t>(std::uint64_t{1} << (8 * bytes));
    return value;
  }

  void push(PickleValue value) {
    if (pickle_.values_.size() >= std::numeric_limits<std::uint32_t>::max())
      fail("has more values than can be numbered");
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values_.size()));
    pickle_.values_.push_back(std::move(value));
  }
  void push_integer(std::int64_t value) { push({.kind = ValueKind::integer, .integer = value}); }
  void push_text(std::uint64_t length) {
    push({.kind = ValueKind::text, .text = characters(length)});
  }
  std::uint32_t pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
      fail("takes a value from an empty stack");
    const std::uint32_t index = stack_.back();
    stack_.pop_back();
    return index;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    if (marks_.empty()) fail("takes values up to a missing mark");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::uint32_t> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  PickleValue& top(ValueKind kind) {
    if (stack_.empty()) fail("takes a value from an empty stack");
    PickleValue& value = pickle_.values_[stack_.back()];
    if (value.kind != kind) fail("adds an item to a value that is not a container");
    return value;
  }
  void extend(ValueKind kind, const std::vector<std::uint32_t>& items) {
    PickleValue& value = top(kind);
    if (kind == ValueKind::dictionary && items.size() % 2 != 0) fail("has a key without a value");
    value.items.insert(value.items.end(), items.begin(), items.end());
  }

  bool constant(int code) {
    switch (code) {
      case 0x80:  // PROTO
        if (const auto protocol = number(1); protocol > 5)
          fail(fmt::format("has protocol {}; protocols 2 to 5 can be read", protocol));
        return true;
      case 0x95:  // FRAME
        number(8);
        return true;
      case 'N':
        return push({}), true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push({.kind = ValueKind::boolean, .integer = code == 0x88}), true;
      case 'J':
        return push_integer(static_cast<std::int32_t>(number(4))), true;
      case 'K':
        return push_integer(static_cast<std::int64_t>(number(1))), true;
      case 'M':
        return push_integer(static_cast<std::int64_t>(number(2))), true;
      case 0x8a:  // LONG1
        return push_integer(signed_number(number(1))), true;
      case 0x8b:  // LONG4
        return push_integer(signed_number(number(4))), true;
      case 'G': {  // Big-endian, unlike all other numbers.
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8U | number(1);
        return push({.kind = ValueKind::real, .real = std::bit_cast<double>(bits)}), true;
      }
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(number(1)), true;
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
      case 'X':  // BINUNICODE
        return push_text(number(4)), true;
      case 0x8d:  // BINUNICODE8
      case 0x8e:  // BINBYTES8
        return push_text(number(8)), true;
      default:
        return false;
    }
  }

  bool container(int code) {
    switch (code) {
      case '(':
        return marks_.push_back(stack_.size()), true;
      case '}':
        return push({.kind = ValueKind::dictionary}), true;
      case ']':
        return push({.kind = ValueKind::list}), true;
      case ')':
        return push({.kind = ValueKind::tuple}), true;
      case 't':
        return push_tuple(pop_to_mark()), true;
      case 0x85:  // TUPLE1, TUPLE2, TUPLE3
      case 0x86:
      case 0x87: {
        std::vector<std::uint32_t> items;
        for (int i = 0x85; i <= code; ++i) items.insert(items.begin(), pop());
        return push_tuple(std::move(items)), true;
      }
      case 'a': {
        const std::uint32_t item = pop();
        return extend(ValueKind::list, {item}), true;
      }
      case 'e': {
        const auto items = pop_to_mark();
        return extend(ValueKind::list, items), true;
      }
      case 's': {
        const std::uint32_t value = pop();
        const std::uint32_t key = pop();
        return extend(ValueKind::dictionary, {key, value}), true;
      }
      case 'u': {
        const auto items = pop_to_mark();
        return extend(ValueKind::dictionary, items), true;
      }
      default:
        return false;
    }
  }
  void push_tuple(std::vector<std::uint32_t> items) {
    push({.kind = ValueKind::tuple, .items = std::move(items)});
  }

  bool memo(int code) {
    switch (code) {
      case 0x94:  // MEMOIZE
        return store(memo_.size()), true;
      case 'q':
        return store(number(1)), true;
      case 'r':
        return store(number(4)), true;
      case 'h':
        return load(number(1)), true;
      case 'j':
        return load(number(4)), true;
      default:
        return false;
    }
  }
  void store(std::uint64_t place) {
    if (stack_.empty()) fail("stores a value from an empty stack");
    // Pickles fill the memo in order, so a place far beyond its end shows a damaged file.
    if (place > memo_.size() + 1) fail("stores a value at an implausible place");
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
  }
  void load(std::uint64_t place) {
    if (place >= memo_.size()) fail("recalls a value that was not stored");
    stack_.push_back(memo_[place]);
  }

  TextSource& source_;
  std::istream& stream_;
  Pickle pickle_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::uint32_t> memo_;
};

const PickleValue* Pickle::find(const PickleValue& dictionary, std::string_view key) const {
  if (dictionary.kind != ValueKind::dictionary) return nullptr;
  for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2)
    if (const PickleValue& name = values_[dictionary.items[i]];
        name.kind == ValueKind::text && name.text == key)
      return &values_[dictionary.items[i + 1]];
  return nullptr;
}

std::int64_t Pickle::integer(const PickleValue& dictionary, std::string_view key) const {
  const PickleValue* const value = find(dictionary, key);
  return value != nullptr && value->kind == ValueKind::integer ? value->integer : 0;
}

std::string_view Pickle::text(const PickleValue& dictionary, std::string_view key) const {
  const PickleValue* const value = find(dictionary, key);
  return value != nullptr && value->kind == ValueKind::text ? std::string_view(value->text)
                                                            : std::string_view();
}

Pickle read_pickle(const std::filesystem::path& file, const ReadProgress& progress) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  return PickleReader(source, stream).read();
}

}  // namespace pipewright::analysis
