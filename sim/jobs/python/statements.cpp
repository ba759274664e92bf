#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/python/interpreter_state.hpp"

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;

constexpr std::size_t max_rounds = 100'000;  // of a loop

// Returns whether a handler is for an exception of this type.
bool handles(const Node& handler, const std::string& type) {
  if (handler.nodes.empty()) return true;
  const Node& named = *handler.nodes.front();
  const auto is_for = [&](const Node& node) {
    const std::string_view name = node.text;
    return name == type || name == "Exception" || name == "BaseException" ||
           (name == "ImportError" && type == "ModuleNotFoundError") ||
           (name == "LookupError" && (type == "KeyError" || type == "IndexError"));
  };
  if (named.kind != Kind::tuple) return is_for(named);
  return std::ranges::any_of(named.nodes, [&](const NodePtr& node) { return is_for(*node); });
}

}  // namespace

config::Origin Interpreter::origin_of(const Node& node) const {
  return {.source = frame_->module->file, .line = node.line, .column = 1};
}

std::string Interpreter::written_of(const Node& node) const {
  const std::string& text = frame_->module->text;
  std::string written;
  for (std::size_t i = node.begin; i < std::min(node.end, text.size()); ++i) {
    const bool is_blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
    if (!is_blank)
      written += text[i];
    else if (!written.empty() && !written.ends_with(' '))
      written += ' ';
  }
  constexpr std::size_t longest = 90;
  if (written.size() > longest) written = written.substr(0, longest) + "..";
  return written;
}

void Interpreter::count_step(const Node& node) {
  constexpr std::uint64_t max_steps = 2'000'000;
  if (++steps_ > max_steps)
    throw config::Error(config::locate(origin_of(node), "the recipe takes too many steps to read"))
        .suggest("give a file without such loops");
}

void Interpreter::note(std::string text, const config::Origin& origin) {
  const bool is_noted = std::ranges::any_of(not_followed_, [&](const NotFollowed& call) {
    return call.text == text && call.origin == origin;
  });
  if (!is_noted) not_followed_.push_back({std::move(text), origin});
}

Interpreter::Flow Interpreter::run(const std::vector<NodePtr>& statements) {
  for (const NodePtr& statement : statements)
    if (const Flow flow = run(*statement); flow != Flow::on) return flow;
  return Flow::on;
}

Interpreter::Flow Interpreter::run(const Node& statement) {
  count_step(statement);
  switch (statement.kind) {
    case Kind::expression:
      evaluate(*statement.nodes.front());
      return Flow::on;
    case Kind::assign: {
      const Value value = evaluate(*statement.nodes.back());
      for (std::size_t i = 0; i + 1 < statement.nodes.size(); ++i)
        assign(*statement.nodes[i], value, written_of(statement));
      return Flow::on;
    }
    case Kind::annotated:
      if (statement.nodes.size() > 1)
        assign(*statement.nodes[0], evaluate(*statement.nodes[1]), written_of(statement));
      return Flow::on;
    case Kind::augmented:
      augment(statement);
      return Flow::on;
    case Kind::branch:
      return run_branch(statement);
    case Kind::loop_for:
      return run_for(statement);
    case Kind::loop_while:
      return run_while(statement);
    case Kind::define:
      define(statement);
      return Flow::on;
    case Kind::type:
      define_type(statement);
      return Flow::on;
    case Kind::give_back: {
      Value value = statement.nodes.empty() ? Value() : evaluate(*statement.nodes.front());
      if (frame_->certainty < static_cast<int>(conditions_.size()))
        frame_->possible_results.push_back(std::move(value));
      else
        frame_->result = std::move(value);
      return Flow::returned;
    }
    case Kind::raise: {
      // In a recipe that runs, the function has returned one of its possible results before.
      if (conditions_.size() == static_cast<std::size_t>(frame_->certainty) &&
          !frame_->possible_results.empty()) {
        frame_->result = frame_->possible_results.back();
        return Flow::returned;
      }
      std::string text = "an exception";
      std::string type = "Exception";
      if (!statement.nodes.empty()) {
        const Node& raised = *statement.nodes.front();
        text = written_of(raised);
        const Node& name = raised.kind == Kind::call ? *raised.nodes.front() : raised;
        type = name.text;
        if (raised.kind == Kind::call && raised.nodes.size() > 1)
          if (const auto words = text_of(evaluate(*raised.nodes[1]->nodes.front())))
            text = fmt::format("{}: {}", type, *words);
      }
      throw Raised{.type = type, .text = text, .origin = origin_of(statement)};
    }
    case Kind::assertion:
      if (truth_of(evaluate(*statement.nodes.front())) == false)
        throw Raised{.type = "AssertionError",
                     .text = written_of(statement),
                     .origin = origin_of(statement)};
      return Flow::on;
    case Kind::import:
      run_import(statement);
      return Flow::on;
    case Kind::import_from:
      run_import_from(statement);
      return Flow::on;
    case Kind::attempt:
      return run_attempt(statement);
    case Kind::with:
      for (const NodePtr& context : statement.nodes) evaluate(*context);
      return run(statement.body);
    case Kind::remove:
      remove(*statement.nodes.front());
      return Flow::on;
    case Kind::leave:
      return Flow::left;
    case Kind::next:
      return Flow::next;
    default:
      return Flow::on;
  }
}

