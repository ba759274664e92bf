#include "sim/cli/guard.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {

int guarded(const char* program, const std::function<int()>& body) {
  const auto report = [&](const char* what, int status) {
    fmt::print(stderr, "{}: {}\n", program, what);
    return status;
  };
  try {
    const int status = body();
    if (std::fflush(stdout) != 0) return report("standard output: cannot write", exit_user_error);
    return status;
  } catch (const Interrupted&) {
    return report("interrupted before the end", exit_interrupted);
  } catch (const std::runtime_error& error) {
    return report(error.what(), exit_user_error);
  } catch (const std::bad_alloc&) {
    return report("not enough memory for a run of this size", exit_user_error);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}; please report it", error.what()).c_str(),
                  exit_our_fault);
  }
}

}  // namespace pipewright::cli
