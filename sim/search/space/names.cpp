#include "sim/search/space/names.hpp"

#include <utility>

namespace pipewright::search {

std::size_t Names::add(Name name, double value) {
  const std::size_t slot = names_.size();
  slots_.try_emplace(name.name, slot);
  if (!name.key.empty()) slots_.try_emplace(name.key, slot);
  names_.push_back(std::move(name));
  values_.push_back(value);
  return slot;
}

void Names::define(const std::string& name, std::string_view expression) {
  definitions_.emplace(name, parse_expression(expression));
}

std::optional<std::size_t> Names::find(std::string_view name) const {
  const auto found = slots_.find(name);
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

const Expression* Names::definition(std::string_view name) const {
  const auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> Names::all() const {
  std::vector<std::string_view> names;
  for (const Name& name : names_)
    if (slots_.at(name.name) == static_cast<std::size_t>(&name - names_.data()))
      names.push_back(name.name);
  for (const auto& [name, expression] : definitions_) names.push_back(name);
  return names;
}

double Names::number_of(const std::string& text) {
  return texts_.try_emplace(text, static_cast<double>(texts_.size())).first->second;
}

}  // namespace pipewright::search
