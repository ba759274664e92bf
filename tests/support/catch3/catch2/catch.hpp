#pragma once

#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

// Provides Catch2 version 3 under the names and the single header of version 2, for which tests are
// written.
namespace Catch {
namespace Matchers {

inline StringContainsMatcher Contains(const std::string& text) { return ContainsSubstring(text); }

}  // namespace Matchers

using Matchers::Contains;
using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::Matches;
using Matchers::StartsWith;

}  // namespace Catch

using Catch::Approx;
