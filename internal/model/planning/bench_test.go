package planning

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// counted is an index that counts its calls and the objects that it returns.
type counted struct {
	desired.Index
	asked, answered int
}

func (c *counted) Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	found, err := c.Index.Templates(ctx, key)
	c.asked++
	c.answered += len(found)
	return found, err
}

func (c *counted) ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	found, err := c.Index.ReleaseMetas(ctx, key)
	c.asked++
	c.answered += len(found)
	return found, err
}

const (
	modulesPerKyma    = 20
	versionsPerModule = 10
)

// catalogOf returns a catalog of n templates with ten versions per module, and a Kyma that lists the first modules.
func catalogOf(templates int) (desired.Index, *v1beta2.Kyma) {
	var all []v1beta2.ModuleTemplate
	var metas []v1beta2.ModuleReleaseMeta
	kyma := desiredtest.Kyma()
	for m := range templates / versionsPerModule {
		module := fmt.Sprintf("module-%d", m)
		for v := range versionsPerModule {
			all = append(all, *desiredtest.Template(module, fmt.Sprintf("1.%d.0", v)))
		}
		metas = append(metas, *desiredtest.ReleaseMeta(module, "regular=1.3.0", "fast=1.9.0"))
		if m < modulesPerKyma {
			kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: module})
		}
	}
	return inMemory(all, metas, nil), kyma
}

func resolveOnce(tb testing.TB, index desired.Index, kyma *v1beta2.Kyma, describe func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error)) Plans {
	tb.Helper()
	settings := desired.Settings{Mode: desired.ModeSingleCluster}
	wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, settings))
	catalog, err := desired.Gather(context.Background(), index, settings, wanted)
	require.NoError(tb, err)
	return Plan(Request{Kyma: kyma, Settings: settings, Wanted: wanted, Catalog: catalog, Describe: describe})
}

// parsedOnce parses each descriptor once, as a Planner does.
func parsedOnce() func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error) {
	known := map[string]*versions.Descriptor{}
	return func(template *v1beta2.ModuleTemplate, component, version string) (*versions.Descriptor, error) {
		if found := known[template.Name]; found != nil {
			return found, nil
		}
		parsed, err := embedded(template, component, version)
		known[template.Name] = parsed
		return parsed, err
	}
}

func TestReadsForAKymaDoNotDependOnTheSizeOfTheCatalog(t *testing.T) {
	read := func(templates int) [2]int {
		lists, kyma := catalogOf(templates)
		index := &counted{Index: lists}
		plans := resolveOnce(t, index, kyma, parsedOnce())
		require.Len(t, plans.Modules, modulesPerKyma)
		for _, plan := range plans.Modules {
			require.Equal(t, ActionCreate, plan.Action)
		}
		return [2]int{index.asked, index.answered}
	}
	require.Equal(t, read(500), read(5000))
}

// BenchmarkResolve measures one Kyma with 20 modules, by the number of templates in the catalog.
func BenchmarkResolve(b *testing.B) {
	for _, templates := range []int{500, 5000} {
		b.Run(fmt.Sprintf("templates=%d", templates), func(b *testing.B) {
			index, kyma := catalogOf(templates)
			describe := parsedOnce()
			resolveOnce(b, index, kyma, describe)
			b.ReportAllocs()
			for b.Loop() {
				resolveOnce(b, index, kyma, describe)
			}
		})
	}
}

// BenchmarkResolveFleet resolves 10,000 Kymas with 20 modules each against 500 templates.
func BenchmarkResolveFleet(b *testing.B) {
	index, kyma := catalogOf(500)
	describe := parsedOnce()
	resolveOnce(b, index, kyma, describe)
	for b.Loop() {
		for range 10_000 {
			resolveOnce(b, index, kyma, describe)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/kyma")
}
