#pragma once

#include <string>

// Parts of the program that live in shared libraries of their own, so that only commands that use
// them load the large third-party libraries they depend on. Each part has one entry point with C
// linkage, which returns the part's table of functions:
//
// extern "C" const void* pipewright_module();
//
// Other code of the program that a part needs is taken from the running program. Binaries that link
// the parts statically (tests, benchmarks) do not use this header.
namespace pipewright::modules {

// Loads libpipewright_NAME.so and returns its table of functions. The library stays loaded. It is
// looked up beside the program (build tree), then in the library folder beside the program's folder
// (installation). Throws std::runtime_error with both paths if it is missing.
const void* open(const std::string& name);

template <class Table>
const Table& table(const char* name) {
  static const Table* const functions = static_cast<const Table*>(open(name));
  return *functions;
}

}  // namespace pipewright::modules
