#include "analysis/trace/chunk.hpp"

#include <array>
#include <cstring>

#include <catch2/catch.hpp>
#include <zlib.h>

#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using trace::chunk_rows;

namespace {

std::vector<unsigned char> inflate_chunk(std::span<const unsigned char> stored, std::size_t size) {
  std::vector<unsigned char> bytes(size);
  uLongf length = size;
  REQUIRE(uncompress(bytes.data(), &length, stored.data(), stored.size()) == Z_OK);
  REQUIRE(length == size);
  return bytes;
}

}  // namespace

TEST_CASE("a stored chunk has the first bytes of all rows, then the second bytes", "[trace]") {
  const auto& columns = trace::Table<trace::MemoryRow>::columns;  // u32, enum, f64, u64
  const std::size_t count = GENERATE(as<std::size_t>(), 1, 5, 8, 1001, chunk_rows);
  const trace::Trace trace = test::random_trace(3, 8, chunk_rows);
  trace::ChunkEncoder encoder(columns);
  // The encoder's buffer must not keep rows of a full chunk when a shorter chunk follows.
  encoder.encode(trace.memory.data(), sizeof(trace::MemoryRow), chunk_rows);
  const auto stored = encoder.encode(trace.memory.data(), sizeof(trace::MemoryRow), count);
  const auto bytes = inflate_chunk(stored, 21 * chunk_rows);

  std::size_t mismatches = 0;
  for (std::size_t row = 0; row < chunk_rows; ++row) {
    std::array<unsigned char, 21> expected{};
    if (row < count) {
      const trace::MemoryRow& source = trace.memory[row];
      std::memcpy(expected.data(), &source.device, 4);
      expected[4] = static_cast<unsigned char>(source.category);
      std::memcpy(&expected[5], &source.time, 8);
      std::memcpy(&expected[13], &source.bytes, 8);
    }
    for (std::size_t byte = 0; byte < 21; ++byte)
      if (bytes[byte * chunk_rows + row] != expected[byte]) ++mismatches;
  }
  CHECK(mismatches == 0);
}

TEST_CASE("noise does not grow, and regular rows shrink", "[trace]") {
  const auto& columns = trace::Table<trace::PassRow>::columns;
  trace::ChunkEncoder encoder(columns);
  const std::size_t plain = trace::disk_row_bytes(columns) * chunk_rows;
  std::vector<trace::PassRow> rows(chunk_rows);
  CHECK(encoder.encode(rows.data(), sizeof rows[0], rows.size()).size() < plain / 100);
  rows = test::random_trace(4, 8, chunk_rows).passes;
  CHECK(encoder.encode(rows.data(), sizeof rows[0], rows.size()).size() < plain * 2 / 3);
}
