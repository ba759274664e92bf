#pragma once

#include <string>
#include <string_view>

#include "analysis/palette.hpp"

namespace pipewright::analysis {

// The numbers of events in the header.
enum class PajeEvent : int {
  define_container_type = 0,
  define_variable_type = 1,
  define_state_type = 2,
  define_link_type = 4,
  define_entity_value = 5,
  create_container = 6,
  destroy_container = 7,
  set_variable = 8,
  push_state = 12,
  pop_state = 13,
  start_link = 15,
  end_link = 16,
};

std::string paje_header();

// In quotes, of which it can have none inside.
std::string paje_text(std::string_view words);
std::string paje_colour(Colour colour);  // "0.337 0.706 0.914", quoted

}  // namespace pipewright::analysis
