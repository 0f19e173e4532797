// Command flakes reads what `go test -json` said of test runs in which a failed test was run once more, and reports
// which tests failed first and passed then. It fails where there are more than two: a run with so many says nothing.
//
//	go run ./test/flakes EVENTS.json...
package main

import (
	"fmt"
	"io"
	"os"
)

// tolerated is how many tests of a run may fail first and pass when they are run again.
const tolerated = 2

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(paths []string, out io.Writer) error {
	var flakes []flake
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("open the events of a test run: %w", err)
		}
		found, err := find(file)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		flakes = append(flakes, found...)
	}
	for _, f := range flakes {
		if _, err := fmt.Fprintf(out, "FLAKY: %s, first failure: %s\n", f.test, f.failure); err != nil {
			return err
		}
	}
	if len(flakes) > tolerated {
		return fmt.Errorf("%d tests passed only when they were run again, and at most %d may", len(flakes), tolerated)
	}
	return nil
}
