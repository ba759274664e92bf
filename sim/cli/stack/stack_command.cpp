#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/stack_rules.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"

// Lists the software stacks of the library, and shows one with what it inherits.
namespace pipewright::cli {
namespace {

using analysis::Quantity;
using config::Stack;

po::options_description stack_options() {
  po::options_description options("options");
  auto add = options.add_options();
  add("json", "print JSON");
  add("help,h", "print this help");
  return options;
}

analysis::Json fused_names(const Stack& stack) {
  analysis::Json names = analysis::Json::array();
  for (std::size_t i = 0; i < config::fusable_names.size(); ++i)
    if (stack.fused.test(i)) names.push_back(config::fusable_names[i]);
  return names;
}

analysis::Json memory_json(const Stack& stack) {
  return {{"fragmentation", stack.memory.fragmentation},
          {"context_bytes", stack.memory.context},
          {"nccl_buffers_bytes", stack.memory.nccl_buffers},
          {"workspace_bytes", stack.memory.workspace},
          {"expert_workspace_bytes", stack.memory.expert_workspace},
          {"graph_kernel_bytes", stack.memory.graph_kernel},
          {"loss_working_bytes", stack.memory.loss_working},
          {"fused_loss_working_bytes", stack.memory.fused_loss_working},
          {"optimizer_working_bytes", stack.memory.optimizer_working},
          {"unused_gradients", stack.memory.unused_gradients},
          {"delayed_frees", stack.memory.delayed_frees}};
}

analysis::Json rules_json(const Stack& stack) {
  analysis::Json rules = analysis::Json::array();
  for (std::size_t i = 0; i < config::stack_rules.size(); ++i)
    if (stack.rules.test(i))
      rules.push_back(
          {{"name", config::stack_rules[i].name}, {"help", config::stack_rules[i].help}});
  return rules;
}

// Describes the stack's rules as comments of YAML, one line each.
std::string rule_comments(const Stack& stack) {
  std::string text;
  for (std::size_t i = 0; i < config::stack_rules.size(); ++i)
    if (stack.rules.test(i))
      text += fmt::format("# {}: {}\n", config::stack_rules[i].name, config::stack_rules[i].help);
  return text;
}

std::vector<std::string_view> attention_names(const Stack& stack) {
  std::vector<std::string_view> kernels;
  for (const config::AttentionKernel kernel : stack.attention)
    kernels.push_back(base::name_of(config::attention_kernel_names, kernel));
  return kernels;
}

std::string attention_text(const Stack& stack) {
  return fmt::format("{}", fmt::join(attention_names(stack), ", "));
}

// Returns the values of a map or list of a stack's file in JSON, as texts.
analysis::Json json_of(const config::Value& value) {
  using Kind = config::Value::Kind;
  if (value.kind == Kind::text) return value.text;
  analysis::Json json =
      value.kind == Kind::list ? analysis::Json::array() : analysis::Json::object();
  for (const config::Value& item : value.items) json.push_back(json_of(item));
  for (const config::Entry& entry : value.entries) json[entry.key] = json_of(entry.value);
  return json;
}

// Returns the file of a stack that a user's folder of the library has; nothing for stacks that come
// with the program, and for paths.
std::optional<std::string> users_file(const std::string& name) {
  if (!config::is_library_name(name, ".yaml")) return std::nullopt;
  const std::filesystem::path file = config::library_file("stacks", name, ".yaml");
  const std::filesystem::path shipped = config::library_folders().back() / "stacks";
  std::error_code ignored;
  if (std::filesystem::equivalent(file.parent_path(), shipped, ignored)) return std::nullopt;
  return file.string();
}

const analysis::ReportColumns<Stack>& stack_columns() {
  static const analysis::ReportColumns<Stack> columns{
      {"stack", {"stack"}, Quantity::name(), &Stack::name},
      {"kernel_s",
       {"host,", "kernel"},
       Quantity::seconds(3),
       [](const Stack& stack) { return stack.host.kernel; }},
      {"collective_s",
       {"host,", "collective"},
       Quantity::seconds(3),
       [](const Stack& stack) { return stack.host.collective; }},
      {"pass_s", [](const Stack& stack) { return stack.host.pass; }},
      {"iteration_s", [](const Stack& stack) { return stack.host.iteration; }},
      {"memory", memory_json},
      {"fused", fused_names},
      {"early_stop", &Stack::early_stop},
      {"rules", rules_json},
      {"schedules", [](const Stack& stack) { return analysis::Json(stack.schedules); }},
      {"attention", {"attention"}, Quantity::name(), attention_text},
      {"software", {"software"}, Quantity::name(), &Stack::help},
  };
  return columns;
}

Stack read_library_stack(const std::string& name_or_path) {
  const config::Value value = config::make_text(name_or_path, {.source = "the command line"});
  const config::Value tree = config::named_stack_tree({value, "stack"});
  return config::read_stack({tree, "stack"});
}

}  // namespace

int list_stacks(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, stack_options(), "name");
  if (options.count("help") != 0) {
    fmt::print(
        "usage: pipewright stack list [--json]\n\n"
        "Lists the software stacks of the library: the time that the host takes from one launch of "
        "a\n"
        "kernel to the next, and the attention kernels in order of preference. Lines below the "
        "table "
        "name\n"
        "the files of stacks that come from a folder of PIPEWRIGHT_PLATFORMS.\n\n"
        "  pipewright stack list\n\n{}",
        describe(stack_options()));
    return exit_ok;
  }
  if (const std::vector<std::string> words = values(options, "name"); !words.empty())
    throw UsageError(fmt::format("stack list takes no name; 'pipewright stack show {}' shows one",
                                 words.front()));
  const std::vector<std::string> names = config::library_names("stacks", ".yaml");
  std::vector<Stack> stacks;
  for (const std::string& name : names) stacks.push_back(read_library_stack(name));
  if (options.count("json") != 0) {
    analysis::Json rows = json_rows(stack_columns(), stacks);
    for (std::size_t i = 0; i < names.size(); ++i) rows[i]["file"] = users_file(names[i]);
    fmt::print("{}", analysis::json_document(rows));
    return exit_ok;
  }
  fmt::print("{}", table_text(stack_columns(), stacks));
  for (const std::string& name : names)
    if (const std::optional<std::string> file = users_file(name))
      fmt::print("{} is the file {}\n", analysis::printable(name), analysis::printable(*file));
  return exit_ok;
}

