#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/python/interpreter_state.hpp"

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;
using ParameterKind = Node::Parameter::Kind;

// Packages whose functions do not change settings.
constexpr std::array<std::string_view, 9> harmless{
    "os", "logging", "logger", "warnings", "torch", "typing", "re", "super", "functools"};

// Function whose result calls another with more arguments.
constexpr std::string_view partial_name = "functools.partial";

bool is_harmless(std::string_view name) {
  return std::ranges::find(harmless, name.substr(0, name.find('.'))) != harmless.end();
}

// Returns whether a name is that of a function, not of a class.
bool names_function(std::string_view name) {
  const std::string_view last = last_part(name);
  const bool is_special = last.starts_with("__");  // of a class outside of the files
  return !last.empty() && !is_special &&
         (last.front() == '_' || (last.front() >= 'a' && last.front() <= 'z'));
}

bool has_object(const Arguments& arguments) {
  const auto is_object = [](const Value& value) {
    const auto* const object = std::get_if<std::shared_ptr<Object>>(&value);
    return object != nullptr && !(*object)->attributes.empty();
  };
  return std::ranges::any_of(arguments.values, is_object) ||
         std::ranges::any_of(arguments.keywords, is_object, &Arguments::Keyword::value);
}

}  // namespace

const Value* Interpreter::member_of(const Type& type, const std::string& name) const {
  if (const auto own = type.members.find(name); own != type.members.end()) return &own->second;
  for (const Value& base : type.bases)
    if (const auto* const inherited = std::get_if<std::shared_ptr<const Type>>(&base))
      if (const Value* const member = member_of(**inherited, name)) return member;
  return nullptr;
}

Arguments Interpreter::evaluate_arguments(const std::vector<NodePtr>& nodes, std::size_t first) {
  Arguments arguments;
  for (std::size_t i = first; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    const Value value = evaluate(*node.nodes.front());
    if (node.kind == Kind::argument) {
      if (node.text.empty())
        arguments.values.push_back(value);
      else
        arguments.keywords.push_back({.name = node.text,
                                      .value = value,
                                      .written = written_of(node),
                                      .origin = origin_of(node)});
      continue;
    }
    if (node.kind == Kind::star) {
      const std::optional<std::vector<Value>> items = items_of(value);
      if (items)
        arguments.values.insert(arguments.values.end(), items->begin(), items->end());
      else
        arguments.are_known = false;
      continue;
    }
    const auto* const dictionary = std::get_if<std::shared_ptr<Dictionary>>(&value);
    if (dictionary == nullptr) {
      arguments.are_known = false;
      continue;
    }
    for (const auto& [key, entry] : (*dictionary)->entries)
      if (const auto* const name = std::get_if<std::string>(&key))
        arguments.keywords.push_back(
            {.name = *name,
             .value = entry,
             .written = fmt::format("{}={}", *name, text_of(entry).value_or(written_of(node))),
             .origin = origin_of(node)});
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Node& node) {
  const Value callee = evaluate(*node.nodes.front());
  const Arguments arguments = evaluate_arguments(node.nodes, 1);
  return call(callee, arguments, written_of(node), origin_of(node));
}

Value Interpreter::call(const Value& callee, const Arguments& arguments, const std::string& written,
                        const config::Origin& origin) {
  if (const auto* const function = std::get_if<std::shared_ptr<const Function>>(&callee))
    return call_function(*function, arguments, origin);
  if (const auto* const type = std::get_if<std::shared_ptr<const Type>>(&callee))
    return call_type(*type, arguments, written, origin);
  if (const auto* const external = std::get_if<External>(&callee))
    return call_external(external->name, nullptr, arguments, written, origin);
  if (const auto* const method = std::get_if<std::shared_ptr<const Method>>(&callee)) {
    if ((*method)->function != nullptr) {
      Arguments with_receiver = arguments;
      with_receiver.values.insert(with_receiver.values.begin(), (*method)->receiver);
      return call_function((*method)->function, with_receiver, origin);
    }
    const std::optional<Value> result =
        call_method((*method)->receiver, (*method)->name, arguments, conditions_.empty());
    return result ? *result : Value(Unknown{.text = written, .origin = origin});
  }
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&callee))
    if ((*object)->made_by == partial_name && !(*object)->arguments.empty())
      return call_partial(**object, arguments, written, origin);
  // An attribute that nothing has set, such as the method of an object of another package.
  if (const auto* const object = std::get_if<std::shared_ptr<Object>>(&callee))
    if ((*object)->is_assumed && (*object)->attributes.empty()) {
      const std::shared_ptr<Object> receiver = (*object)->receiver;
      if (receiver != nullptr)
        std::erase_if(receiver->attributes, [&](const Attribute& attribute) {
          const auto* const held = std::get_if<std::shared_ptr<Object>>(&attribute.value);
          return held != nullptr && *held == *object;
        });
      return call_external((*object)->made_by, receiver, arguments, written, origin);
    }
  if (has_object(arguments)) note(fmt::format("{}: the function is not known", written), origin);
  return Unknown{.text = written, .origin = origin};
}

