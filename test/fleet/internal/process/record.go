package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Record is what is kept of a started process in a file of its own.
type Record struct {
	Identity

	// Component is the name under which the fleet knows the process, like
	// "remote-1/kube-apiserver".
	Component string `json:"component"`
	// Command is the program and its arguments.
	Command []string `json:"command"`
	// StartedAt is the time of the start, for people.
	StartedAt time.Time `json:"startedAt"`
}

// Records is a folder of process records, one file per component.
type Records struct {
	Dir string
}

// recordSeparator replaces the slash of a component's name in a file's name.
const recordSeparator = "__"

const recordSuffix = ".json"

// Path names the file of a component's record.
func (r Records) Path(component string) string {
	return filepath.Join(r.Dir, strings.ReplaceAll(component, "/", recordSeparator)+recordSuffix)
}

// Read returns the record of a component. Without one it returns an error that
// is fs.ErrNotExist.
func (r Records) Read(component string) (Record, error) {
	return readRecord(r.Path(component))
}

// Running returns the record of a component whose process runs. When there is
// no record, or the recorded process is gone, it returns ErrGone.
func (r Records) Running(component string) (Record, error) {
	record, err := r.Read(component)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("%s was not started: %w", component, ErrGone)
	}
	if err != nil {
		return Record{}, err
	}
	if !record.Alive() {
		return record, fmt.Errorf("%s (process %d): %w", component, record.PID, ErrGone)
	}
	return record, nil
}

// List returns all records, ordered by component. Files that cannot be read are
// joined into the error; the other records are returned all the same.
func (r Records) List() ([]Record, error) {
	paths, err := filepath.Glob(filepath.Join(r.Dir, "*"+recordSuffix))
	if err != nil {
		return nil, fmt.Errorf("list the process records: %w", err)
	}
	var (
		records []Record
		errs    []error
	)
	for _, path := range paths {
		record, err := readRecord(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, record)
	}
	sort.Slice(records, func(i, j int) bool { return records[i].Component < records[j].Component })
	return records, errors.Join(errs...)
}

// Remove deletes the record of a component; a missing one is no error.
func (r Records) Remove(component string) error {
	err := os.Remove(r.Path(component))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the process record of %s: %w", component, err)
	}
	return nil
}

func readRecord(path string) (Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Record{}, fmt.Errorf("read the process record: %w", err)
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		return Record{}, fmt.Errorf("decode the process record %s: %w", path, err)
	}
	return record, nil
}

// writeRecord replaces the file in one step, so that a reader sees the old
// record or the new one and never a part.
func writeRecord(path string, record Record) error {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the process record of %s: %w", record.Component, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of process records: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the process record of %s: %w", record.Component, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write the process record of %s: %w", record.Component, err)
	}
	return nil
}
