#include "sim/cluster/import/recognise.hpp"

#include <algorithm>
#include <cctype>

namespace pipewright::cluster {
namespace {

bool starts_with_ignoring_case(std::string_view line, std::string_view word) {
  if (line.size() < word.size()) return false;
  return std::equal(word.begin(), word.end(), line.begin(), [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

// Accepts XML with NCCL's topology. Throws Error for any other XML.
SourceKind recognise_xml(const SourceText& source) {
  const auto has = [&](const char* tag) { return source.text.find(tag) != std::string::npos; };
  if (has("<system")) return SourceKind::nccl_topology;
  if (has("<platform"))
    source.fail(1, "is already a platform file; 'pipewright platform show' describes it");
  if (has("<graphs"))
    source.fail(1, Error("has NCCL's graphs (NCCL_GRAPH_DUMP_FILE)")
                       .suggest("use the topology that NCCL_TOPO_DUMP_FILE writes"));
  source.fail(1,
              "is XML without <system>; the only XML that is read is NCCL's topology "
              "(NCCL_TOPO_DUMP_FILE)");
}

}  // namespace

SourceKind recognise(const SourceText& source) {
  bool is_first = true;
  for (const std::string& whole : lines_of(source)) {
    std::string_view line = trimmed(whole);
    if (is_first && line.starts_with("\xEF\xBB\xBF")) line = trimmed(line.substr(3));
    if (line.empty()) continue;
    if (is_first && line.front() == '<') return recognise_xml(source);
    is_first = false;
    if (line.front() == '#') continue;
    if (starts_with_ignoring_case(line, "SwitchName=") ||
        starts_with_ignoring_case(line, "BlockName=") ||
        starts_with_ignoring_case(line, "AggregatedBlock=") ||
        starts_with_ignoring_case(line, "BlockSizes="))
      return SourceKind::slurm_conf;
    if (starts_with_ignoring_case(line, "- topology:") ||
        starts_with_ignoring_case(line, "topology:"))
      return SourceKind::slurm_yaml;
    const auto words = words_of(line);
    if (line.starts_with("vendid=") || line.starts_with("switchguid=") ||
        line.starts_with("caguid=") ||
        (words.size() > 2 && (words[0] == "Switch" || words[0] == "Ca") &&
         words[2].starts_with('"')))
      return SourceKind::ibnetdiscover;
    if (words[0].starts_with("GPU") && words.size() > 1 &&
        (words[1] == "X" || words[1].starts_with("GPU") || words[1] == "CPU" ||
         words[1].starts_with("NIC") || words[1].starts_with("mlx")))
      return SourceKind::smi_matrix;
  }
  source.fail(
      1,
      Error("is not recognized")
          .allow("NCCL's topology XML (NCCL_TOPO_DUMP_FILE), the output of 'nvidia-smi "
                 "topo -m', 'ibnetdiscover' or 'scontrol show topology', Slurm's topology.conf or "
                 "topology.yaml"));
}

}  // namespace pipewright::cluster
