// Command rights reads the audit logs of the control planes of a test run, with what was recorded beside them of the rights
// of accounts (package granted), and says which rights nothing used, and what was refused. A request counts for a right
// where no other right of its account allows it, and for a role where the account has the right by no other.
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
	listed, err := rights.All()
	if err != nil {
		return err
	}
	comparison := newComparison(listed)
	for _, path := range paths {
		if err := comparison.readFile(path); err != nil {
			return err
		}
	}
	problems := comparison.problems()
	for _, problem := range problems {
		fmt.Println(problem)
	}
	fmt.Printf("rights: %d granted to a role, %d requests with one of them alone, %d problems\n", comparison.total, comparison.requests, len(problems))
	if len(problems) > 0 {
		return errors.New("the rights that the chart grants (deploy/rights/rights.yaml) are not those that are used")
	}
	return nil
}