Value Interpreter::call_partial(const Object& partial, const Arguments& arguments,
                                const std::string& written, const config::Origin& origin) {
  Arguments all = arguments;
  all.values.insert(all.values.begin(), partial.arguments.begin() + 1, partial.arguments.end());
  for (const Attribute& attribute : partial.attributes)
    if (all.keyword(attribute.name) == nullptr)
      all.keywords.push_back({.name = attribute.name,
                              .value = attribute.value,
                              .written = attribute.written,
                              .origin = attribute.origin});
  return call(partial.arguments.front(), all, written, origin);
}

Value Interpreter::call_external(const std::string& name, const std::shared_ptr<Object>& receiver,
                                 const Arguments& arguments, const std::string& written,
                                 const config::Origin& origin) {
  if (receiver == nullptr) {
    if (const auto own = host_.functions.find(std::string(last_part(name)));
        own != host_.functions.end())
      return own->second(*this, arguments, written, origin);
    if (std::optional<Value> result = call_builtin(*this, name, arguments, written, origin))
      return *result;
  }
  const bool changes =
      has_object(arguments) || (receiver != nullptr && !receiver->attributes.empty());
  if (names_function(name) && !is_harmless(name) && changes &&
      std::ranges::find(host_.external, last_part(name)) == host_.external.end())
    note(fmt::format("{}: not in the files that are read", written), origin);
  auto made = std::make_shared<Object>();
  made->made_by = name;
  made->receiver = receiver;
  if (receiver != nullptr) with_receiver_.push_back(made);
  made->arguments = arguments.values;
  made->written = written;
  made->origin = origin;
  made->certainty = static_cast<int>(conditions_.size());
  for (const Arguments::Keyword& keyword : arguments.keywords)
    set_attribute(made, keyword.name, keyword.value, keyword.written, keyword.origin);
  return made;
}

void Interpreter::bind(const Function& function, const Arguments& arguments, Frame& frame,
                       const config::Origin& origin) {
  std::size_t next = 0;
  std::vector<std::string_view> bound;
  const std::vector<Node::Parameter>& parameters = function.node->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Node::Parameter& parameter = parameters[i];
    Value& slot = frame.names[parameter.name];
    if (parameter.kind == ParameterKind::rest) {
      std::vector<Value> rest;
      while (next < arguments.values.size()) rest.push_back(arguments.values[next++]);
      slot = make_list(std::move(rest), List::Kind::tuple);
    } else if (parameter.kind == ParameterKind::keywords) {
      auto rest = std::make_shared<Dictionary>();
      for (const Arguments::Keyword& keyword : arguments.keywords)
        if (std::ranges::find(bound, keyword.name) == bound.end())
          rest->entries.emplace_back(keyword.name, keyword.value);
      slot = std::move(rest);
    } else if (const Value* const value = arguments.keyword(parameter.name)) {
      slot = *value;
      bound.push_back(parameter.name);
    } else if (parameter.kind == ParameterKind::usual && next < arguments.values.size()) {
      slot = arguments.values[next++];
      bound.push_back(parameter.name);
    } else if (parameter.otherwise != nullptr && arguments.are_known) {
      slot = function.defaults[i];
    } else {
      slot = Unknown{.text = fmt::format("the parameter {} of {}", parameter.name, function.name),
                     .origin = origin};
    }
  }
}

