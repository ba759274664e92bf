#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "analysis/trace/rows.hpp"

// The format on disk as data, which the writer and the reader share. format.md describes it in
// prose: both must change together, and format.md says when `version` must grow.
namespace pipewright::trace {

inline constexpr const char* format_name = "pipewright-trace";
inline constexpr std::uint32_t format_version = 4;
inline constexpr std::size_t chunk_rows = 16384;

enum class ColumnType : std::uint8_t {
  u32,
  u64,
  f64,
  pass_kind,
  transfer_kind,
  memory_category,
  collective_kind,
  wait_event,
  traffic_class,
  text  // Text of fixed length, which the table determines.
};

std::size_t width(ColumnType type);  // Returns the bytes of a value; 0 for texts.
// Returns the names of an enumeration's values; none if the type is not an enumeration.
std::span<const char* const> enum_names(ColumnType type);

struct Column {
  const char* name;
  ColumnType type;
  std::size_t
      offset;  // Offset in a row in memory; on disk, columns follow each other without gaps.
  // True for a column that older files of the same version lack; its default value is used then.
  bool is_new = false;
};
// Returns the value of a column, which must not be a text, in a row in memory.
template <class Value>
Value value_at(const void* row, const Column& column) {
  Value value;
  std::memcpy(&value, static_cast<const char*>(row) + column.offset, sizeof value);
  return value;
}

std::size_t disk_row_bytes(std::span<const Column> columns);

template <class Member>
constexpr ColumnType column_type() {
  if constexpr (std::is_same_v<Member, std::uint32_t>) return ColumnType::u32;
  if constexpr (std::is_same_v<Member, std::uint64_t>) return ColumnType::u64;
  if constexpr (std::is_same_v<Member, double>) return ColumnType::f64;
  if constexpr (std::is_same_v<Member, PassKind>) return ColumnType::pass_kind;
  if constexpr (std::is_same_v<Member, TransferKind>) return ColumnType::transfer_kind;
  if constexpr (std::is_same_v<Member, MemoryCategory>) return ColumnType::memory_category;
  if constexpr (std::is_same_v<Member, CollectiveKind>) return ColumnType::collective_kind;
  if constexpr (std::is_same_v<Member, WaitEvent>) return ColumnType::wait_event;
  if constexpr (std::is_same_v<Member, TrafficClass>) return ColumnType::traffic_class;
  if constexpr (std::is_same_v<Member, std::string>) return ColumnType::text;
}

// Returns the name of an enumeration value in files: "F", "weights".
template <class Enum>
  requires std::is_enum_v<Enum>
const char* name_of(Enum value) {
  return enum_names(column_type<Enum>())[static_cast<std::size_t>(value)];
}

#define PIPEWRIGHT_COLUMN(Row, member) \
  Column { #member, column_type<decltype(Row::member)>(), offsetof(Row, member) }

#define PIPEWRIGHT_NEW_COLUMN(Row, member) \
  Column { #member, column_type<decltype(Row::member)>(), offsetof(Row, member), true }

// Describes the HDF5 table for a type of rows: its name, and its columns in the order of the file.
template <class Row>
struct Table;

template <>
struct Table<DeviceRow> {
  static constexpr const char* name = "devices";
  static constexpr std::array columns{PIPEWRIGHT_COLUMN(DeviceRow, device),
                                      PIPEWRIGHT_COLUMN(DeviceRow, host),
                                      PIPEWRIGHT_COLUMN(DeviceRow, memory_capacity)};
};

template <>
struct Table<StageRow> {
  static constexpr const char* name = "stages";
  static constexpr std::array columns{PIPEWRIGHT_COLUMN(StageRow, stage),
                                      PIPEWRIGHT_COLUMN(StageRow, chunk),
                                      PIPEWRIGHT_COLUMN(StageRow, device),
                                      PIPEWRIGHT_COLUMN(StageRow, recomputed),
                                      PIPEWRIGHT_COLUMN(StageRow, waits_f),
                                      PIPEWRIGHT_COLUMN(StageRow, waits_i),
                                      PIPEWRIGHT_COLUMN(StageRow, waits_w),
                                      PIPEWRIGHT_COLUMN(StageRow, waits_b),
                                      PIPEWRIGHT_COLUMN(StageRow, waits_r),
                                      PIPEWRIGHT_NEW_COLUMN(StageRow, waits_paired_f),
                                      PIPEWRIGHT_NEW_COLUMN(StageRow, waits_paired_b),
                                      PIPEWRIGHT_NEW_COLUMN(StageRow, waits_s),
                                      PIPEWRIGHT_NEW_COLUMN(StageRow, waits_t)};
};

template <>
struct Table<PassCollectiveRow> {
  static constexpr const char* name = "pass_collectives";
  static constexpr std::array columns{PIPEWRIGHT_COLUMN(PassCollectiveRow, device),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, group),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, operation),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, calls),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, bytes),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, seconds),
                                      PIPEWRIGHT_COLUMN(PassCollectiveRow, exposed)};
};

