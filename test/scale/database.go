package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// database is what Temporal's databases have at the end of a phase.
type database struct {
	Bytes int64 `json:"bytes"`
	// Grown is how much came in the phase; PostgreSQL cleans up now and then, so that it may be less than nothing.
	Grown int64 `json:"grownBytes"`
	// Transactions and Rows (inserted, updated or deleted) are those of the phase; 0 with SQLite, which does not count them.
	Transactions int64 `json:"transactions,omitempty"`
	Rows         int64 `json:"rowsWritten,omitempty"`
}

// since turns what was counted from the beginning on into what came since then.
func (d database) since(before database) database {
	if d.Transactions < before.Transactions {
		// The databases were lost meanwhile, and their counters with them.
		before.Transactions, before.Rows = 0, 0
	}
	return database{Bytes: d.Bytes, Grown: d.Bytes - before.Bytes, Transactions: d.Transactions - before.Transactions, Rows: d.Rows - before.Rows}
}

// measureDatabase reads the size of Temporal's databases, and how much was done in them so far.
func (e *environment) measureDatabase(ctx context.Context) (database, error) {
	if e.postgres == nil {
		var d database
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(e.fleet.Temporal.Database + suffix); err == nil {
				d.Bytes += info.Size()
			}
		}
		return d, nil
	}
	answer, err := e.postgres.query(ctx, `SELECT coalesce(sum(pg_database_size(datid)), 0), coalesce(sum(xact_commit + xact_rollback), 0),
		coalesce(sum(tup_inserted + tup_updated + tup_deleted), 0) FROM pg_stat_database WHERE datname LIKE 'temporal%'`)
	if err != nil {
		return database{}, err
	}
	var numbers [3]int64
	for i, text := range strings.SplitN(answer, "|", len(numbers)) {
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return database{}, fmt.Errorf("read what PostgreSQL counted, %q: %w", answer, err)
		}
	}
	return database{Bytes: numbers[0], Transactions: numbers[1], Rows: numbers[2]}, nil
}
