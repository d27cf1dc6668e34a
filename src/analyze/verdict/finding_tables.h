#ifndef SONDE_ANALYZE_VERDICT_FINDING_TABLES_H_
#define SONDE_ANALYZE_VERDICT_FINDING_TABLES_H_

#include <memory>
#include <vector>

#include "store/sql_table.h"

namespace sonde {

// The tables `finding` and `finding_number`, for Database::Open(): what all
// rules say of a trace, as docs/report-json.md has it.
//
//  - The rules are asked when one of the tables is first read, once for both.
//  - A query that is out of time meanwhile has no findings, and none are kept.
//
// Without a store the tables can only be listed. For one thread.
std::vector<SqlTable> FindingTables(std::shared_ptr<const Store> store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_FINDING_TABLES_H_
