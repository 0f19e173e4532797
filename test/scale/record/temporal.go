package record

// Database is what Temporal's databases have at the end of a phase.
type Database struct {
	Bytes int64 `json:"bytes"`
	// Grown is how much came in the phase; PostgreSQL cleans up now and then, so that it may be less than nothing.
	Grown int64 `json:"grownBytes"`
	// Transactions and Rows (inserted, updated or deleted) are those of the phase; 0 with SQLite, which does not count them.
	Transactions int64 `json:"transactions,omitempty"`
	Rows         int64 `json:"rowsWritten,omitempty"`
	// StateUpdates counts how often Temporal created or updated the state of a workflow, which is what most of its time is
	// spent on. It comes from the server's own metrics.
	StateUpdates int64 `json:"workflowStateUpdates,omitempty"`
}

// Since turns what was counted from the beginning on into what came since then.
func (d Database) Since(before Database) Database {
	if d.Transactions < before.Transactions {
		// The databases were lost meanwhile, and their counters with them.
		before.Transactions, before.Rows = 0, 0
	}
	if d.StateUpdates < before.StateUpdates {
		before.StateUpdates = 0 // The server was restarted.
	}
	return Database{
		Bytes: d.Bytes, Grown: d.Bytes - before.Bytes, Transactions: d.Transactions - before.Transactions, Rows: d.Rows - before.Rows,
		StateUpdates: d.StateUpdates - before.StateUpdates,
	}
}

// History is how long the histories of one type of workflow are, with all runs of a workflow taken together.
type History struct {
	// Workflows is how many were sampled.
	Workflows int `json:"workflows"`
	// Runs, Events and Bytes are per workflow, Most is the most events that one had.
	Runs   float64 `json:"runs"`
	Events float64 `json:"events"`
	Most   int64   `json:"maxEvents"`
	Bytes  float64 `json:"bytes"`
	// InPhase are the events since the phase began, of the workflow in the middle: one that was slow does not change it.
	InPhase int64 `json:"eventsInPhase,omitempty"`
}

// Temporal says in the record what Temporal ran on.
type Temporal struct {
	Store string `json:"store"`
	// Shards is the number of history shards.
	Shards int `json:"shards"`
	// Version is PostgreSQL's.
	Version string `json:"version,omitempty"`
	// Settings are those that are not PostgreSQL's defaults.
	Settings map[string]string `json:"settings,omitempty"`
	// Note says what the figures cannot say.
	Note string `json:"note,omitempty"`
}
