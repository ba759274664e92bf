#include "analysis/measured/memory/pickle.hpp"

#include <algorithm>
#include <bit>
#include <istream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"

namespace pipewright::analysis {

using Kind = PickleValue::Kind;

// The machine that pickles are programs of (Lib/pickletools.py), without what calls anything.
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
  [[noreturn]] void fail(const std::string& what) const {
    throw trace::TraceError(
        fmt::format("{}: byte {}: the pickle {}", source_.name(), source_.bytes(), what));
  }

  [[noreturn]] void refuse(int code) const {
    // GLOBAL, INST, OBJ, REDUCE, BUILD, NEWOBJ, EXT1.., NEWOBJ_EX, STACK_GLOBAL, persistent ids
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
    while (text.size() < count) {  // a length that is a lie does not fill the memory
      const std::size_t before = text.size();
      text.resize(before + static_cast<std::size_t>(std::min(piece, count - before)));
      stream_.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
      if (stream_.gcount() != static_cast<std::streamsize>(text.size() - before))
        fail("is cut short");
    }
    return text;
  }

  // A whole number of so many bytes, the last of which has the sign.
  std::int64_t signed_number(std::uint64_t bytes) {
    if (bytes > 9) fail("has a number of more than 64 bits");
    std::int64_t value = 0;
    int last = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      last = static_cast<int>(number(1));
      if (i < 8) value |= static_cast<std::int64_t>(static_cast<std::uint64_t>(last) << (8 * i));
    }
    if (bytes > 0 && bytes < 8 && last >= 0x80)
      value -= static_cast<std::int64_t>(std::uint64_t{1} << (8 * bytes));
    return value;
  }

  void push(PickleValue value) {
    if (pickle_.values_.size() >= std::numeric_limits<std::uint32_t>::max())
      fail("has more values than can be numbered");
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values_.size()));
    pickle_.values_.push_back(std::move(value));
  }
  void push_integer(std::int64_t value) { push({.kind = Kind::integer, .integer = value}); }
  void push_text(std::uint64_t length) { push({.kind = Kind::text, .text = characters(length)}); }
  std::uint32_t pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
      fail("takes a value where there is none");
    const std::uint32_t place = stack_.back();
    stack_.pop_back();
    return place;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    if (marks_.empty()) fail("takes values up to a mark where there is none");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::uint32_t> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  PickleValue& top(Kind kind) {
    if (stack_.empty()) fail("takes a value where there is none");
    PickleValue& value = pickle_.values_[stack_.back()];
    if (value.kind != kind) fail("adds an item to what has none");
    return value;
  }
  void extend(Kind kind, const std::vector<std::uint32_t>& items) {
    PickleValue& value = top(kind);
    if (kind == Kind::dictionary && items.size() % 2 != 0) fail("has a key without a value");
    value.items.insert(value.items.end(), items.begin(), items.end());
  }

  bool constant(int code) {
    switch (code) {
      case 0x80:  // PROTO
        if (const auto protocol = number(1); protocol > 5)
          fail(fmt::format("is of protocol {}; 2 to 5 are read", protocol));
        return true;
      case 0x95:  // FRAME
        number(8);
        return true;
      case 'N':
        return push({}), true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push({.kind = Kind::boolean, .integer = code == 0x88}), true;
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
      case 'G': {  // the other end first
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8U | number(1);
        return push({.kind = Kind::real, .real = std::bit_cast<double>(bits)}), true;
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
        return push({.kind = Kind::dictionary}), true;
      case ']':
        return push({.kind = Kind::list}), true;
      case ')':
        return push({.kind = Kind::tuple}), true;
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
        return extend(Kind::list, {item}), true;
      }
      case 'e': {
        const auto items = pop_to_mark();
        return extend(Kind::list, items), true;
      }
      case 's': {
        const std::uint32_t value = pop();
        const std::uint32_t key = pop();
        return extend(Kind::dictionary, {key, value}), true;
      }
      case 'u': {
        const auto items = pop_to_mark();
        return extend(Kind::dictionary, items), true;
      }
      default:
        return false;
    }
  }
  void push_tuple(std::vector<std::uint32_t> items) {
    push({.kind = Kind::tuple, .items = std::move(items)});
  }

  bool memo(int code) {
    switch (code) {
      case 0x94:  // MEMOIZE
        return remember(memo_.size()), true;
      case 'q':
        return remember(number(1)), true;
      case 'r':
        return remember(number(4)), true;
      case 'h':
        return recall(number(1)), true;
      case 'j':
        return recall(number(4)), true;
      default:
        return false;
    }
  }
  void remember(std::uint64_t place) {
    if (stack_.empty()) fail("remembers a value where there is none");
    // Places are given one after another.
    if (place > memo_.size() + 1) fail("remembers a value at a place far away");
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    if (place >= memo_.size()) fail("recalls what it does not remember");
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
  if (dictionary.kind != Kind::dictionary) return nullptr;
  for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2)
    if (const PickleValue& name = values_[dictionary.items[i]];
        name.kind == Kind::text && name.text == key)
      return &values_[dictionary.items[i + 1]];
  return nullptr;
}

std::int64_t Pickle::integer(const PickleValue& dictionary, std::string_view key) const {
  const PickleValue* const found = find(dictionary, key);
  return found != nullptr && found->kind == Kind::integer ? found->integer : 0;
}

std::string_view Pickle::text(const PickleValue& dictionary, std::string_view key) const {
  const PickleValue* const found = find(dictionary, key);
  return found != nullptr && found->kind == Kind::text ? std::string_view(found->text)
                                                       : std::string_view();
}

Pickle read_pickle(const std::filesystem::path& file, const ReadProgress& progress) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  return PickleReader(source, stream).read();
}

}  // namespace pipewright::analysis
