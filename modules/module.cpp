#include "modules/module.hpp"

#include <array>
#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

namespace pipewright::modules {

namespace fs = std::filesystem;

const void* open(const std::string& name) {
  const fs::path program_folder = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string file = fmt::format("libpipewright_{}.so", name);
  const std::array candidates{program_folder / file,
                              (program_folder / PIPEWRIGHT_MODULES / file).lexically_normal()};
  const auto& path = fs::exists(candidates[0]) ? candidates[0] : candidates[1];
  if (!fs::exists(path))
    throw std::runtime_error(
        fmt::format("{}, a part of this program, is missing: neither {} nor {} exists; install or "
                    "build it again",
                    file, candidates[0].string(), candidates[1].string()));
  // SimGrid looks up some of its own symbols by name, which needs RTLD_GLOBAL.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const entry = handle == nullptr ? nullptr : dlsym(handle, "pipewright_module");
  if (entry == nullptr)
    throw std::runtime_error(fmt::format(
        "a part of this program cannot be loaded: {}; install or build it again", dlerror()));
  return reinterpret_cast<const void* (*)()>(entry)();
}

}  // namespace pipewright::modules
