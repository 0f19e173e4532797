// Package granted says which rights accounts had on a fleet, and when: tests that make accounts record it beside the audit
// log of the control plane, and the comparison with what was used (test/rights) reads it.
package granted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

// Account is what an account got at a time, beside what it had, or that it lost all.
type Account struct {
	At time.Time `json:"at"`
	// User is what API servers call the account.
	User string `json:"user"`
	// Lost is whether it has no rights any more. The other fields are empty then.
	Lost bool `json:"lost,omitempty"`
	// Instance is what its rights depend on, and Namespaces are where they are, by scope.
	Instance   rights.Instance     `json:"instance"`
	Namespaces map[string][]string `json:"namespaces,omitempty"`
	// Everything is whether it is bound to cluster-admin besides, so that its requests say nothing about the list.
	Everything bool `json:"everything,omitempty"`
}

// Path is the file with the accounts of the cluster that has its files in a folder.
func Path(folder string) string { return filepath.Join(folder, "granted.json") }

// Record adds accounts to the file, a line for each, as of now.
func Record(path string, accounts ...Account) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record rights: %w", err)
	}
	lines := json.NewEncoder(file)
	for _, account := range accounts {
		account.At = time.Now()
		if err := lines.Encode(account); err != nil {
			return errors.Join(fmt.Errorf("record rights: %w", err), file.Close())
		}
	}
	return file.Close()
}

// Read returns what was recorded in the file, the oldest first; nothing where there is no file.
func Read(path string) ([]Account, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recorded rights: %w", err)
	}
	defer func() { _ = file.Close() }()
	var all []Account
	for lines := json.NewDecoder(file); ; {
		var account Account
		switch err := lines.Decode(&account); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read recorded rights in %s: %w", path, err)
		}
		all = append(all, account)
	}
}

// At are the rights that a user had at a time, of all that were recorded.
func At(all []Account, user string, at time.Time) []Account {
	var have []Account
	for _, account := range all {
		switch {
		case account.User != user || account.At.After(at):
		case account.Lost:
			have = nil
		default:
			have = append(have, account)
		}
	}
	return have
}
