#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "analysis/trace/tables.hpp"

namespace pipewright::trace {

// Encodes a chunk of rows as HDF5's filters shuffle and deflate do, bit by bit compatible: all
// first bytes of the first column, then all its second bytes, and so on, as one zlib stream.
//
// This takes a quarter of the filters' time for two reasons. Columns go straight from the rows to
// byte planes, without a packed copy. And the low mantissa bytes of times are noise, on which
// deflate spends most of its time without gain, so such planes are stored uncompressed.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(std::span<const Column> columns);
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // Encodes `count` <= chunk_rows rows that start at `rows`, `stride` bytes apart; the rest of the
  // chunk is zero. The result is valid until the next call.
  std::span<const unsigned char> encode(const void* rows, std::size_t stride, std::size_t count);

 private:
  struct Stream;
  std::span<const Column> columns_;
  std::vector<unsigned char> planes_;
  std::vector<unsigned char> encoded_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pipewright::trace
