#include <algorithm>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/value.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/python/interpreter_state.hpp"

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;

// Classes of Python whose attributes are known although they are not in the files.
bool is_plain_base(std::string_view name) {
  const std::string_view last = last_part(name);
  return last == "object" || last == "ABC" || last == "Protocol" || last == "Generic" ||
         last == "Enum";
}

// Returns whether objects of a class may have attributes that the files do not show.
bool is_open(const Type& type) {
  return std::ranges::any_of(type.bases, [](const Value& base) {
    if (const auto* const external = std::get_if<External>(&base))
      return !is_plain_base(external->name);
    const auto* const own = std::get_if<std::shared_ptr<const Type>>(&base);
    return own == nullptr || is_open(**own);
  });
}

}  // namespace

Value Interpreter::unknown(const Node& node, std::string_view why) const {
  return Unknown{.text = why.empty() ? written_of(node) : std::string(why),
                 .origin = origin_of(node)};
}

Value Interpreter::evaluate(const Node& node) {
  count_step(node);
  constexpr int deepest = 400;
  const Depth depth(depth_);
  if (depth_ > deepest) return unknown(node);
  switch (node.kind) {
    case Kind::number:
      return evaluate_number(node);
    case Kind::text:
      return node.text;
    case Kind::formatted:
      return evaluate_formatted(node);
    case Kind::name:
      return evaluate_name(node);
    case Kind::constant:
      if (node.text == "True" || node.text == "False") return node.text == "True";
      return node.text == "None" ? Value() : unknown(node);
    case Kind::attribute:
      return evaluate_attribute(node);
    case Kind::subscript:
      return evaluate_subscript(node);
    case Kind::call:
      return evaluate_call(node);
    case Kind::list:
    case Kind::tuple:
    case Kind::set:
      return evaluate_list(node);
    case Kind::dictionary:
      return evaluate_dictionary(node);
    case Kind::unary:
      return evaluate_unary(node);
    case Kind::binary: {
      const Value left = evaluate(*node.nodes[0]);
      const std::optional<Value> result =
          binary_operation(node.text, left, evaluate(*node.nodes[1]));
      return result ? *result : unknown(node);
    }
    case Kind::boolean:
      return evaluate_boolean(node);
    case Kind::compare:
      return evaluate_compare(node);
    case Kind::conditional:
      return evaluate_conditional(node);
    case Kind::comprehension:
      return evaluate_comprehension(node);
    case Kind::walrus: {
      Value value = evaluate(*node.nodes.front());
      assign_name(node.text, value);
      return value;
    }
    case Kind::lambda: {
      auto function = std::make_shared<Function>();
      function->name = "lambda";
      function->node = std::shared_ptr<const Node>(frame_->module, &node);
      function->module = frame_->module;
      if (frame_ != frame_->module->frame) {
        function->enclosing = frame_;
        closures_.push_back(frame_);
      }
      for (const Node::Parameter& parameter : node.parameters)
        function->defaults.push_back(parameter.otherwise ? evaluate(*parameter.otherwise)
                                                         : Value());
      return std::shared_ptr<const Function>(std::move(function));
    }
    default:
      return unknown(node);
  }
}

Value Interpreter::evaluate_number(const Node& node) {
  std::string digits = node.text;
  std::erase(digits, '_');
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    std::int64_t value = 0;
    constexpr std::size_t longest = 15;
    if (digits.size() > longest) return unknown(node);
    for (const char c : digits.substr(2)) {
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return unknown(node);
      const int letter = std::tolower(static_cast<unsigned char>(c));
      value = value * 16 + (letter >= 'a' ? letter - 'a' + 10 : letter - '0');
    }
    return value;
  }
  if (const auto whole = base::parse_number<std::int64_t>(digits)) return *whole;
  if (const auto real = base::parse_number<double>(digits)) return *real;
  return unknown(node);
}

Value Interpreter::evaluate_formatted(const Node& node) {
  std::string text;
  for (const NodePtr& part : node.nodes) {
    const std::optional<std::string> words = text_of(evaluate(*part));
    if (!words) return unknown(node);
    text += *words;
  }
  return text;
}

