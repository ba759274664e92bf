#include "analysis/export/paje_header.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "analysis/timeline/text.hpp"

namespace pipewright::analysis {
namespace {

struct Definition {
  const char* name;
  PajeEvent event;
  std::span<const char* const> fields;
};

constexpr std::array type{"Alias string", "Type string", "Name string"};
constexpr std::array coloured_type{"Alias string", "Type string", "Name string", "Color color"};
constexpr std::array link_type{"Alias string", "Type string", "StartContainerType string",
                               "EndContainerType string", "Name string"};
constexpr std::array create{"Time date", "Alias string", "Type string", "Container string",
                            "Name string"};
constexpr std::array destroy{"Time date", "Type string", "Name string"};
constexpr std::array variable{"Time date", "Type string", "Container string", "Value double"};
constexpr std::array state{"Time date", "Type string", "Container string", "Value string"};
constexpr std::array no_state{"Time date", "Type string", "Container string"};
constexpr std::array start_link{"Time date",    "Type string",           "Container string",
                                "Value string", "StartContainer string", "Key string"};
constexpr std::array end_link{"Time date",    "Type string",         "Container string",
                              "Value string", "EndContainer string", "Key string"};

constexpr std::array<Definition, 12> definitions{{
    {"PajeDefineContainerType", PajeEvent::define_container_type, type},
    {"PajeDefineVariableType", PajeEvent::define_variable_type, coloured_type},
    {"PajeDefineStateType", PajeEvent::define_state_type, type},
    {"PajeDefineLinkType", PajeEvent::define_link_type, link_type},
    {"PajeDefineEntityValue", PajeEvent::define_entity_value, coloured_type},
    {"PajeCreateContainer", PajeEvent::create_container, create},
    {"PajeDestroyContainer", PajeEvent::destroy_container, destroy},
    {"PajeSetVariable", PajeEvent::set_variable, variable},
    {"PajePushState", PajeEvent::push_state, state},
    {"PajePopState", PajeEvent::pop_state, no_state},
    {"PajeStartLink", PajeEvent::start_link, start_link},
    {"PajeEndLink", PajeEvent::end_link, end_link},
}};

}  // namespace

std::string paje_header() {
  std::string header;
  for (const Definition& definition : definitions) {
    header += fmt::format("%EventDef {} {}\n", definition.name, static_cast<int>(definition.event));
    for (const char* field : definition.fields) header += fmt::format("%       {}\n", field);
    header += "%EndEventDef\n";
  }
  return header;
}

std::string paje_text(std::string_view words) {
  std::string text = drawable(words);
  std::replace(text.begin(), text.end(), '"', '\'');
  return '"' + text + '"';
}

std::string paje_colour(Colour colour) {
  return fmt::format("\"{:.3f} {:.3f} {:.3f}\"", colour.red, colour.green, colour.blue);
}

}  // namespace pipewright::analysis
