package controllers

import (
	"context"
	"time"
	"unique"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// rememberedTransitions bounds what is remembered.
const rememberedTransitions = 8192

// transition is all that the result of a task depends on: what is there, when, and how it is served.
type transition struct {
	kind   taskKind
	before unique.Handle[string]
	at     int64
	served apis.Served
}

// nothingToDo is remembered of tasks that write nothing.
type nothingToDo struct{}

// once does a task by what the same task came to in another cluster, or by requests.
func (m *Manager) once(ctx context.Context, t task, work func(context.Context, task) error) error {
	before := t.cluster.Get(t.resource, t.key)
	if before == nil {
		return nil
	}
	now := time.Now()
	key := transition{kind: t.kind, before: before.Body(), at: now.Truncate(coarse).Unix()}
	key.served, _ = m.server.Custom(t.cluster, t.resource)
	if t.kind == taskEstablish {
		key.at = 0
	}
	if found, ok := m.transitions.Get(key); ok && before.Plain() {
		if _, nothing := found.(nothingToDo); nothing {
			return nil
		}
		if effect, ok := found.(*store.Effect); ok && t.cluster.Repeat(effect, t.resource, t.key, before, nil, nil, now) {
			return nil
		}
	}
	traced, trace := store.WithTrace(ctx)
	if err := work(traced, t); err != nil {
		return err
	}
	if trace.After == nil {
		m.transitions.Add(key, nothingToDo{})
	}
	if trace.After != nil && trace.Before == before {
		if effect := trace.Effect(nil, nil); effect != nil {
			m.transitions.Add(key, effect)
		}
	}
	return nil
}
