package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

// accounts is how the names of the accounts begin that the chart makes in tests.
const accounts = "system:serviceaccount:kcp-system:"

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
	RequestURI     string `json:"requestURI"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// use is one verb on one resource under a right: the smallest thing that can be granted in vain.
type use struct{ right, group, resource, verb int }

// comparison compares rights with what was done.
type comparison struct {
	granted  []rights.Right
	used     map[use]bool
	refused  map[string]int
	total    int
	requests int
}

func newComparison(granted []rights.Right) *comparison {
	c := &comparison{granted: granted, used: map[use]bool{}, refused: map[string]int{}}
	for _, right := range granted {
		c.total += len(right.APIGroups) * len(right.Resources) * len(right.Verbs)
	}
	return c
}

func (c *comparison) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read an audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	return c.read(file)
}

// read takes a log: an event on each line. The last one may be incomplete, where its API server still runs.
func (c *comparison) read(log io.Reader) error {
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
		c.take(e)
	}
}

func (c *comparison) take(e event) {
	if !strings.HasPrefix(e.User.Username, accounts) || e.ObjectRef == nil {
		return
	}
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	if e.Annotations["authorization.k8s.io/decision"] != "allow" {
		c.refused[fmt.Sprintf("%s may not %s %s.%s in namespace %q", strings.TrimPrefix(e.User.Username, accounts), e.Verb, resource, e.ObjectRef.APIGroup, e.ObjectRef.Namespace)]++
		return
	}
	known := false
	for r, right := range c.granted {
		// A name that is not given is that of a LIST or WATCH by a selector, or of what is created.
		if (right.Scope == rights.ScopeCluster) != (e.ObjectRef.Namespace == "" || e.ObjectRef.Resource == "namespaces") || !named(right, e.ObjectRef.Name) {
			continue
		}
		if e.Verb == "watch" && strings.Contains(e.RequestURI, "sendInitialEvents=true") {
			// A list that is streamed; API servers before 1.32 are asked for a LIST instead.
			c.use(r, right, e.ObjectRef.APIGroup, resource, "list")
		}
		if e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated {
			// An apply of what was not there, for which the API server wants both rights.
			c.use(r, right, e.ObjectRef.APIGroup, resource, "create")
		}
		known = c.use(r, right, e.ObjectRef.APIGroup, resource, e.Verb) || known
	}
	if known {
		c.requests++
	}
}

// use notes that a right was used, where it is for that.
func (c *comparison) use(number int, right rights.Right, group, resource, verb string) bool {
	u := use{number, slices.Index(right.APIGroups, group), slices.Index(right.Resources, resource), slices.Index(right.Verbs, verb)}
	if u.group < 0 || u.resource < 0 || u.verb < 0 {
		return false
	}
	c.used[u] = true
	return true
}

// named tells whether a right is for an object of this name. Names that depend on settings are not known here.
func named(right rights.Right, name string) bool {
	return len(right.ResourceNames) == 0 || slices.ContainsFunc(right.ResourceNames, func(of string) bool {
		return of == name || strings.HasPrefix(of, "{") && name != ""
	})
}

// problems are the rights that nothing used, and what was refused.
func (c *comparison) problems() []string {
	var all []string
	for r, right := range c.granted {
		for g, group := range right.APIGroups {
			for o, resource := range right.Resources {
				for v, verb := range right.Verbs {
					if !c.used[use{r, g, o, v}] {
						all = append(all, strings.TrimSpace(fmt.Sprintf("unused: %s %s.%s %s, scope %s %s", verb, resource, group, strings.Join(right.ResourceNames, " "), right.Scope, right.When)))
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
