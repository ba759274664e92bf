#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/jobs/megatron/compute_flags.hpp"
#include "sim/jobs/megatron/layout_flags.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/model_flags.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/megatron/state_flags.hpp"

namespace pipewright::jobs::megatron {
namespace {

template <std::size_t... sizes>
constexpr auto joined(const std::array<Flag, sizes>&... tables) {
  std::array<Flag, (sizes + ...)> rows{};
  auto next = rows.begin();
  ((next = std::ranges::copy(tables, next).out), ...);
  return rows;
}

// Table of flags. Those that correspond to one key are written in this order. Rules run in the
// order of their first rows.
constexpr auto flag_rows = joined(model_flags, layout_flags, compute_flags, state_flags);

}  // namespace

std::span<const Flag> flags() { return flag_rows; }

const SettingTable& known_settings() {
  static const SettingTable table({quiet_settings(), unmodelled_settings()});
  return table;
}

SettingNames setting_names() {
  return {.others = {}, .flags = flags(), .unused = {&known_settings()}};
}

bool is_known_flag(const std::string& name) {
  return std::ranges::find(flag_rows, name, &Flag::name) != flag_rows.end() ||
         known_settings().find(name) != nullptr;
}

}  // namespace pipewright::jobs::megatron
