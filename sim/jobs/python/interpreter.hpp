#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/jobs/python/packages.hpp"
#include "sim/jobs/python/value.hpp"

namespace pipewright::jobs::python {

class Interpreter;

// Function of a host: takes the arguments, the text and the location of a call.
using HostFunction =
    std::function<Value(Interpreter&, const Arguments&, const std::string&, const config::Origin&)>;

// Facts about a framework's package that its files do not contain.
struct Host {
  // Functions and classes that replace those of the files, by their names without a module.
  std::map<std::string, HostFunction, std::less<>> functions;
  // Names whose effect the host defines, so that they are not looked up in the files.
  std::vector<std::string_view> external;
  // Value of an attribute that is not set, such as a default of a class outside of the files. None
  // if it is unknown.
  std::function<std::optional<Value>(const Object&, std::string_view)> attribute;
};

// Call whose effect on the settings is unknown.
struct NotFollowed {
  std::string text;  // "base_config(): not in the files"
  config::Origin origin;
};

// Interprets the modules of a configuration without running Python. Calls of functions in the files
// are followed; calls of others give objects that record their arguments. Below a condition whose
// value only exists in a running program, assignments make values unknown. Nothing but files of
// modules is read.
class Interpreter {
 public:
  Interpreter(Packages packages, Host host);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Interprets the statements of a file, or of a module by its dotted name. The latter returns null
  // if there is no such module.
  std::shared_ptr<Module> load(const std::string& file, const std::string& text);
  std::shared_ptr<Module> load_module(const std::string& name);

  // Value of a name in a module; none if the module does not define or import the name.
  std::optional<Value> find(const std::shared_ptr<Module>& module, const std::string& name);

  // Calls a function. `written` and `origin` describe the call.
  Value call(const Value& callee, const Arguments& arguments, const std::string& written,
             const config::Origin& origin);

  // Sets an attribute, as an assignment at `origin`.
  void set_attribute(const std::shared_ptr<Object>& object, const std::string& name, Value value,
                     const std::string& written, const config::Origin& origin);

  // Result of looking up an attribute that the value may lack.
  struct Lookup {
    std::optional<Value> value;
    bool is_absent = false;  // the value certainly lacks the attribute
  };
  Lookup look_up(const Value& value, const std::string& name);

  const std::vector<NotFollowed>& not_followed() const { return not_followed_; }
  // Number of files that were read.
  std::size_t file_count() const { return modules_.size(); }

 private:
  enum class Flow : std::uint8_t { on, returned, left, next };
  struct Uncertain;
  struct Depth;
  struct FrameChange;

  // Statements
  Flow run(const std::vector<NodePtr>& statements);
  Flow run(const Node& statement);
  Flow run_branch(const Node& statement);
  Flow run_for(const Node& statement);
  Flow run_while(const Node& statement);
  Flow run_attempt(const Node& statement);
  Flow run_uncertain(const std::vector<NodePtr>& statements, const Node& condition);
  void run_import(const Node& statement);
  void run_import_from(const Node& statement);
  void define(const Node& statement);
  Value decorated(const Node& statement, std::shared_ptr<const Function> function);
  void define_type(const Node& statement);
  void augment(const Node& statement);
  void remove(const Node& statement);
  void assign(const Node& target, const Value& value, const std::string& written);
  void assign_items(const Node& target, const Value& value, const std::string& written);
  void assign_name(const std::string& name, Value value);
  void assign_index(const Node& target, const Value& value);

  // Expressions
  Value evaluate(const Node& node);
  Value evaluate_name(const Node& node);
  Value evaluate_number(const Node& node);
  Value evaluate_formatted(const Node& node);
  Value evaluate_list(const Node& node);
  Value evaluate_dictionary(const Node& node);
  Value evaluate_attribute(const Node& node);
  Value attribute_of(const Value& value, const std::string& name, const Node& node);
  Value evaluate_subscript(const Node& node);
  Value evaluate_unary(const Node& node);
  Value evaluate_boolean(const Node& node);
  Value evaluate_compare(const Node& node);
  Value evaluate_conditional(const Node& node);
  Value evaluate_comprehension(const Node& node);
  void run_clause(const Node& node, std::size_t clause, const std::function<void()>& visit);
  Value evaluate_call(const Node& node);
  Arguments evaluate_arguments(const std::vector<NodePtr>& nodes, std::size_t first);
  Value unknown(const Node& node, std::string_view why = {}) const;

  // Calls
  Value call_function(const std::shared_ptr<const Function>& function, const Arguments& arguments,
                      const config::Origin& origin);
  void bind(const Function& function, const Arguments& arguments, Frame& frame,
            const config::Origin& origin);
  Value call_type(const std::shared_ptr<const Type>& type, const Arguments& arguments,
                  const std::string& written, const config::Origin& origin);
  void set_fields(const std::shared_ptr<Object>& object, const std::shared_ptr<const Type>& type,
                  const Arguments& arguments, const config::Origin& origin);
  void collect_fields(const std::shared_ptr<const Type>& type, std::vector<const Node*>& fields,
                      std::vector<std::shared_ptr<Module>>& modules, bool& is_open);
  Value call_external(const std::string& name, const std::shared_ptr<Object>& receiver,
                      const Arguments& arguments, const std::string& written,
                      const config::Origin& origin);
  Value call_partial(const Object& partial, const Arguments& arguments, const std::string& written,
                     const config::Origin& origin);
  const Value* member_of(const Type& type, const std::string& name) const;
  void note(std::string text, const config::Origin& origin);

  // Names
  std::optional<Value> find_in(const std::shared_ptr<Module>& module, const std::string& name);
  std::optional<Value> find_imported(const std::shared_ptr<Module>& module,
                                     const Module::Import& import);
  std::string absolute_name(const Module& module, const std::string& name) const;
  std::shared_ptr<Module> load_file(const std::filesystem::path& file, const std::string& name);
  std::shared_ptr<Module> interpret(std::shared_ptr<Module> module);

  config::Origin origin_of(const Node& node) const;
  std::string written_of(const Node& node) const;
  void count_step(const Node& node);

  Packages packages_;
  Host host_;
  std::map<std::string, std::shared_ptr<Module>> modules_;  // by file
  std::map<std::string, std::shared_ptr<Module>> by_name_;  // null for those not found
  std::shared_ptr<Frame> frame_;
  // Values that refer to their owners, which the destructor separates.
  std::vector<std::shared_ptr<Frame>> closures_;
  std::vector<std::shared_ptr<Object>> with_receiver_;
  std::vector<NotFollowed> not_followed_;
  std::vector<std::string> conditions_;  // unknown conditions around the statement that runs
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  std::vector<std::pair<const Module*, std::string>> searches_;  // names that are looked up
};

}  // namespace pipewright::jobs::python
