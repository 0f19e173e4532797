package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func deployment(available int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "sample-operator", "namespace": "kyma-system"},
		"status":   map[string]any{"availableReplicas": available},
	}}
}

func versionOf(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "sample-operator", "namespace": "kyma-system"},
		"data":     map[string]any{"version": version},
	}}
}

// start runs an operator over a fake cluster until the test ends.
func start(t *testing.T, client *fake.FakeDynamicClient, while liveness) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	served := &operator{
		client: client, namespace: "kyma-system", liveness: while,
		retry: time.Millisecond, resync: time.Minute, log: slog.New(slog.DiscardHandler),
	}
	go func() {
		defer close(done)
		served.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func newCluster(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		samples(): "SampleList", deployments(): "DeploymentList", configMaps(): "ConfigMapList",
	}, objects...)
}

func state(t *testing.T, client *fake.FakeDynamicClient) (state, version string) {
	t.Helper()
	sample, err := client.Resource(samples()).Namespace("kyma-system").Get(t.Context(), "default", metav1.GetOptions{})
	require.NoError(t, err)
	return text(sample, "status", "state"), text(sample, "status", "observedVersion")
}

func eventuallyState(t *testing.T, client *fake.FakeDynamicClient, wantedState, wantedVersion string) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		gotState, gotVersion := state(t, client)
		require.Equal(collect, [2]string{wantedState, wantedVersion}, [2]string{gotState, gotVersion})
	}, time.Minute, 5*time.Millisecond)
}

func TestSampleGetsReadyWithTheVersionOfTheModule(t *testing.T) {
	client := newCluster(deployment(1), versionOf("1.0.0"), newSample())
	start(t, client, whileAvailable)
	eventuallyState(t, client, "Ready", "1.0.0")

	_, err := client.Resource(configMaps()).Namespace("kyma-system").Update(t.Context(), versionOf("1.1.0"), metav1.UpdateOptions{})
	require.NoError(t, err)
	eventuallyState(t, client, "Ready", "1.1.0")
}

func TestSampleCreatedAfterTheOperatorStartedGetsReady(t *testing.T) {
	client := newCluster(deployment(1), versionOf("1.0.0"))
	start(t, client, whileAvailable)

	_, err := client.Resource(samples()).Namespace("kyma-system").Create(t.Context(), newSample(), metav1.CreateOptions{})
	require.NoError(t, err)
	eventuallyState(t, client, "Ready", "1.0.0")
}

func TestOperatorWaitsForTheDefinitionOfSamples(t *testing.T) {
	client := newCluster(deployment(1), versionOf("1.0.0"), newSample())
	var refused atomic.Int32
	client.PrependReactor("list", "samples", func(clienttesting.Action) (bool, runtime.Object, error) {
		if refused.Add(1) <= 5 {
			return true, nil, apierrors.NewNotFound(samples().GroupResource(), "")
		}
		return false, nil, nil
	})
	start(t, client, whileAvailable)
	eventuallyState(t, client, "Ready", "1.0.0")
	require.Greater(t, refused.Load(), int32(5))
}

func TestOperatorIsAsleepWithoutItsDeployment(t *testing.T) {
	for name, test := range map[string]struct {
		objects []runtime.Object
		while   liveness
		works   bool
	}{
		"no Deployment":                                      {nil, whileAvailable, false},
		"no Deployment, none wanted":                         {nil, always, true},
		"a Deployment without replicas":                      {[]runtime.Object{deployment(0)}, whileAvailable, false},
		"a Deployment without replicas, existence is enough": {[]runtime.Object{deployment(0)}, whileExists, true},
	} {
		t.Run(name, func(t *testing.T) {
			client := newCluster(append(test.objects, newSample())...)
			served := &operator{client: client, namespace: "kyma-system", liveness: test.while}
			err := served.reconcile(t.Context())
			sample, getErr := client.Resource(samples()).Namespace("kyma-system").Get(t.Context(), "default", metav1.GetOptions{})
			require.NoError(t, getErr)
			if test.works {
				require.NoError(t, err)
				require.Equal(t, []string{"sample.kyma-project.io/finalizer"}, sample.GetFinalizers())
				return
			}
			require.ErrorIs(t, err, errAsleep)
			require.Empty(t, sample.GetFinalizers())
		})
	}
}
