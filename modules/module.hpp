#pragma once

#include <string>

// Parts of the program that stand in files of their own, so that only the commands that use them
// load the large libraries under them. A part has one entry, of C linkage:
//
//   extern "C" const void* pipewright_module();   // its table of functions
//
// and takes all else of ours from the program. Whoever links the parts themselves (tests,
// benchmarks) needs nothing of this.
namespace pipewright::modules {

// What the entry of libpipewright_NAME.so returns, which stays open. The file stands beside the
// program, as it is built, or in the folder for libraries beside the program's, as it is installed.
// Throws std::runtime_error that names the places looked at.
const void* open(const std::string& name);

template <class Table>
const Table& table(const char* name) {
  static const Table* const opened = static_cast<const Table*>(open(name));
  return *opened;
}

}  // namespace pipewright::modules
