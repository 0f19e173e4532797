package watchers

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// family is a metric of which each series has the value 1.
type family struct {
	desc   *prometheus.Desc
	labels []string
}

// newFamily makes a family. The names of the labels must be in order, as Prometheus has them.
func newFamily(name, help string, labels ...string) *family {
	return &family{desc: prometheus.NewDesc(name, help, labels, nil), labels: labels}
}

// identity says which time series one is: the metric and the values of its labels, in the order of their names.
type identity struct {
	of     *family
	values [maxLabels]string
}

// maxLabels is the greatest number of labels of a family.
const maxLabels = 5

// with is the identity of the series with these values of the labels.
func (f *family) with(values ...string) identity {
	made := identity{of: f}
	copy(made.values[:], values)
	return made
}

// series is one time series with the value 1. It is made once, and not anew for each scrape.
type series struct {
	desc  *prometheus.Desc
	pairs []*dto.LabelPair
	value *dto.Gauge
	// hash is that of its identity, uses how many objects say the same: it is exported once.
	hash uint64
	uses int
}

// Desc implements prometheus.Metric.
func (s *series) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric. What it hands out is shared by all scrapes, which only read it.
func (s *series) Write(out *dto.Metric) error {
	out.Label, out.Gauge = s.pairs, s.value
	return nil
}

// seriesByObject holds the series of many objects, each of which leaves none behind when it goes. It may be shared.
type seriesByObject struct {
	one  *dto.Gauge
	seed maphash.Seed

	mu sync.Mutex
	of map[string][]*series
	// series are all of them by the hash of their identity: a fleet may have millions before two of them have the same.
	series map[uint64]*series
	// common are the labels with few values, which the series of the whole fleet share.
	common map[[2]string]*dto.LabelPair
}

func newSeriesByObject() *seriesByObject {
	value := 1.0
	return &seriesByObject{
		one: &dto.Gauge{Value: &value}, seed: maphash.MakeSeed(),
		of: map[string][]*series{}, series: map[uint64]*series{}, common: map[[2]string]*dto.LabelPair{},
	}
}

// set says which series an object has now; none where it is gone.
func (s *seriesByObject) set(object string, now ...identity) {
	hashes := make([]uint64, 0, len(now))
	for _, each := range now {
		hashes = append(hashes, maphash.Comparable(s.seed, each))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.of[object]
	if slices.EqualFunc(before, hashes, func(was *series, is uint64) bool { return was.hash == is }) {
		return
	}
	found, own := make([]*series, 0, len(now)), map[[2]string]*dto.LabelPair{}
	for i, each := range now {
		found = append(found, s.use(each, hashes[i], own))
	}
	for _, each := range before {
		each.uses--
		if each.uses == 0 {
			delete(s.series, each.hash)
		}
	}
	if len(found) == 0 {
		delete(s.of, object)
		return
	}
	s.of[object] = found
}

// use returns a series for one object more. Own are the labels that the series of this object share.
func (s *seriesByObject) use(which identity, hash uint64, own map[[2]string]*dto.LabelPair) *series {
	known := s.series[hash]
	if known == nil {
		known = &series{desc: which.of.desc, hash: hash, value: s.one, pairs: make([]*dto.LabelPair, 0, len(which.of.labels))}
		for i := range which.of.labels {
			known.pairs = append(known.pairs, s.pair(&which.of.labels[i], which.values[i], own))
		}
		s.series[hash] = known
	}
	known.uses++
	return known
}

func (s *seriesByObject) pair(label *string, value string, own map[[2]string]*dto.LabelPair) *dto.LabelPair {
	among := own
	if *label == labelState || *label == labelModule {
		among = s.common
	}
	key := [2]string{*label, value}
	if among[key] == nil {
		among[key] = &dto.LabelPair{Name: label, Value: &value}
	}
	return among[key]
}

// all are the series that there are.
func (s *seriesByObject) all() []*series {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]*series, 0, len(s.series))
	for _, each := range s.series {
		found = append(found, each)
	}
	return found
}
