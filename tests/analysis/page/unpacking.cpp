#include "tests/analysis/page/unpacking.hpp"

#include <array>
#include <stdexcept>

#include <zlib.h>

#include "analysis/trace/rows.hpp"
#include "tests/analysis/page/varint_reader.hpp"

namespace pipewright::analysis::test {
std::string from_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char digit : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(digit));
    if ((held += 6) >= 8) bytes += static_cast<char>(bits >> (held -= 8) & 0xFF);
  }
  return bytes;
}

std::string gunzip(std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) throw std::runtime_error("zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string bytes;
  std::array<Bytef, 4096> buffer{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = buffer.data();
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(reinterpret_cast<char*>(buffer.data()), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("not a whole gzip file");
  return bytes;
}

Unpacked unpack(std::string_view columns, std::size_t devices) {
  VarintReader reader(columns);
  Unpacked rows;
  rows.passes.resize(devices);
  for (auto& passes : rows.passes) passes.resize(reader.count());
  using Pass = Unpacked::Pass;
  const auto column = [&](std::int64_t Pass::*member) {
    for (auto& passes : rows.passes)
      for (Pass& pass : passes) pass.*member = reader.number();
  };
  for (const auto member : {&Pass::start, &Pass::end, &Pass::released, &Pass::ready, &Pass::kind,
                            &Pass::stage, &Pass::chunk, &Pass::microbatch, &Pass::iteration})
    column(member);
  for (auto& passes : rows.passes) {
    std::int64_t free = 0;
    std::int64_t kind = 0;
    std::array<Pass, trace::pass_kinds> before{};
    for (Pass& pass : passes) {
      pass.start += free;
      free = pass.end += pass.start;
      pass.released += pass.end;
      pass.ready = pass.start - pass.ready;
      kind = pass.kind += kind;
      Pass& previous = before.at(static_cast<std::size_t>(kind));
      for (const auto member : {&Pass::stage, &Pass::chunk, &Pass::microbatch, &Pass::iteration})
        pass.*member += previous.*member;
      previous = pass;
    }
  }
  if (!reader.at_end()) throw std::runtime_error("more bytes than rows");
  return rows;
}

}  // namespace pipewright::analysis::test
