// Package controllers does in all clusters what a cluster's controllers do, as far as clients wait for it: it establishes
// definitions, makes workloads available, empties namespaces, and collects garbage. It writes as those do, by requests.
package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	definitionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/lru"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// Options say what happens in clusters by itself, and when.
type Options struct {
	// ReadyAfter is when workloads are available, and Jobs complete, after they were changed.
	ReadyAfter time.Duration
	// ReadySpread is how much later than ReadyAfter that is at most: each object has its own delay, which follows from its key.
	ReadySpread time.Duration
	// EstablishAfter is when a definition is served after it was made.
	EstablishAfter time.Duration
	// CollectAfter is when garbage is collected, and a namespace that is deleted is emptied.
	CollectAfter time.Duration
	// Ready are the API groups or, as plural.group, kinds whose custom resources get status.state Ready after ReadyAfter,
	// as from an operator.
	Ready []string
	// Workers is how many things are done at a time.
	Workers int
	// Log gets what failed.
	Log *slog.Logger
}

// Manager runs the controllers of all clusters.
type Manager struct {
	options     Options
	server      *apis.Server
	timers      *timers
	core        kubernetes.Interface
	definitions definitionsclient.Interface
	metadata    metadata.Interface
	dynamic     dynamic.Interface
	// transitions is what tasks came to.
	transitions *lru.Cache
	// since is the time in what the status of a definition says. It is the same for all, so that all clusters share them.
	since metav1.Time
}

// New returns a Manager, which does nothing until Run.
func New(server *apis.Server, o Options) (*Manager, error) {
	m := &Manager{options: o, server: server, timers: newTimers(), transitions: lru.New(rememberedTransitions), since: metav1.NewTime(time.Now().Truncate(time.Second))}
	var err1, err2, err3, err4 error
	m.core, err1 = kubernetes.NewForConfig(local(server, "kube-controller-manager", true))
	m.definitions, err2 = definitionsclient.NewForConfig(local(server, "kube-apiserver", false))
	m.metadata, err3 = metadata.NewForConfig(local(server, "kube-controller-manager", false))
	m.dynamic, err4 = dynamic.NewForConfig(local(server, "module-operator", false))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("make the clients of the controllers: %w", err)
	}
	return m, nil
}

// Waiting is how many things are to be done later.
func (m *Manager) Waiting() int { return m.timers.len() }

// Run works until the context ends, and returns when all work has ended.
func (m *Manager) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range max(m.options.Workers, 1) {
		workers.Go(func() { m.work(ctx) })
	}
	workers.Wait()
}

func (m *Manager) work(ctx context.Context) {
	for {
		due, wait, ok := m.timers.next(time.Now())
		if ok {
			m.do(ctx, due)
			continue
		}
		sleep := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			sleep.Stop()
			return
		case <-m.timers.wakeUp:
			sleep.Stop()
		case <-sleep.C:
		}
	}
}

// observeAfter is when a Deployment says that it has seen a change which does not change its pods.
const observeAfter = 20 * time.Millisecond

// again is when what failed is tried once more.
const again = time.Second

func (m *Manager) do(ctx context.Context, t task) {
	const timeout = 30 * time.Second
	in, cancel := context.WithTimeout(store.In(ctx, t.cluster), timeout)
	defer cancel()
	var err error
	switch t.kind {
	case taskReady:
		err = m.once(in, t, m.ready)
	case taskObserve:
		err = m.once(in, t, m.observe)
	case taskEstablish:
		err = m.once(in, t, m.establish)
	case taskEmptyNamespace:
		err = m.emptyNamespace(in, t)
	case taskCollect:
		err = m.collect(in, t)
	case taskFinish:
		err = m.finish(in, t)
	case taskDefinitionGone:
		err = m.emptyDefinition(in, t)
	}
	switch {
	case err == nil || ctx.Err() != nil || apierrors.IsNotFound(err):
	case apierrors.IsConflict(err):
		m.timers.add(t, time.Now())
	default:
		m.options.Log.Warn("a controller failed and tries again", "resource", t.resource.String(), "object", t.key, "error", err)
		m.timers.add(t, time.Now().Add(again))
	}
}

// readyAfter is when an object with this key is ready.
func (o Options) readyAfter(key string) time.Duration {
	sum := sha256.Sum256([]byte(key))
	return o.ReadyAfter + time.Duration(float64(o.ReadySpread)*float64(binary.BigEndian.Uint32(sum[:]))/(math.MaxUint32+1))
}

// Changed takes in a write. It does not wait for anything.
func (m *Manager) Changed(c *store.Cluster, change store.Change) {
	now := time.Now()
	plan := func(kind taskKind, key string, after time.Duration) {
		m.timers.add(task{c, kind, change.Resource, key}, now.Add(after))
	}
	if change.After == nil {
		m.removed(c, change, now)
		return
	}
	key := change.After.Key()
	if change.After.Deleting() {
		switch change.Resource {
		case apis.Namespaces():
			m.timers.add(task{c, taskEmptyNamespace, change.Resource, key}, now.Add(m.options.CollectAfter))
		case apis.Definitions():
			plan(taskDefinitionGone, key, m.options.CollectAfter)
		}
		plan(taskFinish, key, m.options.CollectAfter)
		return
	}
	sameBody := change.Before != nil && change.Before.Body() == change.After.Body()
	if len(change.After.Owners()) > 0 && change.Before == nil {
		plan(taskCollect, key, m.options.CollectAfter)
	}
	if sameBody {
		return
	}
	switch {
	case change.Resource == apis.Definitions():
		plan(taskEstablish, key, m.options.EstablishAfter)
	case becomesReady(change.Resource) || slices.Contains(m.options.Ready, change.Resource.Group) || slices.Contains(m.options.Ready, change.Resource.String()):
		if change.Before != nil && change.Resource == deployments() {
			plan(taskObserve, key, observeAfter)
		}
		plan(taskReady, key, m.options.readyAfter(key))
	}
}
