package cost

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
)

// bill lists what was counted, row by row, with what it may be.
type bill struct{ rows []row }

type row struct {
	work            string
	remote, allowed int
	// control counts the writes to the control plane, by what they are about.
	control        map[string]int
	controlAllowed map[string]int
}

// The things that writes to the control plane are about.
const (
	ofManifest = "Manifest"
	ofKyma     = "Kyma"
	ofEvents   = "Events"
	ofOthers   = "others"
)

// charge adds a row and fails the test where it is too high; then it lists the requests. Requests for what an API server
// does not serve yet are retries, and do not count: their number depends on time.
func (b *bill) charge(t *testing.T, work string, requests []faultproxy.Request, remote int, control map[string]int) {
	t.Helper()
	requests = slices.DeleteFunc(slices.Clone(requests), func(r faultproxy.Request) bool { return r.Unserved })
	r := row{work: work, allowed: remote, control: map[string]int{}, controlAllowed: control}
	for _, request := range requests {
		switch {
		case request.To == faultproxy.ToRemote:
			r.remote++
		case request.Writes():
			r.control[about(request.Path)]++
		}
	}
	b.rows = append(b.rows, r)
	listed := strings.Join(lines(requests), "\n  ")
	assert.LessOrEqual(t, r.remote, remote, "remote requests of: %s\n  %s", work, listed)
	for _, each := range []string{ofManifest, ofKyma, ofEvents, ofOthers} {
		assert.LessOrEqual(t, r.control[each], control[each], "control-plane writes about %s of: %s\n  %s", each, work, listed)
	}
}

func about(path string) string {
	switch {
	case strings.Contains(path, "/manifests"), strings.Contains(path, "/remoteagents"):
		return ofManifest
	case strings.Contains(path, "/kymas"):
		return ofKyma
	case strings.Contains(path, "/events"):
		return ofEvents
	}
	return ofOthers
}

var (
	uniqueName = regexp.MustCompile(`c[0-9a-f]{16}`)
	lastPart   = regexp.MustCompile(`/[^/]+$`)
)

// lines are requests as people compare them: how many of a kind there were, and by which activity.
func lines(requests []faultproxy.Request) []string {
	counts := map[string]int{}
	for _, r := range requests {
		path := uniqueName.ReplaceAllString(r.Path, "ID")
		if r.To == faultproxy.ToRemote && r.Writes() {
			path = lastPart.ReplaceAllString(path, "/…")
		}
		counts[fmt.Sprintf("%s: %s: %s %s", r.Activity, r.To, r.Method, path)]++
	}
	var all []string
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%3d × %s", counts[line], line))
	}
	return all
}

// String is the bill as a table in Markdown.
func (b *bill) String() string {
	var text strings.Builder
	text.WriteString("| work | remote requests | at most | control-plane writes | at most |\n|---|---|---|---|---|\n")
	for _, r := range b.rows {
		fmt.Fprintf(&text, "| %s | %d | %d | %s | %s |\n", r.work, r.remote, r.allowed, shown(r.control), shown(r.controlAllowed))
	}
	return text.String()
}

func shown(counts map[string]int) string {
	var parts []string
	for _, each := range []string{ofManifest, ofKyma, ofEvents, ofOthers} {
		if counts[each] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", each, counts[each]))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// of are the requests of these activities, and all others that write to a Manifest.
func of(requests []faultproxy.Request, activities ...string) []faultproxy.Request {
	var some []faultproxy.Request
	for _, r := range requests {
		writesManifest := r.To == faultproxy.ToControlPlane && r.Writes() && about(r.Path) == ofManifest
		if slices.Contains(activities, r.Activity) || writesManifest {
			some = append(some, r)
		}
	}
	return some
}

// dearestAttempt are the requests of the attempt of an activity that made the most.
func dearestAttempt(requests []faultproxy.Request, activity string) []faultproxy.Request {
	attempts := map[string][]faultproxy.Request{}
	for _, r := range requests {
		if r.Activity == activity {
			attempts[r.Attempt] = append(attempts[r.Attempt], r)
		}
	}
	var dearest []faultproxy.Request
	for _, key := range slices.Sorted(maps.Keys(attempts)) {
		if len(attempts[key]) > len(dearest) {
			dearest = attempts[key]
		}
	}
	return dearest
}
