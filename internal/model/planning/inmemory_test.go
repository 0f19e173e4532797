package planning

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// memory is an index over complete lists. It is as fast as the index of a cache.
type memory struct {
	templates map[string][]*v1beta2.ModuleTemplate
	metas     map[string][]*v1beta2.ModuleReleaseMeta
	rollouts  map[string][]*v1beta2.ModuleRollout
}

func inMemory(templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta, rollouts []v1beta2.ModuleRollout) desired.Index {
	m := &memory{
		templates: map[string][]*v1beta2.ModuleTemplate{}, metas: map[string][]*v1beta2.ModuleReleaseMeta{},
		rollouts: map[string][]*v1beta2.ModuleRollout{},
	}
	for i := range templates {
		for _, key := range desired.KeysOfTemplate(&templates[i]) {
			m.templates[key] = append(m.templates[key], &templates[i])
		}
	}
	for i := range metas {
		for _, key := range desired.KeysOfReleaseMeta(&metas[i]) {
			m.metas[key] = append(m.metas[key], &metas[i])
		}
	}
	for i := range rollouts {
		for _, key := range desired.RolloutModuleIndexer(&rollouts[i]) {
			m.rollouts[key] = append(m.rollouts[key], &rollouts[i])
		}
	}
	return m
}

func (m *memory) Templates(_ context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	return m.templates[key], nil
}

func (m *memory) ReleaseMetas(_ context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	return m.metas[key], nil
}

func (m *memory) Rollouts(_ context.Context, module string) ([]*v1beta2.ModuleRollout, error) {
	return m.rollouts[module], nil
}
