#pragma once

#include "analysis/compare/pass_order.hpp"
#include "analysis/trace/rows.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/schedule.hpp"

// What schedule a measured run followed.
namespace pipewright::cli {

analysis::PassOrder order_of(const schedules::Schedule& schedule);

// The order of passes of the first iteration. Throws schedules::Error where a stage is on two
// devices, which is more than a list of passes a device says.
schedules::Schedule measured_schedule(const trace::Trace& trace);

// The schedule of the catalog with the order of the first iteration; null if there is none.
const schedules::Entry* catalog_entry(const trace::Trace& trace);

}  // namespace pipewright::cli
