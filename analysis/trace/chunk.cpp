#include "analysis/trace/chunk.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <zlib.h>

namespace pipewright::trace {
namespace {

constexpr int stored_level = 0;
constexpr int fastest_level = 1;

// Transposes an 8 x 8 block of bytes: afterwards word k holds byte k of every word (Hacker's
// Delight, 7-3, with bytes in place of bits).
void transpose_bytes(std::array<std::uint64_t, 8>& word) {
  const auto swap_blocks = [&](std::size_t distance, unsigned shift, std::uint64_t low) {
    for (std::size_t i = 0; i < 8; ++i) {
      if ((i & distance) != 0) continue;
      const std::uint64_t changed = ((word[i] >> shift) ^ word[i + distance]) & low;
      word[i] ^= changed << shift;
      word[i + distance] ^= changed;
    }
  };
  swap_blocks(4, 32, 0x00000000FFFFFFFF);
  swap_blocks(2, 16, 0x0000FFFF0000FFFF);
  swap_blocks(1, 8, 0x00FF00FF00FF00FF);
}

// Spreads the values of a column over its byte planes, lowest byte first.
template <class Value>
void spread_over_planes(const unsigned char* source, std::size_t stride, std::size_t count,
                        unsigned char* planes) {
  for (std::size_t row = 0; row < count; row += 8) {
    std::array<std::uint64_t, 8> words{};
    const std::size_t rows = std::min<std::size_t>(8, count - row);
    for (std::size_t i = 0; i < rows; ++i) {
      Value value;
      std::memcpy(&value, source + (row + i) * stride, sizeof value);
      words[i] = value;
    }
    transpose_bytes(words);
    for (std::size_t byte = 0; byte < sizeof(Value); ++byte)
      std::memcpy(planes + byte * chunk_rows + row, &words[byte], 8);
  }
}

// Returns true if most byte values occur in a sample of the plane, so that deflate would gain
// little.
bool is_noise(const unsigned char* plane) {
  constexpr std::size_t step = chunk_rows / 512;
  std::array<bool, 256> occurs{};
  int distinct = 0;
  for (std::size_t i = 0; i < chunk_rows; i += step) {
    if (!occurs[plane[i]]) ++distinct;
    occurs[plane[i]] = true;
  }
  return distinct > 128;
}

}  // namespace

struct ChunkEncoder::Stream : z_stream {
  Stream() : z_stream{} {
    if (deflateInit(this, fastest_level) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { deflateEnd(this); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void feed(unsigned char* plane, int level) {
    avail_in = 0;
    int status = Z_OK;
    if (level != level_) status = deflateParams(this, level, Z_DEFAULT_STRATEGY);
    level_ = level;
    next_in = plane;
    avail_in = chunk_rows;
    if (status == Z_OK) status = deflate(this, Z_NO_FLUSH);
    if (status != Z_OK || avail_in != 0) throw std::logic_error("trace chunk: deflate failed");
  }

  int level_ = fastest_level;
};

ChunkEncoder::ChunkEncoder(std::span<const Column> columns)
    : columns_(columns),
      planes_(disk_row_bytes(columns) * chunk_rows),
      stream_(std::make_unique<Stream>()) {
  // A change of the compression level may end a deflate block early, which costs a few bytes per
  // plane.
  encoded_.resize(deflateBound(stream_.get(), planes_.size()) + 64 * disk_row_bytes(columns));
}

ChunkEncoder::~ChunkEncoder() = default;

std::span<const unsigned char> ChunkEncoder::encode(const void* rows, std::size_t stride,
                                                    std::size_t count) {
  if (count < chunk_rows) std::fill(planes_.begin(), planes_.end(), 0);
  unsigned char* plane = planes_.data();
  for (const Column& column : columns_) {
    const unsigned char* source = static_cast<const unsigned char*>(rows) + column.offset;
    switch (width(column.type)) {
      case 8:
        spread_over_planes<std::uint64_t>(source, stride, count, plane);
        break;
      case 4:
        spread_over_planes<std::uint32_t>(source, stride, count, plane);
        break;
      default:
        for (std::size_t row = 0; row < count; ++row) plane[row] = source[row * stride];
    }
    plane += width(column.type) * chunk_rows;
  }

  Stream& stream = *stream_;
  deflateReset(&stream);
  stream.next_out = encoded_.data();
  stream.avail_out = static_cast<uInt>(encoded_.size());
  for (std::size_t offset = 0; offset < planes_.size(); offset += chunk_rows)
    stream.feed(&planes_[offset], is_noise(&planes_[offset]) ? stored_level : fastest_level);
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
    throw std::logic_error("trace chunk: deflate did not end");
  return {encoded_.data(), stream.total_out};
}

}  // namespace pipewright::trace
