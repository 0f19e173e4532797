package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	kymaNamespace = "kcp-system"
	// oneMost and allMost bound how long one Kyma, and all of them, may take.
	oneMost = 2 * time.Minute
	allMost = 60 * time.Minute
)

// kymaName is the name of a Kyma, whose cluster has the same number.
func kymaName(number int) string { return fmt.Sprintf("k%05d", number) }

func (e *environment) kubeconfig(number int) string {
	return e.path(fmt.Sprintf("clusters/kubeconfigs/%05d.yaml", number))
}

// access makes the access Secrets of all Kymas.
func (e *environment) access(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range e.all() {
		group.Go(func() error {
			kubeconfig, err := os.ReadFile(e.kubeconfig(i))
			if err != nil {
				return fmt.Errorf("read the kubeconfig of a cluster: %w", err)
			}
			return e.client.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: kymaName(i), Labels: map[string]string{shared.LabelKymaName: kymaName(i)}},
				Data:       map[string][]byte{shared.AccessSecretKey: kubeconfig},
			})
		})
	}
	return group.Wait()
}

func (e *environment) create(ctx context.Context, kymas []int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, number := range kymas {
		group.Go(func() error {
			kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: kymaName(number)}, Spec: v1beta2.KymaSpec{Channel: "regular"}}
			for m := range e.modules {
				kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: moduleName(m)})
			}
			if e.scenario.Sync {
				// The remote Kyma has nothing of its own then, and what is listed here counts.
				kyma.Spec.Sync = &v1beta2.Sync{Enabled: new(true), Namespace: "kyma-system"}
			}
			return e.client.Create(ctx, kyma)
		})
	}
	return group.Wait()
}

func (e *environment) remove(ctx context.Context, kymas []int) error {
	for _, number := range kymas {
		kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: kymaName(number)}}
		if err := e.client.Delete(ctx, kyma); err != nil {
			return fmt.Errorf("delete Kyma %s: %w", kyma.Name, err)
		}
	}
	return nil
}

// edit adds a module to a Kyma, or takes it away, in the control plane or in the Kyma's cluster.
func (e *environment) edit(ctx context.Context, number int, where, module string, add bool) error {
	c, key := client.Client(e.client), types.NamespacedName{Namespace: kymaNamespace, Name: kymaName(number)}
	if where == scenarios.Remote {
		config, err := clientcmd.BuildConfigFromFlags("", e.kubeconfig(number))
		if err != nil {
			return fmt.Errorf("read the kubeconfig of a cluster: %w", err)
		}
		if c, err = newClient(config); err != nil {
			return err
		}
		key = types.NamespacedName{Namespace: "kyma-system", Name: "default"}
		if e.scenario.Sync {
			key.Name = kymaName(number)
		}
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		kyma := &v1beta2.Kyma{}
		if err := c.Get(ctx, key, kyma); err != nil {
			return fmt.Errorf("read Kyma %s: %w", key, err)
		}
		var modules []v1beta2.Module
		for _, listed := range kyma.Spec.Modules {
			if listed.Name != module {
				modules = append(modules, listed)
			}
		}
		if add {
			modules = append(modules, v1beta2.Module{Name: module})
		}
		kyma.Spec.Modules = modules
		return c.Update(ctx, kyma)
	})
}

// seen reports whether a Kyma is in the expected state.
type seen func(event watch.Event, kyma *v1beta2.Kyma) bool

// allReady reports whether a Kyma is Ready with these modules in these versions, whatever else it has.
func allReady(versions map[string]string) seen {
	return func(event watch.Event, kyma *v1beta2.Kyma) bool {
		if event.Type == watch.Deleted || kyma.Status.State != shared.StateReady {
			return false
		}
		found := 0
		for _, module := range kyma.Status.Modules {
			if version, wanted := versions[module.Name]; wanted {
				if module.Version != version || module.State != shared.StateReady {
					return false
				}
				found++
			}
		}
		return found == len(versions)
	}
}

// hasModule reports whether a Kyma has a module, Ready, or has it no more.
func hasModule(name string, has bool) seen {
	return func(event watch.Event, kyma *v1beta2.Kyma) bool {
		if event.Type == watch.Deleted {
			return false
		}
		for _, module := range kyma.Status.Modules {
			if module.Name == name {
				return has && module.State == shared.StateReady
			}
		}
		return !has
	}
}

func isGone(event watch.Event, _ *v1beta2.Kyma) bool { return event.Type == watch.Deleted }

// waiting are Kymas that are waited for, and how long each took that is waited for no more.
type waiting struct {
	mu    sync.Mutex
	began map[string]time.Time
	so    map[string]seen
	took  []time.Duration
}

func newWaiting() *waiting { return &waiting{began: map[string]time.Time{}, so: map[string]seen{}} }

// forAll waits for these Kymas from now on.
func (w *waiting) forAll(kymas []int, so seen) *waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, number := range kymas {
		w.began[kymaName(number)], w.so[kymaName(number)] = now, so
	}
	return w
}

// beginNow restarts the time of all that is waited for.
func (w *waiting) beginNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.began {
		w.began[name] = time.Now()
	}
}

func (w *waiting) see(event watch.Event, kyma *v1beta2.Kyma) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if so, waits := w.so[kyma.Name]; waits && so(event, kyma) {
		w.took = append(w.took, time.Since(w.began[kyma.Name]))
		delete(w.so, kyma.Name)
	}
}

func (w *waiting) remaining() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.so)
}

// kymas lists and watches all Kymas.
func (e *environment) kymas() *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &v1beta2.KymaList{}
			return list, e.client.List(ctx, list, client.InNamespace(kymaNamespace), &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return e.client.Watch(ctx, &v1beta2.KymaList{}, client.InNamespace(kymaNamespace), &client.ListOptions{Raw: &options})
		},
	}
}

// errWatchEnded is the error of an informer that ended.
var errWatchEnded = errors.New("the watch of Kymas ended")

// observe begins something, and returns once it has ended and no Kyma is waited for any more.
func (e *environment) observe(ctx context.Context, most time.Duration, begin func(ctx context.Context) error, all ...*waiting) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not all Kymas were so within %s", most)) //nolint:err113 // for people
	defer cancel()
	// An informer, for the API server ends watches of those that are slow while it is busy.
	_, _, events, ended := watchtools.NewIndexerInformerWatcher(e.kymas(), &v1beta2.Kyma{})
	defer func() {
		events.Stop()
		<-ended
	}()
	beginning := make(chan error, 1)
	go func() { beginning <- begin(ctx) }()
	for remaining := -1; remaining != 0; {
		select {
		case err := <-beginning:
			if err != nil {
				return err
			}
			beginning = nil
		case event, open := <-events.ResultChan():
			if !open {
				return errWatchEnded
			}
			if kyma, ok := event.Object.(*v1beta2.Kyma); ok {
				for _, w := range all {
					w.see(event, kyma)
				}
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: %d are not", context.Cause(ctx), remaining)
		}
		remaining = 0
		for _, w := range all {
			remaining += w.remaining()
		}
		if beginning != nil {
			remaining++
		}
	}
	return nil
}
