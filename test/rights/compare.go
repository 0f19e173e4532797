package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

// serviceAccounts is how the names of all service accounts begin.
const serviceAccounts = "system:serviceaccount:"

// event is what is of interest of an event in an audit log (audit.k8s.io/v1).
type event struct {
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Verb      string `json:"verb"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	RequestURI     string    `json:"requestURI"`
	Received       time.Time `json:"requestReceivedTimestamp"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// resource is what it is about, with its subresource.
func (e event) resource() string {
	if e.ObjectRef.Subresource == "" {
		return e.ObjectRef.Resource
	}
	return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
}

// comparison compares the listed rights with what was done by those who had them.
type comparison struct {
	listed   []rights.Right
	used     map[use]bool
	refused  map[string]int
	total    int
	requests int
}

func newComparison(listed []rights.Right) *comparison {
	c := &comparison{listed: listed, used: map[use]bool{}, refused: map[string]int{}}
	for _, right := range listed {
		c.total += len(right.For) * len(right.APIGroups) * len(right.Resources) * len(right.Verbs)
	}
	return c
}

// readFile takes a log. What the accounts had is recorded beside it.
func (c *comparison) readFile(path string) error {
	accounts, err := granted.Read(granted.Path(filepath.Dir(path)))
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read an audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	return c.read(file, accounts)
}

// read takes a log: an event on each line. The last one may be incomplete, where its API server still runs.
func (c *comparison) read(log io.Reader, accounts []granted.Account) error {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read an audit log: %w", err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read an audit log: %w in %q", err, line)
		}
		if err := c.take(e, accounts); err != nil {
			return err
		}
	}
}

func (c *comparison) take(e event, accounts []granted.Account) error {
	user, isAccount := strings.CutPrefix(e.User.Username, serviceAccounts)
	if !isAccount || e.ObjectRef == nil {
		return nil
	}
	had := granted.At(accounts, e.User.Username, e.Received)
	if len(had) == 0 {
		return nil // such as an account of an earlier chart
	}
	if e.Annotations["authorization.k8s.io/decision"] != "allow" {
		c.refused[fmt.Sprintf("%s may not %s %s.%s in namespace %q", user, e.Verb, e.resource(), e.ObjectRef.APIGroup, e.ObjectRef.Namespace)]++
		return nil
	}
	known := false
	for _, r := range requestsOf(e) {
		uses, err := usesOf(c.listed, had, r)
		if err != nil {
			return err
		}
		for _, u := range uses {
			c.used[u], known = true, true
		}
	}
	if known {
		c.requests++
	}
	return nil
}

// problems are the rights that nothing used, and what was refused.
func (c *comparison) problems() []string {
	var all []string
	for r, right := range c.listed {
		for _, role := range right.For {
			for g, group := range right.APIGroups {
				for o, resource := range right.Resources {
					for v, verb := range right.Verbs {
						if !c.used[use{r, role, g, o, v}] {
							all = append(all, strings.Join(strings.Fields(fmt.Sprintf("unused by %s: %s %s.%s %s, scope %s %s", role, verb, resource, group, strings.Join(right.ResourceNames, " "), right.Scope, right.When)), " "))
						}
					}
				}
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(c.refused)) {
		all = append(all, fmt.Sprintf("refused %d times: %s", c.refused[what], what))
	}
	return all
}
