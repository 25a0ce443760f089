"""Sums up an exported table with DuckDB: one JSON list per rank and operation."""

import json
import sys

import duckdb

# An empty column of a text file has no type of its own.
QUERY = """
    select rank, operation, count(*), sum(leave_ns - enter_ns),
           coalesce(sum(cast(bytes_sent as bigint)), 0), coalesce(sum(cast(bytes_received as bigint)), 0),
           coalesce(sum(cast(line as bigint)), 0)
    from '{}' group by all order by all
"""

for row in duckdb.sql(QUERY.format(sys.argv[1])).fetchall():
    print(json.dumps([int(value) if index != 1 else value for index, value in enumerate(row)]))
