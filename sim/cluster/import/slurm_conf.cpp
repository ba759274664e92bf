#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "sim/cluster/import/slurm_builder.hpp"
#include "sim/config/text/value.hpp"

// Slurm's topology.conf: topology/tree and topology/block.
namespace pipewright::cluster {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

// "Key=Value Key=Value"; keys in small letters, as Slurm does not tell them apart.
std::map<std::string, std::string> pairs_of(const SlurmBuilder& builder, std::string_view line,
                                            int number) {
  std::map<std::string, std::string> pairs;
  for (const std::string_view word : words_of(line)) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      builder.fail(number, fmt::format("{} is no KEY=VALUE; as in SwitchName=leaf-1 "
                                       "Nodes=node[001-032]",
                                       config::in_quotes(word)));
    if (!pairs.emplace(lower(word.substr(0, equals)), word.substr(equals + 1)).second)
      builder.fail(number, fmt::format("{} stands twice in the line", word.substr(0, equals)));
  }
  return pairs;
}

void take_line(SlurmBuilder& builder, std::string_view line, int number) {
  const auto pairs = pairs_of(builder, line, number);
  const auto text = [&](const char* key) {
    const auto found = pairs.find(key);
    return found == pairs.end() ? std::string() : found->second;
  };
  for (const auto& [key, value] : pairs) {
    constexpr std::array<std::string_view, 6> known{"switchname", "switches",  "nodes",
                                                    "linkspeed",  "blockname", "blocksizes"};
    if (std::ranges::find(known, key) == known.end())
      builder.fail(number, fmt::format("key {} is unknown; allowed: SwitchName, Switches, Nodes, "
                                       "LinkSpeed, BlockName, BlockSizes",
                                       config::in_quotes(key)));
  }
  if (pairs.contains("switchname"))
    builder.add_switch(number, text("switchname"), text("switches"), text("nodes"));
  else if (pairs.contains("blockname"))
    builder.add_block(number, text("blockname"), text("nodes"));
  else if (!pairs.contains("blocksizes"))
    builder.fail(number, "begins neither with SwitchName= nor with BlockName=");
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