Value Interpreter::evaluate_name(const Node& node) {
  for (const Frame* frame = frame_.get(); frame != nullptr; frame = frame->enclosing.get())
    if (const auto own = frame->names.find(node.text); own != frame->names.end()) {
      if (auto* const state = std::get_if<Unknown>(&own->second); state && state->origin.line == 0)
        return Unknown{.text = state->text, .origin = origin_of(node)};
      return own->second;
    }
  if (std::optional<Value> value = find(frame_->module, node.text)) return *value;
  return External{node.text};
}

Interpreter::Lookup Interpreter::look_up(const Value& value, const std::string& name) {
  if (const auto* const module = std::get_if<std::shared_ptr<Module>>(&value)) {
    std::optional<Value> member = find(*module, name);
    const bool is_absent = !member.has_value();
    return {.value = std::move(member), .is_absent = is_absent};
  }
  const auto* const held = std::get_if<std::shared_ptr<Object>>(&value);
  if (held == nullptr)
    return {.value = {}, .is_absent = std::holds_alternative<std::monostate>(value)};
  Object& object = **held;
  if (const Attribute* const attribute = object.find(name)) return {.value = attribute->value};
  if (object.type != nullptr)
    if (const Value* const member = member_of(*object.type, name)) return {.value = *member};
  if (host_.attribute)
    if (std::optional<Value> known = host_.attribute(object, name)) return {.value = known};
  return {.value = {}, .is_absent = object.type != nullptr && !is_open(*object.type)};
}

Value Interpreter::attribute_of(const Value& value, const std::string& name, const Node& node) {
  if (const auto* const external = std::get_if<External>(&value))
    return External{fmt::format("{}.{}", external->name, name)};
  if (const auto* const module = std::get_if<std::shared_ptr<Module>>(&value)) {
    if (std::optional<Value> member = find(*module, name)) return *member;
    return External{fmt::format("{}.{}", (*module)->name, name)};
  }
  if (const auto* const type = std::get_if<std::shared_ptr<const Type>>(&value)) {
    const Value* const member = member_of(**type, name);
    if (member == nullptr) return External{fmt::format("{}.{}", (*type)->name, name)};
    const auto* const of_class = std::get_if<std::shared_ptr<const Function>>(member);
    if (of_class == nullptr || !(*of_class)->takes_class) return *member;
    return std::make_shared<const Method>(
        Method{.receiver = value, .name = name, .function = *of_class});
  }
  const auto* const function = std::get_if<std::shared_ptr<const Function>>(&value);
  if (function != nullptr && name == "__name__") return (*function)->name;
  const auto* const held = std::get_if<std::shared_ptr<Object>>(&value);
  if (held == nullptr) {
    if (!is_known(value) || std::holds_alternative<std::monostate>(value)) return unknown(node);
    return std::make_shared<const Method>(Method{.receiver = value, .name = name, .function = {}});
  }
  const Lookup lookup = look_up(value, name);
  if (lookup.value) {
    const auto* const member = std::get_if<std::shared_ptr<const Function>>(&*lookup.value);
    const bool is_of_class = member != nullptr && (*held)->find(name) == nullptr;
    if (!is_of_class || (*member)->is_static) return *lookup.value;
    if ((*member)->is_property) {
      Arguments arguments;
      arguments.values.push_back(value);
      return call_function(*member, arguments, origin_of(node));
    }
    return std::make_shared<const Method>(
        Method{.receiver = value, .name = name, .function = *member});
  }
  if (lookup.is_absent) return unknown(node);
  // Nothing has set the attribute. It is an object of its own, whose attributes may be set.
  auto assumed = std::make_shared<Object>();
  assumed->made_by = fmt::format("{}.{}", (*held)->made_by, name);
  assumed->receiver = *held;
  assumed->written = written_of(node);
  assumed->origin = origin_of(node);
  assumed->is_assumed = true;
  with_receiver_.push_back(assumed);
  (*held)->attributes.push_back(
      {.name = name, .value = assumed, .written = assumed->written, .origin = assumed->origin});
  return assumed;
}

