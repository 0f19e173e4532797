package prometheus

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Selector is what an expression takes from Prometheus.
type Selector struct {
	Metric string
	// Labels are those by which the expression chooses, groups or joins the series.
	Labels []string
}

// Series selects the series of the metric that have all of these labels, with whatever values.
func (s Selector) Series() string {
	selected := s.Metric + "{"
	for _, label := range s.Labels {
		selected += label + `!="",`
	}
	return selected + "}"
}

// Selectors are all that an expression has, as Prometheus itself reads it.
func (s Server) Selectors(t testing.TB, expression string) []Selector {
	t.Helper()
	response, err := http.Get("http://" + s.address + "/api/v1/parse_query?query=" + url.QueryEscape(expression)) //nolint:noctx // on loopback
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode, expression)
	var parsed struct{ Data *node }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&parsed))
	found := parsed.Data.selectors(nil)
	require.NotEmpty(t, found, expression)
	return found
}

// node is a part of an expression: what Prometheus calls these is in its web/api/v1/translate_ast.go.
type node struct {
	Type, Name string
	Matchers   []struct{ Name string }
	// Grouping are the labels of `by` or `without`, those of Matching of `on` or `ignoring`.
	Grouping       []string
	Matching       struct{ Labels []string }
	Expr, LHS, RHS *node
	Args           []*node
}

// selectors are those in a part, whose series need these labels for what is around it.
func (n *node) selectors(labels []string) []Selector {
	if n == nil {
		return nil
	}
	labels = slices.Concat(labels, n.Grouping, n.Matching.Labels)
	if n.Type == "vectorSelector" || n.Type == "matrixSelector" {
		for _, matcher := range n.Matchers {
			if matcher.Name != "__name__" {
				labels = append(labels, matcher.Name)
			}
		}
		slices.Sort(labels)
		return []Selector{{Metric: n.Name, Labels: slices.Compact(labels)}}
	}
	var found []Selector
	for _, part := range append([]*node{n.Expr, n.LHS, n.RHS}, n.Args...) {
		found = append(found, part.selectors(labels)...)
	}
	return found
}
