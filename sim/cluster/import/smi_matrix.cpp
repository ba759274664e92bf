#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/cluster/import/node_parts.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/text/value.hpp"

// Reads the output of `nvidia-smi topo -m`: the connection of every GPU to every other GPU and NIC.
// It names neither the GPU type nor any rates.
namespace pipewright::cluster {
namespace {

struct Column {
  std::string name;
  bool is_gpu = false;
};

bool is_gpu_name(std::string_view word) {
  return word.starts_with("GPU") && word.size() > 3 &&
         word.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

class SmiMatrixReader {
 public:
  explicit SmiMatrixReader(SourceText source) { parts_.source = std::move(source); }

  NodeParts read() {
    const std::vector<std::string> lines = lines_of(parts_.source);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto words = words_of(lines[i]);
      const int number = static_cast<int>(i) + 1;
      if (columns_.empty())
        take_header(words, number);
      else if (!words.empty() && is_gpu_name(words[0]))
        take_row(words, number);
    }
    if (columns_.empty()) parts_.source.fail(1, "has no header of GPU0, GPU1, ..");
    if (rows_ != gpus_)
      parts_.source.fail(
          header_line_,
          fmt::format(
              "the header names {} GPUs, but there are {} rows of GPUs; is the output truncated?",
              gpus_, rows_));
    check_symmetric();
    parts_.is_matrix = true;
    parts_.has_links = true;
    return std::move(parts_);
  }

 private:
  // Reads the header: GPU0 GPU1 .. NIC0 mlx5_0 .. CPU Affinity NUMA Affinity
  void take_header(const std::vector<std::string_view>& words, int number) {
    if (words.empty() || !is_gpu_name(words[0])) return;
    if (words.size() > 1 && words[1] == "X") return;
    for (const std::string_view word : words) {
      if (word == "CPU" || word == "NUMA") break;
      const bool gpu = is_gpu_name(word);
      if (gpu && !parts_.nics.empty())
        parts_.source.fail(number, fmt::format("{} follows NICs; GPUs must come first", word));
      columns_.push_back({std::string(word), gpu});
      if (gpu) {
        ++gpus_;
        parts_.gpus.push_back({.name = std::string(word)});
      } else {
        parts_.nics.push_back({.name = std::string(word), .line = number});
      }
    }
    header_line_ = number;
  }

  void take_row(const std::vector<std::string_view>& words, int number) {
    const auto fail = [&](const Error& error) { parts_.source.fail(number, error); };
    if (rows_ >= gpus_ || words[0] != columns_[rows_].name)
      fail(fmt::format("found the row of {}, but expected {}", words[0],
                       rows_ < gpus_ ? "that of " + columns_[rows_].name : "no further row"));
    NodeParts::Gpu& gpu = parts_.gpus[rows_];
    gpu.line = number;
    if (words.size() < columns_.size() + 1)
      fail(fmt::format("{} has {} columns, but the header names {}", words[0], words.size() - 1,
                       columns_.size()));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view word = words[i + 1];
      if ((word == "X") != (i == rows_))
        fail(fmt::format("{} connects {} and {}; X marks only a GPU itself", word, words[0],
                         columns_[i].name));
      if (word == "X") continue;
      const auto links = links_of(word);
      const bool is_path = word == "PIX" || word == "PXB" || word == "PHB" || word == "NODE" ||
                           word == "SYS" || word == "SOC" || word == "PSB";
      if (!is_path && (!links || !columns_[i].is_gpu))
        fail(Error(fmt::format("{} is not a connection from {} to {}", config::in_quotes(word),
                               words[0], columns_[i].name))
                 .allow("NV1, NV2, .. between GPUs, PIX, PXB, PHB, NODE, SYS"));
      if (links) gpu.links[i] = *links;
      if (!columns_[i].is_gpu && (word == "PIX" || word == "PXB" || word == "PSB"))
        parts_.nics[i - gpus_].near_gpus.push_back(rows_);
    }
    ++rows_;
  }

  // Number of links in a cell: "NV18" gives 18.
  static std::optional<int> links_of(std::string_view word) {
    if (!word.starts_with("NV") || word.size() < 3) return std::nullopt;
    const std::optional<int> links = base::parse_number<int>(word.substr(2));
    if (!links || *links < 1 || *links > 100) return std::nullopt;
    return links;
  }

  void check_symmetric() const {
    for (std::size_t a = 0; a < gpus_; ++a)
      for (const auto& [b, links] : parts_.gpus[a].links) {
        const auto back = parts_.gpus[b].links.find(a);
        if (back == parts_.gpus[b].links.end() || back->second != links)
          parts_.source.fail(
              parts_.gpus[a].line,
              fmt::format("NV{} leads from {} to {}, but the reverse direction at line {} differs",
                          links, parts_.gpus[a].name, parts_.gpus[b].name, parts_.gpus[b].line));
      }
  }

  NodeParts parts_;
  std::vector<Column> columns_;
  std::size_t gpus_ = 0;
  std::size_t rows_ = 0;
  int header_line_ = 0;
};

}  // namespace

NodeParts read_smi_matrix(SourceText source) { return SmiMatrixReader(std::move(source)).read(); }

}  // namespace pipewright::cluster