template <>
struct Table<PassRow> {
  static constexpr const char* name = "passes";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(PassRow, device),    PIPEWRIGHT_COLUMN(PassRow, stage),
      PIPEWRIGHT_COLUMN(PassRow, chunk),     PIPEWRIGHT_COLUMN(PassRow, microbatch),
      PIPEWRIGHT_COLUMN(PassRow, iteration), PIPEWRIGHT_COLUMN(PassRow, kind),
      PIPEWRIGHT_COLUMN(PassRow, sent),      PIPEWRIGHT_COLUMN(PassRow, ready),
      PIPEWRIGHT_COLUMN(PassRow, start),     PIPEWRIGHT_COLUMN(PassRow, end),
      PIPEWRIGHT_COLUMN(PassRow, released)};
};

template <>
struct Table<TransferRow> {
  static constexpr const char* name = "transfers";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(TransferRow, source), PIPEWRIGHT_COLUMN(TransferRow, destination),
      PIPEWRIGHT_COLUMN(TransferRow, stage),  PIPEWRIGHT_COLUMN(TransferRow, microbatch),
      PIPEWRIGHT_COLUMN(TransferRow, kind),   PIPEWRIGHT_COLUMN(TransferRow, bytes),
      PIPEWRIGHT_COLUMN(TransferRow, posted), PIPEWRIGHT_COLUMN(TransferRow, start),
      PIPEWRIGHT_COLUMN(TransferRow, end)};
};

template <>
struct Table<MemoryRow> {
  static constexpr const char* name = "memory";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(MemoryRow, device), PIPEWRIGHT_COLUMN(MemoryRow, category),
      PIPEWRIGHT_COLUMN(MemoryRow, time), PIPEWRIGHT_COLUMN(MemoryRow, bytes)};
};

template <>
struct Table<CollectiveRow> {
  static constexpr const char* name = "collectives";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(CollectiveRow, device),    PIPEWRIGHT_COLUMN(CollectiveRow, stage),
      PIPEWRIGHT_COLUMN(CollectiveRow, iteration), PIPEWRIGHT_COLUMN(CollectiveRow, kind),
      PIPEWRIGHT_COLUMN(CollectiveRow, bytes),     PIPEWRIGHT_COLUMN(CollectiveRow, posted),
      PIPEWRIGHT_COLUMN(CollectiveRow, start),     PIPEWRIGHT_COLUMN(CollectiveRow, end)};
};

template <>
struct Table<StepRow> {
  static constexpr const char* name = "steps";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(StepRow, device),       PIPEWRIGHT_COLUMN(StepRow, iteration),
      PIPEWRIGHT_COLUMN(StepRow, start),        PIPEWRIGHT_COLUMN(StepRow, reduced),
      PIPEWRIGHT_COLUMN(StepRow, synchronized), PIPEWRIGHT_COLUMN(StepRow, updated),
      PIPEWRIGHT_COLUMN(StepRow, end),          PIPEWRIGHT_COLUMN(StepRow, gathering)};
};

template <>
struct Table<WaitRow> {
  static constexpr const char* name = "waits";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(WaitRow, iteration), PIPEWRIGHT_COLUMN(WaitRow, event),
      PIPEWRIGHT_COLUMN(WaitRow, stage),     PIPEWRIGHT_COLUMN(WaitRow, replica),
      PIPEWRIGHT_COLUMN(WaitRow, device),    PIPEWRIGHT_COLUMN(WaitRow, time)};
};