Value Interpreter::call_function(const std::shared_ptr<const Function>& function,
                                 const Arguments& arguments, const config::Origin& origin) {
  constexpr int deepest = 300;
  const Depth depth(depth_);
  if (depth_ > deepest)
    return Unknown{.text = fmt::format("{}: too many nested calls", function->name),
                   .origin = origin};
  const auto frame = std::make_shared<Frame>();
  frame->module = function->module;
  frame->enclosing = function->enclosing;
  frame->certainty = static_cast<int>(conditions_.size());
  bind(*function, arguments, *frame, origin);
  const FrameChange change(*this, frame);
  if (function->node->kind == Kind::lambda) return evaluate(*function->node->nodes.front());
  run(function->node->body);
  for (const Value& possible : frame->possible_results)
    if (are_equal(possible, frame->result) != true)
      return Unknown{.text = fmt::format("the result of {}", function->name), .origin = origin};
  return frame->result;
}

void Interpreter::collect_fields(const std::shared_ptr<const Type>& type,
                                 std::vector<const Node*>& fields,
                                 std::vector<std::shared_ptr<Module>>& modules, bool& is_open) {
  for (const Value& base : type->bases) {
    if (const auto* const own = std::get_if<std::shared_ptr<const Type>>(&base))
      collect_fields(*own, fields, modules, is_open);
    else
      is_open = true;
  }
  for (const NodePtr& member : type->node->body)
    if (member->kind == Kind::annotated && member->nodes.front()->kind == Kind::name) {
      const auto same = std::ranges::find_if(fields, [&](const Node* field) {
        return field->nodes.front()->text == member->nodes.front()->text;
      });
      if (same != fields.end()) {
        modules[static_cast<std::size_t>(same - fields.begin())] = type->module;
        *same = member.get();
      } else {
        fields.push_back(member.get());
        modules.push_back(type->module);
      }
    }
}

void Interpreter::set_fields(const std::shared_ptr<Object>& object,
                             const std::shared_ptr<const Type>& type, const Arguments& arguments,
                             const config::Origin& origin) {
  std::vector<const Node*> fields;
  std::vector<std::shared_ptr<Module>> modules;
  bool is_open = false;
  collect_fields(type, fields, modules, is_open);
  std::size_t next = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = fields[i]->nodes.front()->text;
    if (arguments.keyword(name) != nullptr) continue;
    if (next < arguments.values.size()) {
      set_attribute(object, name, arguments.values[next++], object->written, origin);
      continue;
    }
    if (fields[i]->nodes.size() < 2) continue;
    const FrameChange change(*this, modules[i]->frame);
    object->attributes.push_back({.name = name,
                                  .value = evaluate(*fields[i]->nodes[1]),
                                  .written = written_of(*fields[i]),
                                  .origin = origin_of(*fields[i])});
  }
  for (const Arguments::Keyword& keyword : arguments.keywords)
    set_attribute(object, keyword.name, keyword.value, keyword.written, keyword.origin);
}

Value Interpreter::call_type(const std::shared_ptr<const Type>& type, const Arguments& arguments,
                             const std::string& written, const config::Origin& origin) {
  if (const auto own = host_.functions.find(type->name); own != host_.functions.end())
    return own->second(*this, arguments, written, origin);
  auto object = std::make_shared<Object>();
  object->made_by = type->name;
  object->type = type;
  object->arguments = arguments.values;
  object->written = written;
  object->origin = origin;
  object->certainty = static_cast<int>(conditions_.size());
  const auto run_member = [&](const std::string& name, Arguments values) {
    const Value* const member = member_of(*type, name);
    const auto* const function =
        member == nullptr ? nullptr : std::get_if<std::shared_ptr<const Function>>(member);
    if (function == nullptr) return false;
    values.values.insert(values.values.begin(), object);
    call_function(*function, values, origin);
    return true;
  };
  if (run_member("__init__", arguments)) return object;
  set_fields(object, type, arguments, origin);
  run_member("__post_init__", {});
  return object;
}

}  // namespace pipewright::jobs::python
