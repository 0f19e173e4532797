package bundle

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Limits bound an archive.
type Limits struct {
	// Bytes bounds all files together, uncompressed, and FileBytes each file.
	Bytes, FileBytes int64
	// Objects bounds the objects of a kind, Workflows the listed workflows, Asked the workflows that are queried,
	// Histories the written histories, and LogLines the lines per container.
	Objects, Workflows, Asked, Histories int
	LogLines                             int64
}

// DefaultLimits keep an archive below about 20 MiB.
func DefaultLimits() Limits {
	return Limits{
		Bytes: 256 << 20, FileBytes: 16 << 20, Objects: 2000, Workflows: 2000, Asked: 200, Histories: 25, LogLines: 20_000,
	}
}

// Sources configure what is collected.
type Sources struct {
	ControlPlane client.Client
	// Core is for logs and the proxy to pods.
	Core kubernetes.Interface
	// Namespaces are those of Kymas, catalog and access Secrets; none means all. Release is the namespace of the
	// instance. PodLabels select its pods.
	Namespaces []string
	Release    string
	PodLabels  client.MatchingLabels
	// Settings is the record of the instance's settings.
	Settings types.NamespacedName
	// Secrets are the instance's further Secrets: registry, webhook, pull Secret.
	Secrets []types.NamespacedName
	// InjectingModules are the modules that get data of Secrets in kcp-system that are labeled for them.
	InjectingModules []string
	// Environment is the environment of the process, with its access to Temporal.
	Environment []string
	// Temporal connects to Temporal.
	Temporal func(ctx context.Context) (Workflows, error)
	// Metrics are addresses to scrape besides the pods. Logs are log files.
	Metrics, Logs []string
	// Check is the result of `lifecycle-manager check`.
	Check   any
	Version string
	Now     time.Time
	Limits  Limits
}

// Write writes the archive. The archive's manifest records what could not be read. On an error, there is no archive.
func Write(ctx context.Context, out io.Writer, s Sources) error {
	known, unread := s.knownSecrets(ctx)
	a := newArchive(out, newRedactor(known), s.Version, s.Now, s.Limits)
	for _, err := range unread {
		a.problem("read the Secrets to redact: %s", err)
	}
	for _, collect := range []func(context.Context, *archive) error{
		s.addCheck, s.addWorkflows, s.addLogs, s.addMetrics, s.addResources, s.addEvents, s.addSecrets,
	} {
		if err := collect(ctx, a); err != nil {
			return err
		}
	}
	return a.close()
}

func (s Sources) addCheck(_ context.Context, a *archive) error {
	if s.Check == nil {
		return nil
	}
	return a.addJSON("check.json", s.Check)
}

// knownSecrets returns the contents of the instance's Secrets and its secrets for Temporal.
func (s Sources) knownSecrets(ctx context.Context) (known []string, problems []error) {
	var all []corev1.Secret
	for _, namespace := range s.namespaces() {
		page := &corev1.SecretList{}
		if err := s.ControlPlane.List(ctx, page, client.InNamespace(namespace), client.HasLabels{shared.LabelKymaName}); err != nil {
			problems = append(problems, fmt.Errorf("list access Secrets: %w", err))
			continue
		}
		all = append(all, page.Items...)
	}
	for _, key := range s.Secrets {
		var secret corev1.Secret
		if err := s.ControlPlane.Get(ctx, key, &secret); err != nil {
			problems = append(problems, fmt.Errorf("read Secret %s: %w", key, err))
			continue
		}
		all = append(all, secret)
	}
	for _, module := range s.InjectingModules {
		page := &corev1.SecretList{}
		if err := s.ControlPlane.List(ctx, page, client.InNamespace(shared.NamespaceControlPlane), client.MatchingLabels{shared.LabelModuleName: module}); err != nil {
			problems = append(problems, fmt.Errorf("list Secrets for module %s: %w", module, err))
			continue
		}
		all = append(all, page.Items...)
	}
	for i := range all {
		for _, value := range all[i].Data {
			known = append(known, secretsOf(value)...)
		}
	}
	connecting, err := secretsIn(s.Environment)
	if err != nil {
		problems = append(problems, err)
	}
	return append(known, connecting...), problems
}

func (s Sources) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s.Namespaces
}

// place locates the objects of a kind.
type place struct {
	file, kind string
	group      schema.GroupVersion
	namespaces []string
	with       []client.ListOption
}

func (s Sources) addResources(ctx context.Context, a *archive) error {
	own := schema.GroupVersion{Group: shared.OperatorGroup, Version: "v1beta2"}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	release := []string{s.Release}
	places := []place{
		{file: "kymas", kind: shared.KindKyma, group: own, namespaces: s.namespaces()},
		{file: "manifests", kind: shared.KindManifest, group: own, namespaces: s.namespaces()},
		{file: "moduletemplates", kind: shared.KindModuleTemplate, group: own, namespaces: s.namespaces()},
		{file: "modulereleasemetas", kind: shared.KindModuleReleaseMeta, group: own, namespaces: s.namespaces()},
		{file: "watchers", kind: shared.KindWatcher, group: own, namespaces: s.namespaces()},
		{file: "rolloutpolicies", kind: "RolloutPolicy", group: own, namespaces: s.namespaces()},
		{file: "modulerollouts", kind: shared.KindModuleRollout, group: own, namespaces: s.namespaces()},
		{file: "remoteagents", kind: "RemoteAgent", group: own, namespaces: s.namespaces()},
		{file: "removalbudgets", kind: "RemovalBudget", group: own, namespaces: s.namespaces()},
		{file: "deployments", kind: "Deployment", group: apps, namespaces: release, with: []client.ListOption{s.PodLabels}},
		{file: "pods", kind: "Pod", group: corev1.SchemeGroupVersion, namespaces: release, with: []client.ListOption{s.PodLabels}},
	}
	for _, each := range places {
		if err := s.addObjects(ctx, a, each); err != nil {
			return err
		}
	}
	settings := &unstructured.Unstructured{}
	settings.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := s.ControlPlane.Get(ctx, s.Settings, settings); err != nil {
		a.problem("ConfigMap %s: %s", s.Settings, err)
		return nil
	}
	return a.addJSON("resources/settings.json", settings.Object)
}

