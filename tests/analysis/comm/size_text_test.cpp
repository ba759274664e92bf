#include "analysis/comm/size_text.hpp"

#include <catch2/catch.hpp>

namespace pipewright::analysis {

TEST_CASE("sizes of benchmarks are written exactly, in the largest whole unit", "[comm]") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(8) == "8 B");
  CHECK(size_text(1000) == "1000 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(1024) == "1 KiB");
  CHECK(size_text(1536) == "1536 B");
  CHECK(size_text(3 << 20) == "3 MiB");
  CHECK(size_text(1025 << 10) == "1025 KiB");
  CHECK(size_text(std::uint64_t{16} << 30) == "16 GiB");
  CHECK(size_text(std::uint64_t{1} << 63) == "8 EiB");
}

}  // namespace pipewright::analysis