Interpreter::Flow Interpreter::run_uncertain(const std::vector<NodePtr>& statements,
                                             const Node& condition) {
  const Uncertain uncertain(*this, fmt::format("the condition {}", written_of(condition)));
  try {
    return run(statements);
  } catch (const Raised&) {
    // The branch that raises is not taken in a recipe that runs.
    return Flow::on;
  }
}

Interpreter::Flow Interpreter::run_branch(const Node& statement) {
  const Node& condition = *statement.nodes.front();
  const std::optional<bool> truth = truth_of(evaluate(condition));
  if (truth) return run(*truth ? statement.body : statement.otherwise);
  const Flow first = run_uncertain(statement.body, condition);
  const Flow second = run_uncertain(statement.otherwise, condition);
  if (first != Flow::returned || second != Flow::returned) return Flow::on;
  // One of the possible results holds.
  frame_->result = frame_->possible_results.back();
  return Flow::returned;
}

Interpreter::Flow Interpreter::run_for(const Node& statement) {
  const Value iterable = evaluate(*statement.nodes[1]);
  const std::optional<std::vector<Value>> items = items_of(iterable);
  if (!items) {
    assign(*statement.nodes[0], unknown(*statement.nodes[1]), written_of(statement));
    run_uncertain(statement.body, *statement.nodes[1]);
    return Flow::on;
  }
  for (const Value& item : *items) {
    assign(*statement.nodes[0], item, written_of(statement));
    const Flow flow = run(statement.body);
    if (flow == Flow::returned) return flow;
    if (flow == Flow::left) return Flow::on;
  }
  return run(statement.otherwise);
}

