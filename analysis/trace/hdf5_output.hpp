#pragma once

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/hdf5.hpp"

// What all writers of HDF5 files share. Included by .cpp files only.
namespace pipewright::trace {

// Turned into a TraceError, which names the file, by write_guarded().
struct WriteFailure {
  std::string why;
};

void check(herr_t status);
Handle checked(hid_t id, Handle::Closer closer);
void close(Handle& handle);

// A file, properties of a dataset: without time stamps, which would make two equal runs differ.
Handle create_file(const std::filesystem::path& path);
Handle chunked(hsize_t rows);  // compressed

// An empty text is one zero byte, for HDF5 has no type of no size.
Handle text_type_of(const std::string& text);
void write_attribute(hid_t file, const char* name, const Handle& type, const void* value);
void write_text(hid_t file, const char* name, const std::string& text);
void write_number(hid_t file, const char* name, std::uint32_t value);
void write_number(hid_t file, const char* name, double value);

// A whole dataset of one piece.
void write_dataset(hid_t file, const char* name, const Handle& type, hsize_t rows,
                   const void* data);

template <class Action>
void write_guarded(const std::filesystem::path& name, Action&& action) {
  const QuietHdf5 quiet;
  try {
    action();
  } catch (const WriteFailure& failure) {
    throw TraceError(fmt::format("{}: cannot write: {}", name.string(), failure.why));
  }
}

}  // namespace pipewright::trace