Value Interpreter::evaluate_attribute(const Node& node) {
  return attribute_of(evaluate(*node.nodes.front()), node.text, node);
}

Value Interpreter::evaluate_list(const Node& node) {
  std::vector<Value> items;
  for (const NodePtr& item : node.nodes) {
    if (item->kind != Kind::star) {
      items.push_back(evaluate(*item));
      continue;
    }
    const std::optional<std::vector<Value>> more = items_of(evaluate(*item->nodes.front()));
    if (!more) return unknown(node);
    items.insert(items.end(), more->begin(), more->end());
  }
  return make_list(std::move(items), node.kind == Kind::list    ? List::Kind::list
                                     : node.kind == Kind::tuple ? List::Kind::tuple
                                                                : List::Kind::set);
}

Value Interpreter::evaluate_dictionary(const Node& node) {
  auto dictionary = std::make_shared<Dictionary>();
  for (std::size_t i = 0; i + 1 < node.nodes.size(); i += 2) {
    if (node.nodes[i] == nullptr) {
      const Value more = evaluate(*node.nodes[i + 1]->nodes.front());
      const auto* const entries = std::get_if<std::shared_ptr<Dictionary>>(&more);
      if (entries == nullptr) return unknown(node);
      for (const auto& [key, value] : (*entries)->entries) set_entry(*dictionary, key, value);
      continue;
    }
    const Value key = evaluate(*node.nodes[i]);
    set_entry(*dictionary, key, evaluate(*node.nodes[i + 1]));
  }
  return dictionary;
}

Value Interpreter::evaluate_subscript(const Node& node) {
  const Value container = evaluate(*node.nodes[0]);
  const Node& index = *node.nodes[1];
  if (const auto* const external = std::get_if<External>(&container)) {
    // A member of an enumeration by its name, or a type such as Optional[int].
    const Value key = index.kind == Kind::text ? Value(index.text) : evaluate(index);
    const auto* const member = std::get_if<std::string>(&key);
    return member == nullptr ? container
                             : Value(External{fmt::format("{}.{}", external->name, *member)});
  }
  if (index.kind == Kind::slice) {
    std::optional<std::vector<Value>> items = items_of(container);
    if (!items || index.nodes[2] != nullptr) return unknown(node);
    const auto size = static_cast<std::int64_t>(items->size());
    const auto bound = [&](const NodePtr& part,
                           std::int64_t otherwise) -> std::optional<std::int64_t> {
      if (part == nullptr) return otherwise;
      const std::optional<std::int64_t> at = integer_of(evaluate(*part));
      if (!at) return std::nullopt;
      return std::clamp<std::int64_t>(*at < 0 ? size + *at : *at, 0, size);
    };
    const std::optional<std::int64_t> begin = bound(index.nodes[0], 0);
    const std::optional<std::int64_t> end = bound(index.nodes[1], size);
    if (!begin || !end) return unknown(node);
    const std::int64_t last = std::max(*begin, *end);
    if (const auto* const text = std::get_if<std::string>(&container))
      return text->substr(static_cast<std::size_t>(*begin),
                          static_cast<std::size_t>(last - *begin));
    return make_list({items->begin() + *begin, items->begin() + last});
  }
  const Value key = evaluate(index);
  if (const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&container)) {
    if (const Value* const value = find_entry(**dictionary, key)) return *value;
    const bool are_known = std::ranges::all_of(
        (*dictionary)->entries, [](const auto& entry) { return is_known(entry.first); });
    if (!is_known(key) || !are_known) return unknown(node);
    throw Raised{.type = "KeyError",
                 .text = fmt::format("KeyError: {}", written_of(node)),
                 .origin = origin_of(node)};
  }
  const std::optional<std::vector<Value>> items = items_of(container);
  const std::optional<std::int64_t> at = integer_of(key);
  if (!items || !at) return unknown(node);
  const auto size = static_cast<std::int64_t>(items->size());
  if (*at < -size || *at >= size)
    throw Raised{.type = "IndexError",
                 .text = fmt::format("IndexError: {}", written_of(node)),
                 .origin = origin_of(node)};
  return (*items)[static_cast<std::size_t>(*at < 0 ? size + *at : *at)];
}

