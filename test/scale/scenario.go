package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	kymaNamespace = "kcp-system"
	// oneMost and allMost bound how long one Kyma, and all of them, may take.
	oneMost = time.Minute
	allMost = 30 * time.Minute
)

// record is what was measured.
type record struct {
	Clusters   int    `json:"clusters"`
	Modules    int    `json:"modules"`
	Objects    int    `json:"objects"`
	Latency    string `json:"latency"`
	ReadyAfter string `json:"readyAfter"`
	// Temporal says what Temporal ran on. A development server with SQLite says nothing about what a control plane can
	// carry.
	Temporal string  `json:"temporal"`
	Phases   []phase `json:"phases"`
}

// phase is one part of the scenario.
type phase struct {
	Name  string `json:"name"`
	Kymas int    `json:"kymas"`
	// Seconds is how long all took; P50 and P99 how long the Kymas took, from the beginning of the phase, or each from its
	// own beginning where they come one after the other.
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50Seconds"`
	P99     float64 `json:"p99Seconds"`
	// CPU and Memory are by process: processor time in ms per Kyma, and what it has at the end in MiB.
	CPU    map[string]float64 `json:"cpuMsPerKyma"`
	Memory map[string]int64   `json:"memoryMiB"`
	// Requests are those to the control plane, per Kyma, those of this program among them.
	Requests map[string]float64 `json:"requestsPerKyma"`
}

// play plays the scenario.
func play(ctx context.Context, e *environment) (*record, error) {
	r := &record{
		Clusters: e.clusters, Modules: e.modules, Objects: e.objects, Latency: e.latency.String(), ReadyAfter: e.readyAfter.String(),
		Temporal: "development server with SQLite: no figures about capacity",
	}
	if err := e.push(ctx, "1.0.0"); err != nil {
		return nil, err
	}
	if err := e.access(ctx); err != nil {
		return nil, err
	}
	one, all := e.names(0, e.warm), e.names(e.warm, e.all())
	some := all[:min(20, len(all))]
	for _, step := range []struct {
		name  string
		kymas []string
		run   func() ([]time.Duration, error)
	}{
		{"install one after the other", one, func() ([]time.Duration, error) { return e.oneByOne(ctx, one) }},
		{"install all at once", all, func() ([]time.Duration, error) {
			return e.observed(ctx, all, isReady("1.0.0"), func() error { return e.create(ctx, all) })
		}},
		{"a new version for all at once", append(slices.Clone(one), all...), func() ([]time.Duration, error) {
			return e.observed(ctx, append(slices.Clone(one), all...), isReady("1.1.0"), func() error { return e.push(ctx, "1.1.0") })
		}},
		{fmt.Sprintf("delete %d at once", len(some)), some, func() ([]time.Duration, error) {
			return e.observed(ctx, some, isGone, func() error { return e.remove(ctx, some) })
		}},
	} {
		p, err := e.measure(ctx, step.name, len(step.kymas), step.run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		r.Phases = append(r.Phases, p)
		say("%s: %d Kymas in %.1f s, half of them within %.2f s; ms of CPU per Kyma: %v", p.Name, p.Kymas, p.Seconds, p.P50, p.CPU)
		// What follows from it, such as second looks and Events, is not the next phase's.
		time.Sleep(3 * time.Second)
	}
	return r, nil
}

// measure runs one phase.
func (e *environment) measure(ctx context.Context, name string, kymas int, run func() ([]time.Duration, error)) (phase, error) {
	used := e.use()
	counted, err := e.count(ctx)
	if err != nil {
		return phase{}, err
	}
	began := time.Now()
	took, err := run()
	if err != nil {
		return phase{}, err
	}
	p := phase{Name: name, Kymas: kymas, Seconds: time.Since(began).Seconds(), CPU: map[string]float64{}, Memory: map[string]int64{}, Requests: map[string]float64{}}
	slices.Sort(took)
	p.P50, p.P99 = took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds()
	now, err := e.count(ctx)
	if err != nil {
		return phase{}, err
	}
	for name, used2 := range e.use() {
		p.CPU[name] = round(float64(used2.CPU-used[name].CPU) / float64(kymas))
		p.Memory[name] = used2.Memory
	}
	for what, n := range now {
		if n -= counted[what]; n > 0 {
			p.Requests[what] = round(float64(n) / float64(kymas))
		}
	}
	return p, nil
}

func round(f float64) float64 { return float64(int64(f*100+0.5)) / 100 }

func (e *environment) names(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("k%05d", i))
	}
	return names
}

