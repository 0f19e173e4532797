// Command rights reads the audit logs of the control planes of a test run, and says which rights nothing used, and what
// was refused.
//
//	go run ./test/rights AUDIT.LOG...
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	granted, err := rights.All()
	if err != nil {
		return err
	}
	comparison := newComparison(granted)
	for _, path := range paths {
		if err := comparison.readFile(path); err != nil {
			return err
		}
	}
	problems := comparison.problems()
	for _, problem := range problems {
		fmt.Println(problem)
	}
	fmt.Printf("rights: %d granted, %d requests with them, %d problems\n", comparison.total, comparison.requests, len(problems))
	if len(problems) > 0 {
		return errors.New("the rights that the chart grants (deploy/rights/rights.yaml) are not those that are used")
	}
	return nil
}