Value Interpreter::evaluate_unary(const Node& node) {
  Value value = evaluate(*node.nodes.front());
  if (node.text == "not") {
    const std::optional<bool> truth = truth_of(value);
    return truth ? Value(!*truth) : unknown(node);
  }
  if (node.text == "+") return value;
  if (node.text != "-") return unknown(node);
  const std::optional<Value> result = binary_operation("-", std::int64_t{0}, value);
  return result ? *result : unknown(node);
}

Value Interpreter::evaluate_boolean(const Node& node) {
  const Value left = evaluate(*node.nodes[0]);
  const std::optional<bool> truth = truth_of(left);
  const bool is_and = node.text == "and";
  if (truth) return *truth == is_and ? evaluate(*node.nodes[1]) : left;
  Value right;
  {
    const Uncertain uncertain(*this, fmt::format("the condition {}", written_of(*node.nodes[0])));
    right = evaluate(*node.nodes[1]);
  }
  // False and true decide the result, whatever the first operand is.
  if (truth_of(right) == !is_and && std::holds_alternative<bool>(right)) return right;
  return unknown(node);
}

Value Interpreter::evaluate_compare(const Node& node) {
  Value left = evaluate(*node.nodes.front());
  bool is_certain = true;
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    Value right = evaluate(*node.nodes[i + 1]);
    const std::optional<bool> holds = comparison(node.words[i], left, right);
    if (holds == false) return false;
    is_certain = is_certain && holds.has_value();
    left = std::move(right);
  }
  return is_certain ? Value(true) : unknown(node);
}

Value Interpreter::evaluate_conditional(const Node& node) {
  const std::optional<bool> truth = truth_of(evaluate(*node.nodes[1]));
  if (truth) return evaluate(*node.nodes[*truth ? 0 : 2]);
  const Uncertain uncertain(*this, fmt::format("the condition {}", written_of(*node.nodes[1])));
  const Value first = evaluate(*node.nodes[0]);
  const Value second = evaluate(*node.nodes[2]);
  return are_equal(first, second) == true ? first : unknown(node);
}

void Interpreter::run_clause(const Node& node, std::size_t clause,
                             const std::function<void()>& visit) {
  if (clause == node.nodes.size()) return visit();
  const Node& part = *node.nodes[clause];
  const std::optional<std::vector<Value>> items = items_of(evaluate(*part.nodes[1]));
  if (!items) throw Raised{.type = "unknown", .text = written_of(part), .origin = origin_of(part)};
  for (const Value& item : *items) {
    assign(*part.nodes[0], item, {});
    bool holds = true;
    for (std::size_t i = 2; i < part.nodes.size() && holds; ++i) {
      const std::optional<bool> truth = truth_of(evaluate(*part.nodes[i]));
      if (!truth)
        throw Raised{.type = "unknown", .text = written_of(part), .origin = origin_of(part)};
      holds = *truth;
    }
    if (holds) run_clause(node, clause + 1, visit);
  }
}

Value Interpreter::evaluate_comprehension(const Node& node) {
  const auto frame = std::make_shared<Frame>();
  frame->module = frame_->module;
  if (frame_ != frame_->module->frame) frame->enclosing = frame_;
  frame->certainty = static_cast<int>(conditions_.size());
  const bool is_dictionary = node.text == "dictionary";
  auto dictionary = std::make_shared<Dictionary>();
  std::vector<Value> items;
  try {
    const FrameChange change(*this, frame);
    run_clause(node, is_dictionary ? 2 : 1, [&] {
      const Value first = evaluate(*node.nodes[0]);
      if (is_dictionary)
        set_entry(*dictionary, first, evaluate(*node.nodes[1]));
      else
        items.push_back(first);
    });
  } catch (const Raised& raised) {
    if (raised.type != "unknown") throw;
    return unknown(node);
  }
  if (is_dictionary) return dictionary;
  return make_list(std::move(items), node.text == "set" ? List::Kind::set : List::Kind::list);
}

}  // namespace pipewright::jobs::python
