#pragma once

#include <string>

#include "analysis/compare/pass_order.hpp"

namespace pipewright::analysis {

std::string console_text(const OrderComparison& comparison, const std::string& first,
                         const std::string& second);
std::string json_text(const OrderComparison& comparison, const std::string& first,
                      const std::string& second);

}  // namespace pipewright::analysis
