package histories

import (
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"
)

// ExpectedFile is the file beside the scenarios of a version of the logic that says how many runs their workflows have.
const ExpectedFile = "runs.yaml"

// Expected says by scenario and name how many runs a workflow has.
type Expected map[string]map[string]Count

// Count is how many runs a workflow has: just so many, or, where that depends on when kicks arrive, at most.
type Count struct {
	Exactly int `json:"exactly,omitempty"`
	AtMost  int `json:"atMost,omitempty"`
}

// ReadExpected reads ExpectedFile in a folder of a version of the logic. Fields that are not known are refused, and so are
// counts that are none.
func ReadExpected(folder fs.FS) (Expected, error) {
	content, err := fs.ReadFile(folder, ExpectedFile)
	if err != nil {
		return nil, fmt.Errorf("read the expected numbers of runs: %w", err)
	}
	var expected Expected
	if err := yaml.UnmarshalStrict(content, &expected); err != nil {
		return nil, fmt.Errorf("decode the expected numbers of runs: %w", err)
	}
	for scenario, workflows := range expected {
		for name, count := range workflows {
			if (count.Exactly > 0) == (count.AtMost > 0) {
				return nil, fmt.Errorf("%s: %s of scenario %s needs one of exactly and atMost, above 0", ExpectedFile, name, scenario)
			}
		}
	}
	return expected, nil
}

// Allows tells whether a workflow may have so many runs.
func (c Count) Allows(runs int) bool {
	if c.AtMost > 0 {
		return runs > 0 && runs <= c.AtMost
	}
	return runs == c.Exactly
}

// Exceeds tells whether so many runs are too many, so that it makes no sense to wait for more.
func (c Count) Exceeds(runs int) bool { return runs > max(c.Exactly, c.AtMost) }

// String says it for people.
func (c Count) String() string {
	if c.AtMost > 0 {
		return fmt.Sprintf("at most %d", c.AtMost)
	}
	return fmt.Sprintf("exactly %d", c.Exactly)
}
