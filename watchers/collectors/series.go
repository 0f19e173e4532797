package collectors

import (
	"slices"
	"sync"

	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// series is one time series: a metric and the values of its labels.
type series struct {
	of     *metrics.Family
	values [metrics.MaxStateLabels]string
}

// seriesOf returns the series of a metric with these label values.
func seriesOf(f *metrics.Family, values ...string) series {
	made := series{of: f}
	copy(made.values[:], values)
	return made
}

func (s *series) labels() []string { return s.values[:s.of.LabelCount] }

// seriesByObject holds the series of many objects, until the objects are deleted. It is safe for concurrent use.
type seriesByObject struct {
	mu sync.Mutex
	of map[string][]series
	// uses counts the objects with equal series, such as Kymas of the same name in two namespaces.
	uses map[series]int
}

func newSeriesByObject() *seriesByObject {
	return &seriesByObject{of: map[string][]series{}, uses: map[series]int{}}
}

// set replaces the series of an object. Without series, the object is forgotten.
func (s *seriesByObject) set(object string, now ...series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.of[object]
	if slices.Equal(before, now) {
		return
	}
	for _, each := range now {
		s.uses[each]++
		each.of.WithLabelValues(each.labels()...).Set(1)
	}
	for _, each := range before {
		s.uses[each]--
		if s.uses[each] == 0 {
			delete(s.uses, each)
			each.of.DeleteLabelValues(each.labels()...)
		}
	}
	if len(now) == 0 {
		delete(s.of, object)
		return
	}
	s.of[object] = now
}
