#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <stdlib.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// A folder for as long as the program lives.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipewright-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::string temporary_file(const std::string& name, const std::function<std::string()>& text) {
  static const Folder folder;
  const auto file = folder.path() / name;
  if (!std::filesystem::exists(file)) trace::write_file(file, text());
  return file.string();
}

std::string cluster_of(const std::string& kind, std::uint32_t nodes) {
  return temporary_file(fmt::format("{}-{}.xml", kind, nodes), [&] {
    const cluster::NodeKind node = cluster::find_node_kind(kind);
    return cluster::make_platform({.nodes = {{&node, nodes}}});
  });
}

std::string cluster_with_nics(const std::string& kind, std::uint32_t nodes, double bandwidth,
                              std::uint32_t leaf_nodes) {
  const std::string name =
      fmt::format("{}-{}-nic-{}-leaf-{}.xml", kind, nodes, bandwidth, leaf_nodes);
  return temporary_file(name, [&] {
    cluster::NodeKind node = cluster::find_node_kind(kind);
    node.nic_bandwidth = bandwidth;
    return cluster::make_platform({.nodes = {{&node, nodes}}, .leaf_nodes = leaf_nodes});
  });
}

}  // namespace pipewright::accuracy