func (s Sources) addObjects(ctx context.Context, a *archive, at place) error {
	objects, known := []any{}, newKeys()
	for _, namespace := range at.namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(at.group.WithKind(at.kind + "List"))
		if err := s.ControlPlane.List(ctx, list, append([]client.ListOption{client.InNamespace(namespace), client.Limit(int64(s.Limits.Objects))}, at.with...)...); err != nil {
			a.problem("list %s in namespace %q: %s", at.file, namespace, err)
			continue
		}
		if list.GetContinue() != "" {
			a.problem("only the first %[2]d %[1]s are listed", at.file, s.Limits.Objects)
		}
		for i := range list.Items {
			known.object(list.Items[i].Object)
			objects = append(objects, list.Items[i].Object)
		}
	}
	return a.addJSON("resources/"+at.file+".json", objects)
}

func (s Sources) addEvents(ctx context.Context, a *archive) error {
	namespaces := s.namespaces()
	if len(s.Namespaces) > 0 {
		namespaces = append(namespaces[:len(namespaces):len(namespaces)], s.Release)
	}
	return s.addObjects(ctx, a, place{file: "events", kind: "Event", group: corev1.SchemeGroupVersion, namespaces: namespaces})
}

// addSecrets adds the names and labels of Secrets. It omits their contents, and their annotations, because these may be
// copies of the contents.
func (s Sources) addSecrets(ctx context.Context, a *archive) error {
	type secret struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		Labels          map[string]string `json:"labels,omitempty"`
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Created         time.Time         `json:"created"`
	}
	all := []secret{}
	for _, namespace := range s.namespaces() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := s.ControlPlane.List(ctx, list, client.InNamespace(namespace), client.HasLabels{shared.LabelKymaName}, client.Limit(int64(s.Limits.Objects))); err != nil {
			a.problem("list the metadata of access Secrets: %s", err)
			continue
		}
		for i := range list.Items {
			item := &list.Items[i]
			all = append(all, secret{item.Name, item.Namespace, item.Labels, item.UID, item.ResourceVersion, item.CreationTimestamp.Time})
		}
	}
	return a.addJSON("resources/access-secrets.json", all)
}

func (s Sources) pods(ctx context.Context, a *archive) []corev1.Pod {
	var pods corev1.PodList
	if err := s.ControlPlane.List(ctx, &pods, client.InNamespace(s.Release), s.PodLabels); err != nil {
		a.problem("list the pods of the instance: %s", err)
	}
	return pods.Items
}

func (s Sources) addLogs(ctx context.Context, a *archive) error {
	for _, file := range s.Logs {
		content, err := os.ReadFile(file)
		if err != nil {
			a.problem("log: %s", err)
			continue
		}
		if err := a.add("logs/"+filepath.Base(file), string(content)); err != nil {
			return err
		}
	}
	for _, pod := range s.pods(ctx, a) {
		for _, status := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true} {
				if previous && status.RestartCount == 0 {
					continue
				}
				name := fmt.Sprintf("logs/%s/%s.log", pod.Name, status.Name)
				if previous {
					name = fmt.Sprintf("logs/%s/%s.previous.log", pod.Name, status.Name)
				}
				content, err := s.Core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
					Container: status.Name, Previous: previous, TailLines: &s.Limits.LogLines, LimitBytes: &s.Limits.FileBytes,
				}).DoRaw(ctx)
				if err != nil {
					a.problem("%s: %s", name, err)
					continue
				}
				if err := a.add(name, string(content)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// portOfMetrics is the metrics port of the pods.
const portOfMetrics = "8080"

func (s Sources) addMetrics(ctx context.Context, a *archive) error {
	for i, address := range s.Metrics {
		content, err := s.scrape(ctx, address)
		if err != nil {
			a.problem("metrics of %s: %s", address, err)
			continue
		}
		if err := a.add(fmt.Sprintf("metrics/%d.txt", i+1), content); err != nil {
			return err
		}
	}
	for _, pod := range s.pods(ctx, a) {
		content, err := s.Core.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, portOfMetrics, "metrics", nil).DoRaw(ctx)
		if err != nil {
			a.problem("metrics of pod %s: %s", pod.Name, err)
			continue
		}
		if err := a.add("metrics/"+pod.Name+".txt", string(content)); err != nil {
			return err
		}
	}
	return nil
}

func (s Sources) scrape(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, s.Limits.FileBytes))
	return string(content), err
}
