#include "sim/cli/platform/node_options.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "sim/cluster/make/node_kind.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

void add_node_options(po::options_description& options) {
  auto add = options.add_options();
  for (const NodeOption& option_row : node_options)
    add(option_row.option.data(), one_word(option_row.word.data()), option_row.help.data());
}

std::vector<std::pair<std::string, config::Value>> node_trees(const po::variables_map& options,
                                                              const std::vector<std::string>& kinds,
                                                              const std::string& verb) {
  std::vector<std::pair<std::string, config::Value>> trees;
  for (const std::string& kind : kinds)
    trees.emplace_back(std::filesystem::path(kind).stem().string(), cluster::node_kind_tree(kind));
  std::string changes;
  for (const NodeOption& option_row : node_options) {
    const std::string option(option_row.option);
    if (options.count(option) == 0) continue;
    if (trees.size() > 1)
      throw UsageError(fmt::format("--{} needs a single kind of node, but --node names {}", option,
                                   trees.size()))
          .suggest("write a node file for each instead");
    if (trees.empty()) {
      trees.emplace_back("node", config::Value{.kind = config::Value::Kind::map});
      trees.front().second.origin = {"the node that the options describe"};
    }
    config::Value& tree = trees.front().second;
    const std::string value = options[option].as<std::string>();
    config::set_key(tree, option_row.key, config::make_text(value, {"--" + option}));
    changes += fmt::format("{}{} {}", changes.empty() ? "" : ", ", option_row.key, value);
    if (option_row.key == "gpu")  // the new GPU has its own values
      std::erase_if(tree.entries, [](const config::Entry& entry) {
        return entry.key == "speed" || entry.key == "memory";
      });
  }
  if (trees.empty())
    throw UsageError(
        fmt::format("platform {} needs --node; 'platform make --help' lists the kinds, or "
                    "describe a node with --gpu, --nvlink and --nic",
                    verb));
  if (!changes.empty()) {
    config::Value& tree = trees.front().second;
    const config::Value* const help = find(tree, "help");
    const std::string text =
        fmt::format("{}with {}", help == nullptr ? "" : help->text + ", but ", changes);
    config::set_key(tree, "help", config::make_text(text, tree.origin));
  }
  return trees;
}

std::string command_of(const std::string& verb, const Arguments& arguments) {
  std::string command = "pipewright platform " + verb;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-o" || word == "--output") {
      ++i;
    } else if (!word.starts_with("-o") && !word.starts_with("--output=")) {
      const bool is_one_word = word.find_first_of(" '\"") == std::string::npos;
      command += is_one_word ? ' ' + word : fmt::format(" '{}'", word);
    }
  }
  return command;
}

}  // namespace pipewright::cli
