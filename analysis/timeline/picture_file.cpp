#include "analysis/timeline/picture_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {

void write_picture(const std::filesystem::path& file, const std::string& bytes) {
  trace::PartialFile partial(file);
  std::ofstream stream(partial.temporary(), std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream)
    throw trace::TraceError(
        fmt::format("{}: cannot write: {}", file.string(), std::generic_category().message(errno)));
  partial.commit();
}

}  // namespace pipewright::analysis
