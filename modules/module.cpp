#include "modules/module.hpp"

#include <array>
#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

namespace pipewright::modules {

namespace fs = std::filesystem;

const void* open(const std::string& name) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string file = fmt::format("libpipewright_{}.so", name);
  const std::array places{beside / file, (beside / PIPEWRIGHT_MODULES / file).lexically_normal()};
  const auto& place = fs::exists(places[0]) ? places[0] : places[1];
  if (!fs::exists(place))
    throw std::runtime_error(
        fmt::format("{}, a part of this program, is missing: it is neither {} nor {}; install or "
                    "build it again",
                    file, places[0].string(), places[1].string()));
  // What SimGrid has of its own is looked up by name.
  void* const opened = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const entry = opened == nullptr ? nullptr : dlsym(opened, "pipewright_module");
  if (entry == nullptr)
    throw std::runtime_error(fmt::format(
        "a part of this program cannot be loaded: {}; install or build it again", dlerror()));
  return reinterpret_cast<const void* (*)()>(entry)();
}

}  // namespace pipewright::modules