Interpreter::Flow Interpreter::run_while(const Node& statement) {
  for (std::size_t round = 0; round < max_rounds; ++round) {
    const std::optional<bool> truth = truth_of(evaluate(*statement.nodes.front()));
    if (truth == false) return run(statement.otherwise);
    if (!truth) {
      run_uncertain(statement.body, *statement.nodes.front());
      return Flow::on;
    }
    const Flow flow = run(statement.body);
    if (flow == Flow::returned) return flow;
    if (flow == Flow::left) break;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::run_attempt(const Node& statement) {
  Flow flow = Flow::on;
  try {
    flow = run(statement.body);
    if (flow == Flow::on) flow = run(statement.otherwise);
  } catch (const Raised& raised) {
    const auto handler = std::ranges::find_if(
        statement.nodes, [&](const NodePtr& node) { return handles(*node, raised.type); });
    if (handler == statement.nodes.end()) {
      run(statement.last);
      throw;
    }
    if (!(*handler)->text.empty()) assign_name((*handler)->text, raised.text);
    flow = run((*handler)->body);
  }
  const Flow last = run(statement.last);
  return last == Flow::on ? flow : last;
}

void Interpreter::run_import(const Node& statement) {
  Module& module = *frame_->module;
  for (std::size_t i = 0; i + 1 < statement.words.size(); i += 2) {
    const std::string& name = statement.words[i];
    const std::string& own = statement.words[i + 1];
    // Without `as`, the name is that of the outermost package.
    const std::string outermost = name.substr(0, name.find('.'));
    module.imports[own.empty() ? outermost : own] = {.module = own.empty() ? outermost : name,
                                                     .name = {}};
  }
}

void Interpreter::run_import_from(const Node& statement) {
  Module& module = *frame_->module;
  for (std::size_t i = 0; i + 1 < statement.words.size(); i += 2) {
    if (statement.words[i] == "*") {
      module.star_imports.push_back(statement.text);
      continue;
    }
    module.imports[statement.words[i + 1]] = {.module = statement.text, .name = statement.words[i]};
  }
}

void Interpreter::define(const Node& statement) {
  auto function = std::make_shared<Function>();
  function->name = statement.text;
  function->node = std::shared_ptr<const Node>(frame_->module, &statement);
  function->module = frame_->module;
  if (frame_ != frame_->module->frame) {
    function->enclosing = frame_;
    closures_.push_back(frame_);
  }
  for (const Node::Parameter& parameter : statement.parameters)
    function->defaults.push_back(parameter.otherwise ? evaluate(*parameter.otherwise) : Value());
  for (const NodePtr& decorator : statement.nodes) {
    if (decorator->text == "property" || decorator->text == "cached_property")
      function->is_property = true;
    if (decorator->text == "staticmethod") function->is_static = true;
    if (decorator->text == "classmethod") function->takes_class = true;
  }
  assign_name(statement.text, decorated(statement, std::move(function)));
}

// Decorators that are functions of the files may register or wrap a function. Others leave it as
// it is.
Value Interpreter::decorated(const Node& statement, std::shared_ptr<const Function> function) {
  Value value = std::move(function);
  for (const NodePtr& node : statement.nodes | std::views::reverse) {
    const Node& decorator = *node;
    const Node& named = decorator.kind == Kind::call ? *decorator.nodes.front() : decorator;
    const auto is_function = [](const Value& candidate) {
      return std::holds_alternative<std::shared_ptr<const Function>>(candidate);
    };
    if (named.kind != Kind::name || !is_function(evaluate(named))) continue;
    Arguments arguments;
    arguments.values.push_back(value);
    const Value wrapped =
        call(evaluate(decorator), arguments, written_of(decorator), origin_of(decorator));
    if (is_function(wrapped)) value = wrapped;
  }
  return value;
}

void Interpreter::define_type(const Node& statement) {
  auto type = std::make_shared<Type>();
  type->name = statement.text;
  type->node = std::shared_ptr<const Node>(frame_->module, &statement);
  type->module = frame_->module;
  bool is_enumeration = false;
  for (const NodePtr& base : statement.nodes) {
    if (base->kind != Kind::argument || !base->text.empty()) continue;
    type->bases.push_back(evaluate(*base->nodes.front()));
    if (const auto* const external = std::get_if<External>(&type->bases.back()))
      is_enumeration = is_enumeration || last_part(external->name).ends_with("Enum");
  }
  const auto frame = std::make_shared<Frame>();
  frame->module = frame_->module;
  frame->enclosing = frame_ == frame_->module->frame ? nullptr : frame_;
  {
    const FrameChange change(*this, frame);
    for (const NodePtr& member : statement.body)
      if (member->kind != Kind::annotated && member->kind != Kind::expression) run(*member);
  }
  type->members = frame->names;
  for (auto& [name, value] : type->members) {
    if (auto* const function = std::get_if<std::shared_ptr<const Function>>(&value)) {
      // Functions of a class do not see the names of its body.
      auto method = std::make_shared<Function>(**function);
      method->enclosing = frame->enclosing;
      *function = std::move(method);
    } else if (is_enumeration) {
      value = External{fmt::format("{}.{}", type->name, name)};
    }
  }
  assign_name(statement.text, std::shared_ptr<const Type>(std::move(type)));
}

void Interpreter::augment(const Node& statement) {
  const Node& target = *statement.nodes[0];
  const Value before = evaluate(target);
  const Value operand = evaluate(*statement.nodes[1]);
  const std::string operation = statement.text.substr(0, statement.text.size() - 1);
  const bool is_certain = conditions_.empty();
  if (operation == "+" && std::holds_alternative<std::shared_ptr<List>>(before)) {
    Arguments arguments;
    arguments.values.push_back(operand);
    if (call_method(before, "extend", arguments, is_certain)) return;
  }
  const std::optional<Value> result = binary_operation(operation, before, operand);
  assign(target, result ? *result : unknown(statement), written_of(statement));
}

void Interpreter::remove(const Node& target) {
  if (target.kind == Kind::name) {
    frame_->names.erase(target.text);
    return;
  }
  if (target.kind != Kind::attribute && target.kind != Kind::subscript) return;
  const Value container = evaluate(*target.nodes.front());
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&container))
    std::erase_if((*object)->attributes,
                  [&](const Attribute& attribute) { return attribute.name == target.text; });
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&container)) {
    const Value key = evaluate(*target.nodes[1]);
    std::erase_if((*dictionary)->entries,
                  [&](const auto& entry) { return are_equal(entry.first, key).value_or(false); });
  }
}

