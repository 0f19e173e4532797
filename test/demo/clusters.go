package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// fieldOwner is who applied what the demo applies.
const fieldOwner = "demo"

// access is a client for one of the fleet's clusters, as its admin.
type access struct {
	client.WithWatch

	server string
	http   *http.Client
}

// connect returns a client for the cluster of a kubeconfig.
func connect(kubeconfig string) (*access, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("connect to a cluster: %w", err)
		}
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	connected, err := client.NewWithWatch(config, client.Options{Scheme: scheme, HTTPClient: httpClient})
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	return &access{WithWatch: connected, server: config.Host, http: httpClient}, nil
}

// apply applies the objects of a YAML file, as `kubectl apply --server-side` does.
func (a *access) apply(ctx context.Context, manifest string) error {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what is to be applied: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		applied := client.ApplyConfigurationFromUnstructured(object)
		if err := a.Apply(ctx, applied, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// awaitDefinitions waits until all definitions of custom resources are served.
func (a *access) awaitDefinitions(ctx context.Context) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var all apiextensionsv1.CustomResourceDefinitionList
		if err := a.List(ctx, &all); err != nil {
			return fmt.Errorf("wait for the custom resource definitions: %w", err)
		}
		missing := ""
		for _, definition := range all.Items {
			if !isEstablished(definition) {
				missing = definition.Name
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the custom resource definition %s: %w", missing, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func isEstablished(definition apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// table lists all objects below a path of the API, such as "apis/apps/v1/deployments", with the columns that
// `kubectl get --all-namespaces` shows.
func (a *access) table(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+"/"+path, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", path, err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := a.http.Do(request)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("list %s: %w %s", path, errRefused, response.Status)
	}
	var listed metav1.Table
	if err := json.NewDecoder(response.Body).Decode(&listed); err != nil {
		return "", fmt.Errorf("list %s: %w", path, err)
	}
	return format(listed)
}

var errRefused = errors.New("the API server answered")

// format writes a table as text.
func format(table metav1.Table) (string, error) {
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	header := []string{"NAMESPACE"}
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			header = append(header, strings.ToUpper(column.Name))
		}
	}
	_, _ = fmt.Fprintln(out, strings.Join(header, "\t"))
	for _, row := range table.Rows {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return "", fmt.Errorf("read a row of a table: %w", err)
		}
		cells := []string{object.Namespace}
		for i, column := range table.ColumnDefinitions {
			switch {
			case column.Priority != 0:
			case row.Cells[i] == nil:
				cells = append(cells, "")
			default:
				cells = append(cells, fmt.Sprint(row.Cells[i]))
			}
		}
		_, _ = fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	return text.String(), nil
}

// watchRollouts writes each ModuleRollout as JSON whenever it changes, until the context ends.
func (a *access) watchRollouts(ctx context.Context, out io.Writer) error {
	watch, err := a.Watch(ctx, &v1beta2.ModuleRolloutList{}, client.InNamespace(kymaNamespace))
	if err != nil {
		return fmt.Errorf("watch rollouts: %w", err)
	}
	defer watch.Stop()
	encoder := json.NewEncoder(out)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-watch.ResultChan():
			if !open {
				return nil
			}
			if _, ok := event.Object.(*v1beta2.ModuleRollout); !ok {
				continue
			}
			if err := encoder.Encode(event.Object); err != nil {
				return err
			}
		}
	}
}