int show_stack(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, stack_options(), "name");
  if (options.count("help") != 0) {
    fmt::print(
        "usage: pipewright stack show NAME|FILE [--json]\n\n"
        "Shows all keys of a software stack, with those that it inherits from other stacks, and\n"
        "what its rules require.\n\n"
        "  pipewright stack show torchtitan\n"
        "  pipewright stack show mine.yaml --json\n\n{}",
        describe(stack_options()));
    return exit_ok;
  }
  const std::vector<std::string> names = values(options, "name");
  if (names.empty()) throw UsageError("stack show needs a stack, such as torchtitan");
  const std::string& name = single(names, "stack");
  const config::Value value = config::make_text(name, {.source = "the command line"});
  const config::Value tree = config::named_stack_tree({value, "stack"});
  const Stack stack = config::read_stack({tree, "stack"});
  const std::optional<std::string> file = users_file(name);
  if (options.count("json") != 0) {
    analysis::Json json = json_object(stack_columns(), stack);
    json["file"] = file;
    json["attention"] = attention_names(stack);
    json["sinks_skip_masked"] = stack.sinks_skip_masked;
    if (stack.max_unsharded_stages) json["max_unsharded_stages"] = *stack.max_unsharded_stages;
    json["unshard_lookahead"] = base::name_of(config::unshard_rule_names, stack.unshard_lookahead);
    if (stack.gather_ahead) json["gather_ahead"] = *stack.gather_ahead;
    json["sums_copies_once"] = stack.sums_copies_once;
    for (const char* const key : {"partition", "training", "communication", "assumed", "source"})
      if (const config::Value* const written = config::find(tree, key))
        json[key] = json_of(*written);
    fmt::print("{}", analysis::json_document(json));
  } else {
    if (file) fmt::print("# file: {}\n", analysis::printable(*file));
    fmt::print("{}{}", config::to_yaml(tree), rule_comments(stack));
  }
  return exit_ok;
}

}  // namespace pipewright::cli