// push publishes a version of each module and puts it into the channel.
func (e *environment) push(ctx context.Context, version string) error {
	for m := range e.modules {
		folder := e.path(fmt.Sprintf("module-%d-%s", m, version))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("make a module: %w", err)
		}
		name := moduleName(m)
		for file, content := range map[string]string{
			"module-config.yaml": fmt.Sprintf("name: kyma-project.io/module/%s\nmoduleName: %s\nversion: %s\nmanifest: manifest.yaml\nchannels: [regular]\n", name, name, version),
			"manifest.yaml":      moduleManifest(name, version, e.objects),
		} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
				return fmt.Errorf("make a module: %w", err)
			}
		}
		announced, err := output(ctx, nil, "bin/module", "push", folder, "--registry", e.fleet.Registry.Host, "--plain-http")
		if err != nil {
			return err
		}
		if err := e.apply(ctx, announced); err != nil {
			return err
		}
	}
	return nil
}

// moduleName is a name of letters, as those of modules are.
func moduleName(m int) string { return "module-" + strings.Repeat(string(rune('a'+m%26)), 3+m/26) }

// moduleManifest has a Deployment, an account and ConfigMaps, three of which differ from version to version.
func moduleManifest(name, version string, objects int) string {
	docs := []string{
		fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: kyma-system, labels: {version: "%[2]s"}}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: manager, image: "registry.example.com/%[1]s:%[2]s"}]}
`, name, version),
		fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: kyma-system}\n", name),
	}
	for i := len(docs); i < objects; i++ {
		content := "the same in all versions"
		if i < 4 {
			content = version
		}
		docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: kyma-system}\ndata: {content: %q}\n", name, i, content))
	}
	return strings.Join(docs, "---\n")
}

// access makes the access Secrets of all Kymas.
func (e *environment) access(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, name := range e.names(0, e.all()) {
		group.Go(func() error {
			kubeconfig, err := os.ReadFile(e.path(fmt.Sprintf("clusters/kubeconfigs/%05d.yaml", i)))
			if err != nil {
				return fmt.Errorf("read the kubeconfig of a cluster: %w", err)
			}
			return e.client.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: name, Labels: map[string]string{shared.LabelKymaName: name}},
				Data:       map[string][]byte{shared.AccessSecretKey: kubeconfig},
			})
		})
	}
	return group.Wait()
}

func (e *environment) create(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, name := range names {
		group.Go(func() error {
			kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: name}, Spec: v1beta2.KymaSpec{Channel: "regular"}}
			for m := range e.modules {
				kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: moduleName(m)})
			}
			return e.client.Create(ctx, kyma)
		})
	}
	return group.Wait()
}

func (e *environment) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := e.client.Delete(ctx, &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: name}}); err != nil {
			return fmt.Errorf("delete Kyma %s: %w", name, err)
		}
	}
	return nil
}

// oneByOne makes Kymas one after the other, and says how long each took.
func (e *environment) oneByOne(ctx context.Context, names []string) ([]time.Duration, error) {
	var all []time.Duration
	for _, name := range names {
		took, err := e.observed(ctx, []string{name}, isReady("1.0.0"), func() error { return e.create(ctx, []string{name}) })
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
	}
	return all, nil
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

// isReady tells whether a Kyma is Ready with all its modules in a version.
func isReady(version string) func(event watch.Event, kyma *v1beta2.Kyma) bool {
	return func(event watch.Event, kyma *v1beta2.Kyma) bool {
		return event.Type != watch.Deleted && kyma.Status.State == shared.StateReady && len(kyma.Status.Modules) > 0 &&
			!slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool { return m.Version != version || m.State != shared.StateReady })
	}
}

func isGone(event watch.Event, _ *v1beta2.Kyma) bool { return event.Type == watch.Deleted }

// errWatchEnded is the error of an informer that ended.
var errWatchEnded = errors.New("the watch of Kymas ended")

// observed begins something and says how long after that each of these Kymas was as it is to be.
func (e *environment) observed(ctx context.Context, names []string, so func(watch.Event, *v1beta2.Kyma) bool, begin func() error) ([]time.Duration, error) {
	most := allMost
	if len(names) == 1 {
		most = oneMost
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not all Kymas were so within %s", most)) //nolint:err113 // for people
	defer cancel()
	waiting := map[string]bool{}
	for _, name := range names {
		waiting[name] = true
	}
	// An informer, for the API server ends watches of those that are slow while it is busy.
	_, _, events, ended := watchtools.NewIndexerInformerWatcher(e.kymas(), &v1beta2.Kyma{})
	defer func() {
		events.Stop()
		<-ended
	}()
	began := time.Now()
	beginning := make(chan error, 1)
	go func() { beginning <- begin() }()
	var all []time.Duration
	for len(waiting) > 0 {
		select {
		case err := <-beginning:
			if err != nil {
				return nil, err
			}
			beginning = nil
		case event, open := <-events.ResultChan():
			if !open {
				return nil, errWatchEnded
			}
			if kyma, ok := event.Object.(*v1beta2.Kyma); ok && waiting[kyma.Name] && so(event, kyma) {
				delete(waiting, kyma.Name)
				all = append(all, time.Since(began))
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %d of %d are not", context.Cause(ctx), len(waiting), len(names))
		}
	}
	return all, nil
}
