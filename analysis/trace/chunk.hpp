#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "analysis/trace/tables.hpp"

namespace pipewright::trace {

// Makes the stored form of a chunk of rows, bit-compatible with HDF5's shuffle + deflate filters:
// all first bytes of the first column, all its second bytes, and so on, as one zlib stream.
//
// Doing this here takes a quarter of the filters' time, for two reasons. Columns go straight from
// the rows to byte planes, without a packed copy between. And the low mantissa bytes of times are
// noise, on which deflate spends most of its time to gain nothing: such planes are stored.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(std::span<const Column> columns);
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // `rows` points at `count` <= chunk_rows rows, `stride` bytes apart; the rest of the chunk is
  // zero. The result is valid until the next call.
  std::span<const unsigned char> encode(const void* rows, std::size_t stride, std::size_t count);

 private:
  struct Stream;
  std::span<const Column> columns_;
  std::vector<unsigned char> planes_;
  std::vector<unsigned char> encoded_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pipewright::trace