void Interpreter::assign(const Node& target, const Value& value, const std::string& written) {
  switch (target.kind) {
    case Kind::name:
      return assign_name(target.text, value);
    case Kind::attribute: {
      const Value container = evaluate(*target.nodes.front());
      if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&container))
        set_attribute(*object, target.text, value, written, origin_of(target));
      else if (std::holds_alternative<Unknown>(container))
        note(fmt::format("{}: {} is not an object that is known", written,
                         written_of(*target.nodes.front())),
             origin_of(target));
      return;
    }
    case Kind::subscript:
      return assign_index(target, value);
    case Kind::tuple:
    case Kind::list:
      return assign_items(target, value, written);
    case Kind::star:
      return assign(*target.nodes.front(), value, written);
    default:
      return;
  }
}

void Interpreter::assign_items(const Node& target, const Value& value, const std::string& written) {
  const std::optional<std::vector<Value>> items = items_of(value);
  const std::size_t count = target.nodes.size();
  const auto star = std::ranges::find(target.nodes, Kind::star, &Node::kind);
  const bool fits =
      items && (star != target.nodes.end() ? items->size() + 1 >= count : items->size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const Node& part = *target.nodes[i];
    if (!fits) {
      assign(part, unknown(part), written);
      continue;
    }
    const auto first = static_cast<std::size_t>(star - target.nodes.begin());
    const std::size_t extra = items->size() + 1 - count;  // items of the starred target
    if (i == first) {
      const auto begin = items->begin() + static_cast<std::ptrdiff_t>(i);
      assign(part, make_list({begin, begin + static_cast<std::ptrdiff_t>(extra)}), written);
    } else {
      assign(part, (*items)[i < first ? i : i + extra - 1], written);
    }
  }
}

void Interpreter::assign_name(const std::string& name, Value value) {
  Value& slot = frame_->names[name];
  const bool is_certain = frame_->certainty >= static_cast<int>(conditions_.size());
  if (is_certain || are_equal(slot, value) == true)
    slot = std::move(value);
  else
    slot = Unknown{.text = conditions_.back(), .origin = {}};
}

void Interpreter::assign_index(const Node& target, const Value& value) {
  const Value container = evaluate(*target.nodes[0]);
  const bool is_certain = conditions_.empty();
  const Value stored = is_certain ? value : Value(Unknown{.text = "an unknown condition"});
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&container))
    return set_entry(**dictionary, evaluate(*target.nodes[1]), stored);
  const auto* const list = std::get_if<std::shared_ptr<List>>(&container);
  if (list == nullptr || target.nodes[1]->kind == Kind::slice) return;
  const std::optional<std::int64_t> index = integer_of(evaluate(*target.nodes[1]));
  const auto size = static_cast<std::int64_t>((*list)->items.size());
  if (!index || *index < -size || *index >= size) return;
  (*list)->items[static_cast<std::size_t>(*index < 0 ? size + *index : *index)] = stored;
}

void Interpreter::set_attribute(const std::shared_ptr<Object>& object, const std::string& name,
                                Value value, const std::string& written,
                                const config::Origin& origin) {
  Attribute* attribute = object->find(name);
  if (attribute == nullptr) {
    object->attributes.push_back({.name = name, .value = {}, .written = {}, .origin = {}});
    attribute = &object->attributes.back();
    if (object->certainty < static_cast<int>(conditions_.size()))
      attribute->value = Unknown{.text = "not set", .origin = origin};
  }
  const bool is_certain = object->certainty >= static_cast<int>(conditions_.size());
  if (!is_certain && are_equal(attribute->value, value) == true) return;
  attribute->value =
      is_certain ? std::move(value) : Value(Unknown{.text = conditions_.back(), .origin = origin});
  attribute->written = written;
  attribute->origin = origin;
  attribute->order = ++order_;
}

}  // namespace pipewright::jobs::python
