#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/config/text/error.hpp"
#include "sim/jobs/python/syntax.hpp"

namespace pipewright::jobs::python {

struct List;
struct Dictionary;
struct Object;
struct Function;
struct Type;
struct Module;
struct Frame;
struct Method;

// Name outside of the files that are read, such as torch.bfloat16.
struct External {
  std::string name;
};

// Value that only a running program can compute.
struct Unknown {
  std::string text;  // "torch.cuda.is_available()", or why the value is not known
  config::Origin origin;
};

// Value of Python. Lists, dictionaries and objects are shared, as in Python.
using Value =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, External, Unknown,
                 std::shared_ptr<List>, std::shared_ptr<Dictionary>, std::shared_ptr<Object>,
                 std::shared_ptr<const Function>, std::shared_ptr<const Type>,
                 std::shared_ptr<Module>, std::shared_ptr<const Method>>;

struct List {
  enum class Kind : std::uint8_t { list, tuple, set };
  Kind kind = Kind::list;
  std::vector<Value> items;
};

struct Dictionary {
  std::vector<std::pair<Value, Value>> entries;  // in the order of insertion
};

// Values of a call: positional, and by keyword.
struct Arguments {
  struct Keyword {
    std::string name;
    Value value;
    std::string written;  // "tp_comm_overlap=True"
    config::Origin origin;
  };
  std::vector<Value> values;
  std::vector<Keyword> keywords;
  bool are_known = true;  // false after * or ** of an unknown value

  const Value* keyword(std::string_view name) const;
  // Returns the first value, or None if there is none.
  const Value& first() const;
  // Returns the value at this index if it is a text.
  std::optional<std::string> text_at(std::size_t index) const;
};

struct Attribute {
  std::string name;
  Value value;
  std::string written;  // "cfg.model.tensor_model_parallel_size = 8"
  config::Origin origin;
  std::uint64_t order = 0;  // number of the last assignment, among all assignments; 0 for a default
};

// Object of a class, or the result of a call that is not followed. Attributes that nobody has set
// are unknown unless the class is known as a whole.
struct Object {
  std::string made_by;                // name of the class or function that was called
  std::shared_ptr<const Type> type;   // null unless the class is in the files that are read
  std::shared_ptr<Object> receiver;   // object whose method was called; null for others
  std::vector<Value> arguments;       // positional arguments of a call that is not followed
  std::vector<Attribute> attributes;  // in the order in which they were first set
  std::string written;                // text of the call
  config::Origin origin;
  bool is_assumed = false;  // an attribute that was used before anything set it
  int certainty = 0;        // depth of unknown conditions below which the object was made

  Attribute* find(std::string_view name);
};

struct Function {
  std::string name;
  NodePtr node;  // define or lambda
  std::shared_ptr<Module> module;
  std::shared_ptr<Frame> enclosing;  // frame around a nested function; null for other functions
  std::vector<Value> defaults;       // one for each parameter; monostate for one without
  bool is_property = false;
  bool is_static = false;
  bool takes_class = false;
};

struct Type {
  std::string name;
  NodePtr node;
  std::shared_ptr<Module> module;
  std::vector<Value> bases;
  std::map<std::string, Value> members;  // functions and plain values
};

// Function of an object, or of a built-in value.
struct Method {
  Value receiver;
  std::string name;
  std::shared_ptr<const Function> function;  // null for methods of built-in values and unknown ones
};

// Names of a function's call.
struct Frame {
  std::map<std::string, Value> names;
  std::shared_ptr<Module> module;
  std::shared_ptr<Frame> enclosing;
  std::vector<Value> possible_results;  // results of returns below unknown conditions
  Value result;
  int certainty = 0;  // depth of unknown conditions in which the call began
};

// A file, and what it defines. Imported names are looked up when they are used.
struct Module {
  struct Import {
    std::string module;  // with leading dots
    std::string name;    // empty: the module itself
  };
  std::string name;
  std::string file;
  std::string text;
  std::vector<NodePtr> statements;
  std::shared_ptr<Frame> frame;
  std::map<std::string, Import> imports;
  std::vector<std::string> star_imports;
  bool is_package = false;
};

// True or false, or none if only a running program can compute it.
std::optional<bool> truth_of(const Value& value);
std::optional<bool> are_equal(const Value& a, const Value& b);

// Text of a value as str() gives it, or as a list of settings shows it: "8", "True",
// "torch.bfloat16". None if the value has no such text.
std::optional<std::string> text_of(const Value& value);

// Values of numbers and of True and False; none for other values.
std::optional<std::int64_t> integer_of(const Value& value);
std::optional<double> number_of(const Value& value);
bool is_known(const Value& value);

Value make_list(std::vector<Value> items, List::Kind kind = List::Kind::list);
// Items of a list, keys of a dictionary, or characters of a text; none for other values.
std::optional<std::vector<Value>> items_of(const Value& value);

// Value of a key; null if there is none.
Value* find_entry(Dictionary& dictionary, const Value& key);
void set_entry(Dictionary& dictionary, const Value& key, Value value);

// Last part of a dotted name.
std::string_view last_part(std::string_view name);

}  // namespace pipewright::jobs::python
