// Rows come to the page as gzip in base64; within are varints, which varints.hpp describes.

async function unpackBytes(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Fills `values`, which is always of one type: the loop would be slow if it had to tell. Returns
// where the next number begins.
function readSigned(bytes, at, values) {
  const count = values.length;
  for (let i = 0; i < count; ++i) {
    let byte = bytes[at++];
    let bits = byte & 127;
    for (let shift = 7; byte >= 0x80 && shift < 28; shift += 7) {
      byte = bytes[at++];
      bits |= (byte & 127) << shift;
    }
    if (byte < 0x80) {
      values[i] = (bits >> 1) ^ -(bits & 1);
      continue;
    }
    let value = bits;  // bit operations would end at 2^31
    for (let weight = 2 ** 28; byte >= 0x80; weight *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * weight;
    }
    values[i] = bits & 1 ? -(value + 1) / 2 : value / 2;
  }
  return at;
}

// Readers of one number after the other.
function varints(bytes) {
  let at = 0;
  const unsigned = () => {
    let value = 0;
    let weight = 1;  // bit operations would end at 2^31
    for (;;) {
      const byte = bytes[at++];
      if (byte < 0x80) return value + byte * weight;
      value += (byte - 0x80) * weight;
      weight *= 128;
    }
  };
  const signed = () => {
    const value = unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  // As many signed numbers as `column` holds; much faster than one by one.
  let scratch = new Float64Array(0);
  const signeds = (column) => {
    const wide = column instanceof Float64Array;
    if (!wide && scratch.length < column.length) scratch = new Float64Array(column.length);
    const values = wide ? column : scratch.subarray(0, column.length);
    at = readSigned(bytes, at, values);
    if (!wide) column.set(values);
    return column;
  };
  // Where the rows of each of `count` things begin; the last is the number of rows.
  const offsets = (count) => {
    const first = new Uint32Array(count + 1);
    for (let i = 0; i < count; ++i) first[i + 1] = first[i] + unsigned();
    return first;
  };
  return { unsigned, signed, signeds, offsets };
}
