// The page holds tables of varints, packed with gzip and base64. page.tables holds their schema, with
// the base that each column leaves out. columns.hpp describes both formats.

export async function unpackBytes(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Decodes signed varints from position `at` into `values`, and returns the position after them.
// `values` always has the same type, which keeps the loop fast.
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
    let value = bits;  // bit operations are limited to 32 bits
    for (let weight = 2 ** 28; byte >= 0x80; weight *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * weight;
    }
    values[i] = bits & 1 ? -(value + 1) / 2 : value / 2;
  }
  return at;
}

// Decodes the tables of a run, by name: {count, first, and each column}. `first` holds the first row
// of each group, followed by the number of rows. `packed` holds the bytes of each table.
export function decodeTables(schema, packed) {
  const tables = {};
  for (const { name, columns } of schema) tables[name] = decodeTable(columns, packed[name], tables);
  // While decoding, all columns are Float64Array, since loops over a single type are fast; at the
  // end they are converted to the types of the schema.
  const types = { Uint8Array, Uint32Array, Int32Array, Float64Array };
  for (const { name, columns } of schema)
    for (const { name: column, type } of columns)
      if (type !== "Float64Array") tables[name][column] = new types[type](tables[name][column]);
  return tables;
}

function decodeTable(columns, bytes, tables) {
  let at = 0;
  const unsigned = () => {
    let value = 0;
    for (let weight = 1; ; weight *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * weight;
      if (byte < 0x80) return value;
    }
  };
  const first = new Uint32Array(unsigned() + 1);
  for (let group = 1; group < first.length; ++group) first[group] = first[group - 1] + unsigned();
  const table = { count: first[first.length - 1], first };
  const read = () => {
    const values = new Float64Array(table.count);
    at = readSigned(bytes, at, values);
    return values;
  };
  for (const { name, base, stored } of columns) {
    const choiceOf = base.kind === "nearest" ? read() : null;
    const values = (table[name] = stored ? read() : new Float64Array(table.count));
    if (choiceOf) addNearest(values, choiceOf, base.choices, table, tables);
    else addBase(values, base, table, tables);
  }
  return table;
}

function addBase(values, { kind, columns = [], key, table: baseTable }, table, tables) {
  if (kind === "row")
    for (const column of columns) addRows(values, table[column]);
  if (kind === "at")
    for (const column of columns) addRowsAt(values, tables[baseTable][column], table[key]);
  if (kind === "before")
    addBefore(values, columns.map((column) => table[column]), table[key], table.first);
}

function addNearest(values, choiceOf, choices, table, tables) {
  choices.forEach((choice, number) => {
    const sums = new Float64Array(table.count);
    addBase(sums, choice, table, tables);
    for (let i = 0; i < values.length; ++i) if (choiceOf[i] === number) values[i] += sums[i];
  });
}

function addRows(values, source) {
  for (let i = 0; i < values.length; ++i) values[i] += source[i];
}

function addRowsAt(values, source, rows) {
  for (let i = 0; i < values.length; ++i) if (rows[i] >= 0) values[i] += source[rows[i]];
}

// Adds to each value the source column's value in the previous row of the group, or, with `key`, in
// the previous row of the group whose key is equal. A column may be its own source, since rows are
// completed in order.
function addBefore(values, [source, secondSource], key, first) {
  for (let group = 0; group + 1 < first.length; ++group) {
    const end = first[group + 1];
    if (key) {
      const last = new Float64Array(256);  // a key is a byte
      for (let i = first[group]; i < end; ++i) {
        values[i] += last[key[i]];
        last[key[i]] = source[i];
      }
    } else {
      for (let i = first[group] + 1; i < end; ++i)
        values[i] += source[i - 1] + (secondSource ? secondSource[i - 1] : 0);
    }
  }
}
