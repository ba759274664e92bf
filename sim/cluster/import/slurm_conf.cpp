#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/cluster/import/slurm_builder.hpp"
#include "sim/config/text/value.hpp"

// Reads Slurm's topology.conf, topology/tree and topology/block, and the output of `scontrol show
// topology`. The latter has the same records with further keys, and lists the nodes below every
// switch. Terminals and mail wrap its lines.
namespace pipewright::cluster {
namespace {

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
    if (!pairs.emplace(base::lowercase(word.substr(0, equals)), word.substr(equals + 1)).second)
      builder.fail(number, fmt::format("{} is given twice in this line", word.substr(0, equals)));
  }
  return pairs;
}

// Keys of a record, in lowercase. `scontrol show topology` writes those from `level` on.
constexpr std::array<std::string_view, 10> slurm_keys{
    "switchname", "switches", "nodes",      "linkspeed", "blockname",
    "blocksizes", "level",    "blockindex", "blocksize", "aggregatedblock"};

bool begins_record(std::string_view key) {
  return key == "switchname" || key == "blockname" || key == "blocksizes" ||
         key == "aggregatedblock";
}

// Returns the key with which a line begins, in lowercase; empty if it begins with none.
std::string key_of(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string key = base::lowercase(line.substr(0, equals));
  return std::ranges::find(slurm_keys, key) == slurm_keys.end() ? "" : key;
}

// Returns whether the record ends inside a hostlist, which the next line continues: behind a comma,
// behind a key, or between brackets.
bool ends_in_list(std::string_view record) {
  if (record.ends_with(',') || record.ends_with('=')) return true;
  const std::size_t open = record.rfind('[');
  return open != std::string_view::npos && record.find(']', open) == std::string_view::npos &&
         record.find_first_of(" \t", open) == std::string_view::npos;
}

void take_record(SlurmBuilder& builder, std::string_view line, int number) {
  const auto pairs = pairs_of(builder, line, number);
  const auto text = [&](const char* key) {
    const auto pair = pairs.find(key);
    const bool has_value = pair != pairs.end() && pair->second != "(null)";  // scontrol's for none
    return has_value ? pair->second : std::string();
  };
  for (const auto& [key, value] : pairs)
    if (std::ranges::find(slurm_keys, key) == slurm_keys.end())
      builder.fail(number,
                   Error(fmt::format("key {} is unknown", config::in_quotes(key)))
                       .allow("SwitchName, Switches, Nodes, LinkSpeed, BlockName, BlockSizes, and "
                              "those of 'scontrol show topology'"));
  // An aggregated block repeats the nodes of its blocks.
  const bool is_without_nodes = pairs.contains("blocksizes") || pairs.contains("aggregatedblock");
  if (pairs.contains("switchname"))
    builder.add_switch(number, text("switchname"), text("switches"), text("nodes"),
                       pairs.contains("level"));
  else if (pairs.contains("blockname"))
    builder.add_block(number, text("blockname"), text("nodes"));
  else if (!is_without_nodes)
    builder.fail(number, "has none of the keys SwitchName, BlockName and BlockSizes");
}

}  // namespace

FabricParts read_slurm_conf(SourceText source) {
  SlurmBuilder builder(std::move(source));
  std::string record;
  int begin = 0;
  const auto end_record = [&] {
    if (!trimmed(record).empty()) take_record(builder, record, begin);
    record.clear();
  };
  const std::vector<std::string> lines = lines_of(builder.source());
  bool is_continued = false;  // the line before ends with a backslash
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(std::string_view(lines[i]).substr(0, lines[i].find('#')));
    const std::string key = key_of(line);
    const bool is_part = !record.empty() && !line.empty() && !begins_record(key) &&
                         (!key.empty() || ends_in_list(record));
    if (!is_continued && !is_part) end_record();
    if (record.empty()) begin = static_cast<int>(i) + 1;
    if (is_part && !key.empty()) record += ' ';
    is_continued = line.ends_with('\\') && i + 1 < lines.size();
    record += line.ends_with('\\') ? trimmed(line.substr(0, line.size() - 1)) : line;
    if (is_continued && !ends_in_list(record)) record += ' ';
  }
  end_record();
  return builder.finish();
}

}  // namespace pipewright::cluster
