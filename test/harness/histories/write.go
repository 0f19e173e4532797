package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
)

// identity is who did something, as the product (PID@HOST@BUILD) and the SDK (PID@HOST@) call themselves, and stickyQueue
// the queue of a process (HOST:UUID).
var (
	identity    = regexp.MustCompile(`("identity": "\d+@)[^"@]*@`)
	stickyQueue = regexp.MustCompile(`("name": ")[^":]*(:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")`)
)

// Write keeps the runs of a scenario's workflows, by name, in a folder of a version of the logic. What is there of this
// scenario already stays as it is, and false is returned: a history may be that of a released version. Remove the
// scenario's folder to record it anew.
func Write(folder, scenario string, workflows map[string][]Run) (bool, error) {
	target := filepath.Join(folder, scenario)
	if _, err := os.Stat(target); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, fmt.Errorf("make the folder of histories: %w", err)
	}
	// It is complete as soon as it is there.
	incomplete, err := os.MkdirTemp(folder, "."+scenario+"-")
	if err != nil {
		return false, fmt.Errorf("make the folder of scenario %s: %w", scenario, err)
	}
	defer func() { _ = os.RemoveAll(incomplete) }()
	for name, runs := range workflows {
		for i, run := range runs {
			content, err := Encode(run)
			if err != nil {
				return false, fmt.Errorf("encode run %d of %s in scenario %s: %w", i+1, name, scenario, err)
			}
			if err := os.WriteFile(filepath.Join(incomplete, fmt.Sprintf("%s.%d.json", name, i+1)), content, 0o644); err != nil { //nolint:gosec // it is published
				return false, fmt.Errorf("write scenario %s: %w", scenario, err)
			}
		}
	}
	if err := os.Chmod(incomplete, 0o755); err != nil { //nolint:gosec // it is published
		return false, fmt.Errorf("write scenario %s: %w", scenario, err)
	}
	if err := os.Rename(incomplete, target); err != nil {
		return false, fmt.Errorf("write scenario %s: %w", scenario, err)
	}
	return true, nil
}

// Encode is the history of a run as JSON that client.HistoryFromJSON reads. It is published with the code, so the name of
// the machine that recorded it is replaced.
func Encode(run Run) ([]byte, error) {
	content, err := protojson.Marshal(run.History)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, content, "", " "); err != nil { // protojson varies its spaces on purpose
		return nil, err
	}
	text.WriteByte('\n')
	return stickyQueue.ReplaceAll(identity.ReplaceAll(text.Bytes(), []byte("${1}recorder@")), []byte("${1}recorder${2}")), nil
}
