#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "sim/cluster/import/slurm_builder.hpp"
#include "sim/config/text/value.hpp"

// Reads Slurm's topology.conf: topology/tree and topology/block.
namespace pipewright::cluster {
namespace {

std::string lowercase_copy(std::string_view text) {
  std::string lowercase(text);
  std::ranges::transform(lowercase, lowercase.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return lowercase;
}

// Splits "Key=Value Key=Value". Keys are lowercased, because Slurm ignores their case.
std::map<std::string, std::string> pairs_of(const SlurmBuilder& builder, std::string_view line,
                                            int number) {
  std::map<std::string, std::string> pairs;
  for (const std::string_view word : words_of(line)) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      builder.fail(
          number,
          fmt::format(
              "{} is not KEY=VALUE; expected a line such as SwitchName=leaf-1 Nodes=node[001-032]",
              config::in_quotes(word)));
    if (!pairs.emplace(lowercase_copy(word.substr(0, equals)), word.substr(equals + 1)).second)
      builder.fail(number, fmt::format("{} is given twice in this line", word.substr(0, equals)));
  }
  return pairs;
}

void take_line(SlurmBuilder& builder, std::string_view line, int number) {
  const auto pairs = pairs_of(builder, line, number);
  const auto text = [&](const char* key) {
    const auto pair = pairs.find(key);
    return pair == pairs.end() ? std::string() : pair->second;
  };
  for (const auto& [key, value] : pairs) {
    constexpr std::array<std::string_view, 6> keys{"switchname", "switches",  "nodes",
                                                   "linkspeed",  "blockname", "blocksizes"};
    if (std::ranges::find(keys, key) == keys.end())
      builder.fail(number,
                   Error(fmt::format("key {} is unknown", config::in_quotes(key)))
                       .allow("SwitchName, Switches, Nodes, LinkSpeed, BlockName, BlockSizes"));
  }
  if (pairs.contains("switchname"))
    builder.add_switch(number, text("switchname"), text("switches"), text("nodes"));
  else if (pairs.contains("blockname"))
    builder.add_block(number, text("blockname"), text("nodes"));
  else if (!pairs.contains("blocksizes"))
    builder.fail(number, "has none of the keys SwitchName, BlockName and BlockSizes");
}

}  // namespace

FabricParts read_slurm_conf(SourceText source) {
  SlurmBuilder builder(std::move(source));
  std::string whole;
  int begin = 0;
  const std::vector<std::string> lines = lines_of(builder.source());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(std::string_view(lines[i]).substr(0, lines[i].find('#')));
    if (whole.empty()) begin = static_cast<int>(i) + 1;
    const bool continues = line.ends_with('\\');
    whole += continues ? line.substr(0, line.size() - 1) : line;
    if (continues && i + 1 < lines.size()) {
      whole += ' ';
      continue;
    }
    if (!trimmed(whole).empty()) take_line(builder, whole, begin);
    whole.clear();
  }
  return builder.finish();
}

}  // namespace pipewright::cluster
