package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"
)

// measureDatabase reads the size of Temporal's databases, and how much was done in them so far.
func (e *environment) measureDatabase(ctx context.Context) (record.Database, error) {
	updates, err := e.countStateUpdates(ctx)
	if err != nil {
		return record.Database{}, err
	}
	if e.postgres == nil {
		d := record.Database{StateUpdates: updates}
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(e.fleet.Temporal.Database + suffix); err == nil {
				d.Bytes += info.Size()
			}
		}
		return d, nil
	}
	answer, err := e.postgres.Query(ctx, `SELECT coalesce(sum(pg_database_size(datid)), 0), coalesce(sum(xact_commit + xact_rollback), 0),
		coalesce(sum(tup_inserted + tup_updated + tup_deleted), 0) FROM pg_stat_database WHERE datname LIKE 'temporal%'`)
	if err != nil {
		return record.Database{}, err
	}
	var numbers [3]int64
	for i, text := range strings.SplitN(answer, "|", len(numbers)) {
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return record.Database{}, fmt.Errorf("read what PostgreSQL counted, %q: %w", answer, err)
		}
	}
	return record.Database{Bytes: numbers[0], Transactions: numbers[1], Rows: numbers[2], StateUpdates: updates}, nil
}
