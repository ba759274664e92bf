#include "sim/search/identity.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "sim/config/value.hpp"

namespace pipewright::search {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string quoted(std::string_view line, bool there) {
  return there ? config::in_quotes(line) : std::string("nothing");
}

// The first line in which two sweeps differ.
std::string difference(std::string_view found, std::string_view asked) {
  for (int number = 1;; ++number) {
    const bool more_found = !found.empty();
    const bool more_asked = !asked.empty();
    const std::string_view one = take_line(found);
    const std::string_view other = take_line(asked);
    if (one != other || more_found != more_asked)
      return fmt::format("line {} of that sweep is {}, of this one {}", number,
                         quoted(one, more_found), quoted(other, more_asked));
  }
}

std::string list(const std::vector<std::string>& values) {
  return config::shown(fmt::format("{}", fmt::join(values, ", ")));
}

}  // namespace

void check_same_search(const std::filesystem::path& file, const SearchIdentity& found,
                       const SearchIdentity& asked) {
  const auto refuse = [&](const std::string& why) {
    throw trace::TraceError(fmt::format(
        "{}: these are the results of another sweep: {}; resume with the sweep that they are of, "
        "or give this one other results",
        file.string(), why));
  };
  if (found.sweep != asked.sweep) refuse(difference(found.sweep, asked.sweep));
  // `auto` depends on the cluster, which is another file.
  const std::size_t count = std::max(found.axes.size(), asked.axes.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= found.axes.size() || i >= asked.axes.size()) refuse("it leaves other values open");
    const analysis::SearchAxis& was = found.axes[i];
    const analysis::SearchAxis& is = asked.axes[i];
    if (was.key != is.key || was.values != is.values)
      refuse(fmt::format("the values of {} were {}, and are {} of {}", config::shown(was.key),
                         list(was.values), list(is.values), config::shown(is.key)));
  }
}

}  // namespace pipewright::search