template <>
struct Table<LinkRow> {
  static constexpr const char* name = "links";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(LinkRow, link), PIPEWRIGHT_COLUMN(LinkRow, name),
      PIPEWRIGHT_COLUMN(LinkRow, link_class), PIPEWRIGHT_COLUMN(LinkRow, alike),
      PIPEWRIGHT_COLUMN(LinkRow, bandwidth)};
};

template <>
struct Table<LinkUseRow> {
  static constexpr const char* name = "link_use";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(LinkUseRow, link),  PIPEWRIGHT_COLUMN(LinkUseRow, traffic),
      PIPEWRIGHT_COLUMN(LinkUseRow, start), PIPEWRIGHT_COLUMN(LinkUseRow, end),
      PIPEWRIGHT_COLUMN(LinkUseRow, bytes), PIPEWRIGHT_COLUMN(LinkUseRow, flows),
      PIPEWRIGHT_COLUMN(LinkUseRow, waited)};
};

template <>
struct Table<PathRow> {
  static constexpr const char* name = "paths";
  static constexpr std::array columns{
      PIPEWRIGHT_COLUMN(PathRow, traffic),     PIPEWRIGHT_COLUMN(PathRow, source),
      PIPEWRIGHT_COLUMN(PathRow, destination), PIPEWRIGHT_COLUMN(PathRow, stage),
      PIPEWRIGHT_COLUMN(PathRow, link),        PIPEWRIGHT_COLUMN(PathRow, alone)};
};

#undef PIPEWRIGHT_COLUMN

// Root attributes with the fields of RunInfo. `cluster`, which may have many megabytes, is a
// dataset instead.
template <class Value>
struct RunField {
  const char* name;
  Value RunInfo::*member;
  bool is_optional = false;  // Older files may lack the attribute.
};
inline constexpr std::array<RunField<std::string>, 7> text_fields{
    {{"schedule", &RunInfo::schedule},
     {"engine", &RunInfo::engine},
     {"p2p", &RunInfo::p2p},
     {"network", &RunInfo::network},
     {"job", &RunInfo::job, true},
     {"scenario", &RunInfo::scenario},
     {"versions", &RunInfo::versions}}};
inline constexpr std::array<RunField<std::uint32_t>, 8> count_fields{
    {{"devices", &RunInfo::devices},
     {"chunks", &RunInfo::chunks},
     {"microbatches", &RunInfo::microbatches},
     {"slices", &RunInfo::slices},
     {"iterations", &RunInfo::iterations},
     {"replicas", &RunInfo::replicas},
     {"lanes", &RunInfo::ranks_per_stage},
     {"gpus", &RunInfo::gpus, true}}};
inline constexpr std::array<RunField<double>, 7> real_fields{
    {{"samples_per_microbatch", &RunInfo::samples_per_microbatch},
     {"tokens_per_microbatch", &RunInfo::tokens_per_microbatch},
     {"model_flops", &RunInfo::model_flops},
     {"full_attention_flops", &RunInfo::full_attention_flops},
     {"hardware_flops", &RunInfo::hardware_flops},
     {"peak_flops", &RunInfo::peak_flops},
     {"precision_peak_flops", &RunInfo::precision_peak_flops}}};

// Numbers of an expected error, which are members of its JSON object. The HDF5 attributes have the
// prefix expected_error_.
struct ErrorField {
  const char* name;
  const char* attribute;
  double ExpectedError::*member;
};
inline constexpr std::array<ErrorField, 5> error_reals{
    {{"low", "expected_error_low", &ExpectedError::low},
     {"high", "expected_error_high", &ExpectedError::high},
     {"nominal", "expected_error_nominal", &ExpectedError::nominal},
     {"median", "expected_error_median", &ExpectedError::median},
     {"scatter", "expected_error_scatter", &ExpectedError::scatter}}};
inline constexpr const char* error_basis_field = "expected_error_basis";
inline constexpr const char* error_rows_field = "expected_error_rows";
// Names of the HDF5 attributes for the keys of RunInfo::evidence, which older files lack.
inline constexpr const char* assumed_field = "assumed";  // Keys, separated by blanks.
inline constexpr const char* assumed_gpu_field = "assumed_gpu";
std::string joined_keys(const Evidence& evidence);
std::vector<std::string> split_keys(const std::string& keys);

}  // namespace pipewright::trace
